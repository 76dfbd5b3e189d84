//! What must be true of every tool in the list, and of the documents generated from it.

use crate::support;
use std::process::Command;

use serde_json::Value;
use toolkit::Registry;
use toolkit::catalogue_rules::breaches;

fn registry() -> Registry {
    let root = tempfile::tempdir().unwrap();
    let pending = root.path().join("pending");
    tool_server::tools::registry(&support::tool_context(&[root.path().to_owned()], &pending)).unwrap()
}

#[test]
fn every_tool_is_as_all_tools_of_all_programs_are() {
    let found: Vec<String> = registry().specs().flat_map(breaches).collect();
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn an_expected_hash_has_its_form_in_the_schema_and_defaults_are_stated() {
    let registry = registry();
    let of = |tool: &str| registry.specs().find(|spec| spec.name == tool).unwrap().input_schema.clone();
    for tool in ["write", "edit", "multi_edit", "delete"] {
        let hash = &of(tool)["properties"]["expected_sha256"];
        assert_eq!(hash["pattern"], "^[0-9a-fA-F]{64}$", "{tool}");
        assert_eq!((&hash["minLength"], &hash["maxLength"]), (&Value::from(64), &Value::from(64)), "{tool}");
    }
    assert_eq!(of("write")["properties"]["mode"]["default"], "overwrite");
    assert_eq!(of("find")["properties"]["type"]["default"], "any");
    assert_eq!(of("grep")["properties"]["output"]["default"], "content");
}

#[test]
fn every_tool_is_described_in_full_for_people() {
    for spec in registry().specs() {
        assert!(!spec.details.is_empty(), "{} has nothing for people", spec.name);
    }
}

#[test]
fn the_committed_openapi_document_is_the_one_that_the_server_serves() {
    let printed = Command::new(env!("CARGO_BIN_EXE_tool-server")).arg("openapi").output().unwrap();
    let committed = include_str!("../../../openapi/tool-server.json");
    let printed = String::from_utf8(printed.stdout).unwrap();
    assert!(printed == committed, "run `make openapi` and commit openapi/tool-server.json");
}
