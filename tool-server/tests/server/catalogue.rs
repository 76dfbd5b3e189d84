//! What must be true of every tool in the list, and of the documents generated from it.

use crate::support;
use std::process::Command;

use serde_json::Value;
use toolkit::Registry;

fn registry() -> Registry {
    let root = tempfile::tempdir().unwrap();
    let pending = root.path().join("pending");
    tool_server::tools::registry(&support::tool_context(root.path(), &pending)).unwrap()
}

/// Names every property of a schema that has no description.
fn undescribed(schema: &Value, place: &str, found: &mut Vec<String>) {
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let place = format!("{place}.{name}");
        if property["description"].as_str().is_none_or(str::is_empty) {
            found.push(place.clone());
        }
        undescribed(property, &place, found);
        undescribed(&property["items"], &place, found);
    }
}

#[test]
fn every_argument_and_every_field_of_the_data_is_described() {
    let mut found = Vec::new();
    for spec in registry().specs() {
        undescribed(&spec.input_schema, &format!("{} arguments", spec.name), &mut found);
        undescribed(&spec.output_schema, &format!("{} data", spec.name), &mut found);
    }
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn every_tool_refuses_unknown_arguments_and_says_when_to_use_it() {
    for spec in registry().specs() {
        assert_eq!(spec.input_schema["additionalProperties"], false, "{}", spec.name);
        assert!(spec.description.contains("Use it"), "{} does not say when to use it", spec.name);
        assert!(!spec.annotations.read_only || !spec.annotations.destructive, "{}", spec.name);
    }
}

#[test]
fn the_committed_openapi_document_is_the_one_that_the_server_serves() {
    let printed = Command::new(env!("CARGO_BIN_EXE_tool-server")).arg("openapi").output().unwrap();
    let committed = include_str!("../../../openapi/tool-server.json");
    let printed = String::from_utf8(printed.stdout).unwrap();
    assert!(printed == committed, "run `make openapi` and commit openapi/tool-server.json");
}
