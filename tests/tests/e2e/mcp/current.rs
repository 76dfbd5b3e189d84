//! Revision 2026-07-28: every request stands alone, and says in itself who sends it.

use std::collections::BTreeMap;
use std::fs;

use harness::wait::until_true;
use harness::{Request, ToolServer};
use protocol::{ErrorCode, JournalRecord, Status};
use serde_json::{Value, json};

use super::{begin, call, called, envelope, forsaken, list, message, messages, next, posted, result, runs};
use crate::{ASKS_ABOUT_WRITE, records, with_telegram};

fn listed(server: &ToolServer) -> Vec<Value> {
    result(&server.send(list()))["tools"].as_array().unwrap().clone()
}

#[test]
fn the_server_says_which_revisions_it_speaks_and_that_it_has_tools_alone() {
    let server = ToolServer::start();
    let found = result(&server.send(posted(&message(1, "server/discover", json!({}), &json!({})))));
    assert_eq!(found["capabilities"], json!({"tools": {}}), "{found}");
    let versions = found["supportedVersions"].as_array().unwrap();
    for revision in ["2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"] {
        assert!(versions.contains(&revision.into()), "{found}");
    }
    for method in ["resources/list", "prompts/list", "no/such/method"] {
        let answer = server.send(posted(&message(1, method, json!({}), &json!({}))));
        assert_eq!((answer.status, &answer.json()["error"]["code"]), (404, &json!(-32601)), "{method}");
    }
}

#[test]
fn the_tools_are_those_of_the_catalogue_with_schemas_that_every_answer_fits() {
    let server = ToolServer::builder().variable("AUTONOUS_TOOL_DISABLED", "delete").start();
    fs::write(server.root().join("a.txt"), "one\ntwo\n").unwrap();
    let tools = listed(&server);
    let catalogue = server.send(Request::get("/tools")).json();
    let specs = catalogue["tools"].as_array().unwrap();
    let names = |tools: &[Value]| tools.iter().map(|tool| tool["name"].clone()).collect::<Vec<_>>();
    assert_eq!(names(&tools), names(specs));
    assert!(!names(&tools).contains(&"delete".into()));
    for (tool, spec) in tools.iter().zip(specs) {
        assert_eq!(tool["description"], spec["description"]);
        assert_eq!(tool["inputSchema"], spec["input_schema"]);
        for fact in ["readOnly", "destructive", "idempotent", "openWorld"] {
            assert_eq!(tool["annotations"][format!("{fact}Hint")], spec["annotations"][fact], "{tool}");
        }
    }
    let tools: BTreeMap<String, Value> =
        tools.into_iter().map(|tool| (tool["name"].as_str().unwrap().to_owned(), tool)).collect();
    assert_eq!(tools["multi_edit"]["title"], "Multi edit");
    for (name, arguments) in [
        ("ls", json!({"path": "."})),
        ("read", json!({"path": "a.txt"})),
        ("grep", json!({"pattern": "two"})),
        ("bash", json!({"cmd": "exit 3"})),
        ("read", json!({"path": "/etc/passwd"})),
        ("write", json!({"path": "a.txt"})),
    ] {
        let result = called(&server, name, &arguments);
        envelope(&result);
        let schema = &tools[name]["outputSchema"];
        assert_eq!(schema["type"], "object");
        jsonschema::validate(schema, &result["structuredContent"])
            .unwrap_or_else(|error| panic!("{name}: {error}: {result}"));
    }
}

#[test]
fn the_list_is_that_of_the_named_session() {
    let (_telegram, system) = with_telegram();
    for (session, has) in [("telegram:4711", true), ("local:me", false)] {
        let listed = result(&system.ask_tool_server(list().of_session(session)));
        assert_eq!(listed.to_string().contains("telegram_react"), has, "{session}: {listed}");
    }
}

#[test]
fn a_call_passes_the_same_gate_as_over_http_and_is_answered_in_the_same_words() {
    let denies = "[[rule]]\ntools = [\"bash\"]\ndecision = \"deny\"\nreason = \"not today\"\n";
    let server = ToolServer::builder().policy(&format!("{denies}{ASKS_ABOUT_WRITE}")).start();
    fs::write(server.root().join("a.txt"), "one\ntwo\n").unwrap();
    let read = envelope(&called(&server, "read", &json!({"path": "a.txt", "limit": 1})));
    assert_eq!((read.ok, read.meta.status), (true, Status::Partial));
    let page = json!({"path": "a.txt", "cursor": read.next_page_cursor});
    assert!(envelope(&called(&server, "read", &page)).stdout.contains("two"));
    for (tool, arguments, code) in [
        ("bash", json!({"cmd": "true"}), ErrorCode::ToolNotAllowed),
        ("read", json!({"path": "/etc/passwd"}), ErrorCode::PathOutsideRoots),
        ("read", json!({"path": 7}), ErrorCode::InvalidArgument),
        ("read", json!({"path": "a.txt", "nope": 1}), ErrorCode::InvalidArgument),
        ("raed", json!({}), ErrorCode::UnknownTool),
        ("write", json!({"path": "b.txt", "content": "x"}), ErrorCode::ApprovalRequired),
    ] {
        let over_mcp = envelope(&called(&server, tool, &arguments));
        let over_http = Request::call(tool, &arguments).of_session("mcp:testclient");
        let over_http = server.send(over_http).envelope();
        let error = over_mcp.meta.error.expect("it fails");
        assert_eq!((error.code, Some(&error)), (code, over_http.meta.error.as_ref()), "{tool} {arguments}");
        assert!(!error.hint.is_empty());
    }
    let mut records: Vec<JournalRecord> = records(server.dir());
    records.retain(|record| record.session_id.as_str() == "mcp:testclient");
    assert!(records.len() >= 16, "{records:?}");
}

#[test]
fn a_client_keeps_what_it_has_read_from_one_request_to_the_next() {
    let server = ToolServer::start();
    fs::write(server.root().join("a.txt"), "one\n").unwrap();
    let edit = json!({"path": "a.txt", "edits": [{"find": "one", "replace": "two"}]});
    let refused = envelope(&called(&server, "multi_edit", &edit));
    assert_eq!(refused.error_code(), Some(ErrorCode::NotRead));
    assert!(envelope(&called(&server, "read", &json!({"path": "a.txt"}))).ok);
    let other = posted(&call("multi_edit", &edit)).of_session("another");
    assert_eq!(envelope(&result(&server.send(other))).error_code(), Some(ErrorCode::NotRead));
    assert!(envelope(&called(&server, "multi_edit", &edit)).ok);
    assert_eq!(fs::read_to_string(server.root().join("a.txt")).unwrap(), "two\n");
}

#[test]
fn headers_of_a_call_mean_what_they_mean_over_http() {
    let server = ToolServer::start();
    let send = |key: &str| {
        let request = posted(&call("bash", &json!({"cmd": "echo x >> log; wc -l < log"})));
        envelope(&result(&server.send(request.header("Idempotency-Key", key))))
    };
    let (first, again) = (send("one"), send("one"));
    assert_eq!((first.stdout.as_str(), first.meta.call_id), ("1\n", again.meta.call_id));
    assert_eq!(send("two").stdout, "2\n");
    let broken = posted(&call("ls", &json!({"path": "."}))).header("X-Task-Id", "two words");
    assert_eq!(server.send(broken).envelope().error_code(), Some(ErrorCode::InvalidArgument));
}

#[test]
fn a_long_command_says_to_a_client_that_asked_for_it_that_it_still_runs() {
    let server = ToolServer::start();
    let wait_for = "until [ -e go ]; do sleep 0.01; done; echo gone";
    let mut call = call("bash", &json!({"cmd": wait_for}));
    call["params"]["_meta"]["progressToken"] = "token-7".into();
    let mut stream = begin(&server, &posted(&call));
    let progress = [next(&mut stream), next(&mut stream)];
    for message in &progress {
        assert_eq!(message["method"], "notifications/progress", "{message}");
        assert_eq!(message["params"]["progressToken"], "token-7");
    }
    let [first, second] = progress.map(|message| message["params"]["progress"].as_f64().unwrap());
    assert!(first >= 1.0 && second > first, "{first} {second}");
    fs::write(server.root().join("go"), "").unwrap();
    let end = std::iter::repeat_with(|| next(&mut stream)).find(|message| message.get("result").is_some());
    assert_eq!(envelope(&end.unwrap()["result"]).stdout, "gone\n");
}

#[test]
fn a_quick_call_with_a_progress_token_is_one_message() {
    let server = ToolServer::start();
    let mut call = call("ls", &json!({"path": "."}));
    call["params"]["_meta"]["progressToken"] = 7.into();
    let answer = server.send(posted(&call));
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(messages(&answer).len(), 1);
}

#[test]
fn a_client_that_closes_its_request_has_its_command_killed() {
    let server = ToolServer::start();
    for (name, token) in [("plain", None), ("progress", Some("token"))] {
        let (word, arguments) = forsaken(name);
        let mut call = call("bash", &arguments);
        if let Some(token) = token {
            call["params"]["_meta"]["progressToken"] = token.into();
        }
        let mut stream = begin(&server, &posted(&call));
        until_true("the command runs", || runs(&word));
        if token.is_some() {
            next(&mut stream);
        }
        drop(stream);
        until_true("the command is gone", || !runs(&word));
    }
    until_true("both ends are recorded", || {
        fs::read_to_string(server.dir().journal()).unwrap().matches("CANCELLED").count() == 2
    });
}
