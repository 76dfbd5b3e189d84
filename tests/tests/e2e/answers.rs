//! Every answer against the schema that the OpenAPI document promises for its operation and status.

use std::fs;

use harness::{Answer, Request, ToolServer};
use serde_json::{Value, json};

/// A server with a skill, so that every tool is on, and its document.
fn server() -> (ToolServer, Value) {
    let builder = ToolServer::builder().allowing_all();
    let skill = builder.dir().data().join("skills/example");
    fs::create_dir_all(skill.join("scripts")).unwrap();
    fs::write(skill.join("SKILL.md"), "---\nname: example\ndescription: An example.\n---\nRun it.\n")
        .unwrap();
    fs::write(skill.join("scripts/hello.sh"), "#!/bin/sh\necho \"hello $1\"\n").unwrap();
    let server = builder.start();
    let document = server.send(Request::get("/openapi.json")).json();
    (server, document)
}

/// Panics unless the answer is what the operation promises for its status.
fn assert_promised(document: &Value, operation: &Value, answer: &Answer) {
    let status = answer.status.to_string();
    let schema = &operation["responses"][&status]["content"]["application/json"]["schema"];
    assert!(schema.is_object(), "{status} is not promised: {}", answer.text());
    assert_fits(document, schema, &answer.json());
}

fn assert_fits(document: &Value, schema: &Value, instance: &Value) {
    let mut whole = schema.clone();
    whole["components"] = document["components"].clone();
    let validator = jsonschema::draft202012::new(&whole).expect("a schema of the document is one");
    let errors: Vec<String> = validator.iter_errors(instance).map(|error| error.to_string()).collect();
    assert_eq!(errors, Vec::<String>::new(), "{instance}");
}

fn named(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

fn pascal_case(tool: &str) -> String {
    tool.split('_').map(|word| format!("{}{}", word[..1].to_uppercase(), &word[1..])).collect()
}

/// Each tool of a document with its operation.
fn operations(document: &Value) -> Vec<(&str, &Value)> {
    let paths = document["paths"].as_object().expect("paths");
    paths.iter().filter_map(|(path, item)| Some((path.strip_prefix("/tools/")?, &item["post"]))).collect()
}

#[test]
fn the_example_of_every_tool_succeeds_in_an_empty_root_and_keeps_its_own_schema() {
    let (server, document) = server();
    let mut tools = operations(&document);
    assert!(tools.len() > 10, "{}", tools.len());
    // `write` makes what the others change, and `delete` removes it.
    let position =
        |tool: &str| ["write", "read", "edit", "multi_edit", "delete"].iter().position(|one| *one == tool);
    tools.sort_by_key(|(tool, _)| position(tool).unwrap_or(0));
    for (tool, operation) in tools {
        let example = &operation["requestBody"]["content"]["application/json"]["example"];
        let answer = server.send(Request::call(tool, example));
        let envelope = answer.json();
        assert_eq!(
            (&envelope["ok"], &envelope["meta"]["status"]),
            (&json!(true), &json!("success")),
            "{envelope}"
        );
        assert_promised(&document, operation, &answer);
        assert_fits(&document, &named(&format!("{}Result", pascal_case(tool))), &envelope);
    }
}

#[test]
fn every_refusal_keeps_the_schema_of_a_failure_and_has_a_promised_status() {
    let (server, document) = server();
    let ls = &document["paths"]["/tools/ls"]["post"];
    let call = |path: &str| Request::call("ls", &json!({"path": path}));
    let requests = [
        call("nope"),
        call("/etc"),
        Request::post("/tools/ls", r#"{"pth":"."}"#),
        Request::post("/tools/ls", "{").header("X-Session-Id", ""),
        call(".").header("Content-Type", "text/plain"),
        call(".").header("Origin", "https://evil.example"),
        Request::post("/tools/ls", vec![b' '; 9 << 20]),
    ];
    for request in requests {
        let answer = server.send(request);
        assert_promised(&document, ls, &answer);
        assert_fits(&document, &named("ToolFailure"), &answer.json());
    }
    for (tool, _) in operations(&document) {
        let answer = server.send(Request::call(tool, &json!({"unknown": 1})));
        assert_fits(&document, &named("ToolFailure"), &answer.json());
    }
}

#[test]
fn a_command_that_fails_has_its_data_and_its_error() {
    let (server, document) = server();
    let bash = &document["paths"]["/tools/bash"]["post"];
    for cmd in ["false; false", "kill -9 $$; true"] {
        let answer = server.send(Request::call("bash", &json!({"cmd": cmd})));
        assert_promised(&document, bash, &answer);
        assert_fits(&document, &named("BashResult"), &answer.json());
        assert_eq!(answer.json()["meta"]["error"]["code"], "EXIT_NONZERO");
    }
    let refused = server.send(Request::call("bash", &json!({"cmd": "ls"})));
    assert_promised(&document, bash, &refused);
}

#[test]
fn what_the_server_says_of_itself_keeps_its_schema() {
    let (server, document) = server();
    for path in ["/livez", "/readyz", "/capabilities", "/tools"] {
        let answer = server.send(Request::get(path));
        assert_eq!(answer.status, 200, "{path}");
        assert_promised(&document, &document["paths"][path]["get"], &answer);
    }
    assert_fits(&document, &named("Catalogue"), &server.send(Request::get("/tools")).json());
    let list = &document["paths"]["/tools"]["get"];
    for format in list["parameters"][0]["schema"]["enum"].as_array().expect("formats") {
        let answer = server.send(Request::get(&format!("/tools?format={}", format.as_str().unwrap())));
        assert_promised(&document, list, &answer);
    }
    assert_promised(&document, list, &server.send(Request::get("/tools?format=mcp")));
}
