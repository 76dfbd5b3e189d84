//! What must be true of every tool in the list, and of the documents generated from it.

use crate::support;
use std::process::Command;

use serde_json::Value;
use toolkit::Registry;
use toolkit::schema::KEYWORDS;

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

/// Names everything in a schema that a reader of schemas may not take.
fn uncommon(schema: &Value, place: &str, found: &mut Vec<String>) {
    let Some(keywords) = schema.as_object() else { return found.push(format!("{place}: no object")) };
    found.extend(
        keywords
            .keys()
            .filter(|word| !KEYWORDS.contains(&word.as_str()))
            .map(|word| format!("{place}: {word}")),
    );
    if !schema["type"].is_string() {
        found.push(format!("{place}: type {}", schema["type"]));
    }
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        uncommon(property, &format!("{place}.{name}"), found);
    }
    if schema["type"] == "array" {
        uncommon(&schema["items"], &format!("{place}[]"), found);
    }
}

#[test]
fn every_schema_has_plain_types_and_common_keywords_only() {
    let mut found = Vec::new();
    for spec in registry().specs() {
        uncommon(&spec.input_schema, &format!("{} arguments", spec.name), &mut found);
        uncommon(&spec.output_schema, &format!("{} data", spec.name), &mut found);
    }
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
fn every_tool_refuses_unknown_arguments_and_is_described_in_short_for_models_and_in_full_for_people() {
    for spec in registry().specs() {
        assert_eq!(spec.input_schema["additionalProperties"], false, "{}", spec.name);
        let first = spec.description.split("\n\n").next().unwrap_or_default();
        let sentence = first.lines().next().unwrap_or_default();
        assert!(sentence.ends_with('.') && sentence.len() < 110, "{}: {sentence}", spec.name);
        assert!(spec.description.len() < 400, "{}: every turn pays for the description", spec.name);
        assert!(!spec.details.is_empty(), "{} has nothing for people", spec.name);
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

#[test]
fn the_names_that_settings_of_other_programs_may_use_are_these() {
    let registry = registry();
    let mut names: Vec<&str> = registry.names().chain(registry.transfer_names()).collect();
    names.sort_unstable();
    assert_eq!(names, protocol::TOOL_SERVER_TOOLS);
}
