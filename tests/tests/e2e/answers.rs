//! Every answer against the schema that the OpenAPI document promises for its operation and status.

use std::fs;

use harness::{Answer, Request, ToolServer};
use serde_json::{Value, json};

/// A server with a skill, so that every tool is on, and its document.
fn server() -> (ToolServer, Value) {
    let builder = ToolServer::builder().allowing_all();
    builder.dir().write_skill("example", "description: An example.");
    let scripts = builder.dir().data().join("skills/example/scripts");
    fs::create_dir(&scripts).unwrap();
    fs::write(scripts.join("hello.sh"), "#!/bin/sh\necho \"hello $1\"\n").unwrap();
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

fn example_of(operation: &Value) -> Value {
    operation["requestBody"]["content"]["application/json"]["example"].clone()
}

/// Sends a call, and returns the envelope after holding it against the schema of its status.
fn call(server: &ToolServer, document: &Value, tool: &str, arguments: &Value) -> Value {
    let answer = server.send(Request::call(tool, arguments));
    assert_promised(document, &document["paths"][format!("/tools/{tool}")]["post"], &answer);
    answer.json()
}

#[test]
fn the_example_of_every_tool_succeeds_in_an_empty_root_and_keeps_its_own_schema() {
    let (server, document) = server();
    let mut tools = operations(&document);
    assert!(tools.len() > 10, "{}", tools.len());
    // `write` makes what the others change, and `delete` removes it.
    let order = ["write", "read", "edit", "multi_edit", "delete", "process_kill"];
    tools.sort_by_key(|(tool, _)| order.iter().position(|one| one == tool).unwrap_or(0));
    // No example can know the ID of a process.
    let process = server.call("bash", &json!({"cmd": "sleep 300", "background": true})).meta.data;
    for (tool, operation) in tools {
        let mut example = example_of(operation);
        if example.get("process_id").is_some() {
            example["process_id"] = process["process_id"].clone();
        }
        let answer = server.send(Request::call(tool, &example));
        let envelope = answer.json();
        assert_eq!(envelope["ok"], true, "{envelope}");
        assert_eq!(envelope["meta"]["status"], "success", "{envelope}");
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
        Request::post("/tools/ls", "{").of_session(""),
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
    for cmd in ["false; false", "kill -9 $$; true"] {
        let answer = call(&server, &document, "bash", &json!({"cmd": cmd}));
        assert_fits(&document, &named("BashResult"), &answer);
        assert_eq!(answer["meta"]["error"]["code"], "EXIT_NONZERO");
    }
    call(&server, &document, "bash", &json!({"cmd": "ls"}));
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

#[test]
fn what_goes_wrong_is_answered_as_the_document_says() {
    let (server, document) = server();
    for (tool, operation) in operations(&document) {
        let example = example_of(operation);
        for (name, wrong) in [("zzz", json!(1)), ("path", json!(7)), ("cursor", json!("nonsense"))] {
            let mut arguments = example.clone();
            arguments[name] = wrong;
            call(&server, &document, tool, &arguments);
        }
        call(&server, &document, tool, &json!({}));
    }
    let script = |args: &[&str]| json!({"skill": "example", "relative_path": "fail.sh", "args": args});
    let long = "x".repeat(200_000);
    let hook = "mkdir -p r/.git/hooks; cd r; git init -q .; echo x > .git/hooks/pre-commit";
    for (tool, arguments) in [
        ("bash", json!({"cmd": "exit 3"})),
        ("bash", json!({"cmd": "sleep 60", "timeout_seconds": 1})),
        ("bash", json!({"cmd": "kill -9 $$"})),
        ("bash", json!({"cmd": "true", "workdir": "nope"})),
        ("bash", json!({"cmd": "sudo ls"})),
        ("bash", json!({"cmd": format!("echo {long} | head -c 1"), "timeout_seconds": 5})),
        ("bash", json!({"cmd": "seq 100000"})),
        ("bash", json!({"cmd": hook})),
        ("run_script", script(&[])),
        ("run_script", json!({"skill": "example", "relative_path": "../../x"})),
        ("read", json!({"path": "nope"})),
        ("read", json!({"path": "/etc/passwd"})),
        ("read", json!({"path": "."})),
        ("write", json!({"path": ".git/config", "content": "x"})),
        ("edit", json!({"path": "new", "find": "a", "replace": "b"})),
        ("grep", json!({"pattern": "("})),
        ("skill", json!({"name": "none"})),
        ("delete", json!({"path": "nope"})),
    ] {
        call(&server, &document, tool, &arguments);
    }
}

#[test]
fn a_path_that_the_schema_takes_is_read_and_another_says_what_is_wrong_with_it() {
    let (server, document) = server();
    let schema = &document["paths"]["/tools/read"]["post"]["requestBody"]["content"]["application/json"];
    let validator = jsonschema::draft202012::new(&schema["schema"]).expect("a valid schema");
    for (path, complaint) in [
        ("nope", None),
        ("a\\\\b", None),
        ("a\\x41\\u{e9}\\n", None),
        ("\u{202e}e", None),
        ("line\nbreak", None),
        ("", Some("`path` must not be empty.")),
        ("a\0b", Some("`path` has a NUL byte")),
        ("a\\qb", Some("`path` has a backslash that does not begin an escape")),
        ("a\\", Some("`path` has a backslash that does not begin an escape")),
    ] {
        let arguments = json!({"path": path});
        assert_eq!(validator.is_valid(&arguments), complaint.is_none(), "{path:?}");
        let error = call(&server, &document, "read", &arguments)["meta"]["error"].take();
        let expected = if complaint.is_some() { "INVALID_ARGUMENT" } else { "NOT_FOUND" };
        assert_eq!(error["code"], expected, "{path:?}: {error}");
        assert!(error["message"].as_str().unwrap().starts_with(complaint.unwrap_or_default()), "{error}");
    }
}
