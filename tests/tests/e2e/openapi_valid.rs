//! The OpenAPI document against the OpenAPI Initiative's own schema, and what no schema can say.
//!
//! The official schema leaves JSON Schemas within a document unchecked, so those are held against the
//! dialect that OpenAPI 3.1 uses, draft 2020-12.

use std::collections::BTreeSet;

use harness::{Request, ToolServer};
use serde_json::{Value, json};

const OFFICIAL: &str = include_str!("../../data/openapi-3.1/schema.json");
const COMMITTED: &str = include_str!("../../../openapi/tool-server.json");
const OPEN_WEBUI: &str = include_str!("../../clients/recipes/open_webui.json");

/// Calls `visit` with every value below `value` and the name it stands under.
pub(crate) fn walk<'a>(name: &'a str, value: &'a Value, visit: &mut impl FnMut(&'a str, &'a Value)) {
    visit(name, value);
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, value)| walk(name, value, visit)),
        Value::Array(items) => items.iter().for_each(|value| walk("", value, visit)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn errors_of(document: &Value) -> Vec<String> {
    let official = serde_json::from_str(OFFICIAL).expect("the official schema is JSON");
    let validator = jsonschema::validator_for(&official).expect("the official schema is one");
    validator.iter_errors(document).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

/// The paths of a server's document, in its order.
fn paths(server: &ToolServer) -> Vec<String> {
    let text = server.send(Request::get("/openapi.json")).text();
    let document: Value = serde_json::from_str(&text).expect("JSON");
    let mut paths: Vec<String> = document["paths"].as_object().expect("paths").keys().cloned().collect();
    paths.sort_by_key(|path| text.find(&format!("\"{path}\":")).expect("the path is in the text"));
    paths
}

#[test]
fn the_committed_document_keeps_the_official_schema_and_a_server_serves_of_it_what_is_on() {
    let committed: Value = serde_json::from_str(COMMITTED).unwrap();
    assert_eq!(errors_of(&committed), Vec::<String>::new());
    let server = ToolServer::start();
    let served = server.send(Request::get("/openapi.json")).json();
    assert_eq!(errors_of(&served), Vec::<String>::new());
    for (path, operations) in served["paths"].as_object().unwrap() {
        assert_eq!(*operations, committed["paths"][path], "{path}");
    }
    for (name, schema) in served["components"]["schemas"].as_object().unwrap() {
        assert_eq!(*schema, committed["components"]["schemas"][name], "{name}");
    }
}

#[test]
fn tools_that_are_off_are_not_in_the_document_and_safe_ones_come_first() {
    let server = ToolServer::builder().variable("AUTONOUS_TOOL_DISABLED", "write").start();
    let listed = paths(&server);
    assert_eq!(listed[..4], ["/tools/ls", "/tools/find", "/tools/grep", "/tools/read"], "{listed:?}");
    for off in ["write", "skill", "run_script"] {
        assert!(!listed.contains(&format!("/tools/{off}")), "{off}: {listed:?}");
    }
    let document = server.send(Request::get("/openapi.json")).text();
    assert!(!document.contains("\"WriteResult\"") && document.contains("EditResult"));
    let without = ToolServer::builder().variable("AUTONOUS_TOOL_DISABLE_EXEC", "true").start();
    assert!(!paths(&without).contains(&"/tools/bash".to_owned()));
    assert!(!without.send(Request::get("/tools")).text().contains("\"bash\""));
}

#[test]
fn the_arguments_of_a_tool_are_its_body_and_nothing_else() {
    let document: Value = serde_json::from_str(COMMITTED).unwrap();
    let paths = document["paths"].as_object().unwrap();
    for (path, operations) in paths.iter().filter(|(path, _)| path.starts_with("/tools/")) {
        let Some(operation) = operations.get("post") else { continue };
        assert!(operation.get("parameters").is_none(), "{path}");
        let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
        let form = (&schema["type"], &schema["additionalProperties"]);
        assert_eq!(form, (&"object".into(), &false.into()), "{path}");
        // A tool without arguments has no properties.
        assert!(schema["properties"].is_object() || path == "/tools/schedule_list", "{path}: {schema}");
        // Generators of clients make one untyped answer of several media types, and leave out a tool whose
        // argument has an empty default.
        let answers = operation["responses"].as_object().unwrap().values();
        let types: Vec<&String> =
            answers.flat_map(|answer| answer["content"].as_object().unwrap().keys()).collect();
        assert!(types.iter().all(|media_type| *media_type == "application/json"), "{path}: {types:?}");
        let arguments = schema["properties"].as_object().into_iter().flatten();
        let empty = |value: &Value| value.as_array().is_some_and(Vec::is_empty) || *value == json!({});
        let defaults = arguments.filter(|(_, argument)| empty(&argument["default"]));
        assert_eq!(defaults.count(), 0, "{path}: {schema}");
    }
    let headers = document["x-optional-headers"].as_array().unwrap();
    for name in ["X-Session-Id", "Idempotency-Key"] {
        assert!(headers.iter().any(|header| header["name"] == name), "{name}");
    }
}

#[test]
fn a_file_comes_as_what_it_is_and_a_client_that_knows_bytes_alone_finds_them() {
    let document: Value = serde_json::from_str(COMMITTED).unwrap();
    for status in ["200", "206"] {
        let content = &document["paths"]["/files"]["get"]["responses"][status]["content"];
        let types: BTreeSet<&String> = content.as_object().unwrap().keys().collect();
        assert!(types.into_iter().eq(["*/*", "application/octet-stream"]), "{content}");
    }
}

#[test]
fn the_official_schema_notices_mistakes() {
    for (pointer, wrong) in [("/openapi", "3.0.0"), ("/paths", "none"), ("/paths/~1tools~1ls/post", "run")] {
        let mut document: Value = serde_json::from_str(COMMITTED).unwrap();
        *document.pointer_mut(pointer).unwrap() = Value::from(wrong);
        assert_ne!(errors_of(&document), Vec::<String>::new(), "{pointer}");
    }
}

#[test]
fn every_reference_leads_somewhere_and_every_operation_has_its_own_id() {
    let document: Value = serde_json::from_str(COMMITTED).unwrap();
    let mut references = BTreeSet::new();
    let mut operations = Vec::new();
    walk("", &document, &mut |name, value| match (name, value.as_str()) {
        ("$ref", Some(reference)) => drop(references.insert(reference)),
        ("operationId", Some(id)) => operations.push(id),
        _ => {}
    });
    assert!(references.len() > 2, "{references:?}");
    for reference in references {
        let pointer = reference.strip_prefix('#').expect("the document needs no other");
        assert!(document.pointer(pointer).is_some(), "{reference} leads nowhere");
    }
    let unique: BTreeSet<&str> = operations.iter().copied().collect();
    assert_eq!(unique.len(), operations.len(), "{operations:?}");
    assert!(unique.contains("ls"), "{unique:?}");
}

#[test]
fn every_schema_in_the_document_keeps_the_dialect_and_fits_its_example() {
    let document: Value = serde_json::from_str(COMMITTED).unwrap();
    let mut schemas = 0;
    walk("", &document, &mut |name, value| {
        if name == "schema" {
            schemas += 1;
            if let Err(error) = jsonschema::draft202012::meta::validate(value) {
                panic!("{error} in {value}");
            }
        }
        if let (Some(schema), Some(example)) = (value.get("schema"), value.get("example")) {
            let validator = jsonschema::draft202012::new(schema).expect("it was just held to the dialect");
            assert!(validator.is_valid(example), "{example} does not fit {schema}");
        }
    });
    assert!(schemas > 5, "{schemas}");
}

/// Open WebUI leaves out operations whose names end with a word of the list.
#[test]
fn of_all_operations_the_recipe_of_open_webui_leaves_the_tools() {
    let committed: Value = serde_json::from_str(COMMITTED).unwrap();
    let recipe: Value = serde_json::from_str(OPEN_WEBUI).unwrap();
    let list = recipe[0]["config"]["function_name_filter_list"].as_str().unwrap();
    let left_out: Vec<&str> = list.split(',').map(|word| word.strip_prefix('!').unwrap()).collect();
    let operations = committed["paths"].as_object().unwrap().values();
    for operation in operations.flat_map(|of_path| of_path.as_object().unwrap().values()) {
        let name = operation["operationId"].as_str().unwrap();
        let is_left = !left_out.iter().any(|word| name.ends_with(word));
        assert_eq!(is_left, operation["tags"] == json!(["tools"]), "{name}");
    }
}
