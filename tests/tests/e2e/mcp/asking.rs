//! Calls that a person must allow, where the user of a client decides about the calls of that client.

use harness::{Answer, Request, ToolServer, ToolServerBuilder};
use protocol::ErrorCode;
use serde_json::{Value, json};

use super::sessions::Client;
use super::{begin, envelope, message, next, posted, result};
use crate::ASKS_ABOUT_WRITE;

fn builder() -> ToolServerBuilder {
    ToolServer::builder().token("FAKE-token").policy(ASKS_ABOUT_WRITE)
}

fn server() -> ToolServer {
    builder().variable("AUTONOUS_TOOL_MCP_USERS_DECIDE", "true").start()
}

fn can_ask() -> Value {
    json!({"elicitation": {"form": {}}})
}

/// A call of `write`, perhaps with what the user has said to an earlier one.
fn write(content: &str, said: Option<(&str, Value)>) -> Request {
    let mut params = json!({"name": "write", "arguments": {"path": "a.txt", "content": content}});
    if let Some((state, said)) = said {
        params["requestState"] = state.into();
        params["inputResponses"] = json!({"approval": said});
    }
    posted(&message(1, "tools/call", params, &can_ask()))
}

fn written(server: &ToolServer) -> Option<String> {
    std::fs::read_to_string(server.root().join("a.txt")).ok()
}

/// The state of the question in an answer.
fn asked(answer: &Answer) -> String {
    let result = result(answer);
    assert_eq!(result["resultType"], "input_required", "{result}");
    let question = &result["inputRequests"]["approval"];
    assert_eq!(question["method"], "elicitation/create");
    assert_eq!(question["params"]["mode"], "form");
    let message = question["params"]["message"].as_str().unwrap();
    assert!(message.contains("`write`") && message.contains("it writes"), "{message}");
    let form = &question["params"]["requestedSchema"];
    assert_eq!(form["properties"]["allow"]["type"], "boolean", "{form}");
    assert_eq!(form["required"], json!(["allow"]));
    result["requestState"].as_str().unwrap().to_owned()
}

fn yes() -> Value {
    json!({"action": "accept", "content": {"allow": true}})
}

#[test]
fn the_user_is_shown_the_whole_call_and_a_yes_lets_it_run_once() {
    let server = server();
    let answer = server.send(write("one\n", None));
    assert!(answer.text().contains("+one"), "the user sees what would be written: {}", answer.text());
    let state = asked(&answer);
    assert_eq!(written(&server), None);
    let ran = envelope(&result(&server.send(write("one\n", Some((&state, yes()))))));
    assert!(ran.ok, "{ran:?}");
    assert_eq!(written(&server).as_deref(), Some("one\n"));
    let journal = std::fs::read_to_string(server.dir().journal()).unwrap();
    assert!(journal.contains("the user of test client"), "{journal}");
    assert_ne!(asked(&server.send(write("one\n", Some((&state, yes()))))), state, "a yes is for one call");
}

#[test]
fn a_no_is_a_refusal_and_a_closed_form_is_no_answer() {
    let server = server();
    let no = json!({"action": "accept", "content": {"allow": false}});
    for (content, no) in [("no\n", json!({"action": "decline"})), ("never\n", no)] {
        let state = asked(&server.send(write(content, None)));
        for said in [Some((state.as_str(), no.clone())), None] {
            let refused = envelope(&result(&server.send(write(content, said))));
            assert_eq!(refused.error_code(), Some(ErrorCode::ApprovalDenied), "{no}");
        }
    }
    let state = asked(&server.send(write("two\n", None)));
    for none in [
        json!({"action": "cancel"}),
        json!({"action": "accept"}),
        json!({"action": "accept", "content": {"allow": "true"}}),
        json!("yes"),
    ] {
        assert_eq!(asked(&server.send(write("two\n", Some((&state, none.clone()))))), state, "{none}");
    }
    assert_eq!(written(&server), None);
}

#[test]
fn a_yes_is_for_what_was_shown_and_for_the_session_that_was_asked() {
    let server = server();
    let state = asked(&server.send(write("one\n", None)));
    let other = write("one\n", Some((&state, yes()))).of_session("mcp:other");
    assert_ne!(asked(&server.send(other)), state);
    assert_ne!(asked(&server.send(write("two\n", Some((&state, yes()))))), state);
    assert_ne!(asked(&server.send(write("three\n", Some(("nonsense", yes()))))), state);
    assert_eq!(written(&server), None);
}

#[test]
fn a_user_who_cannot_be_asked_or_may_not_decide_is_not_asked() {
    let server = server();
    let code = |server: &ToolServer, request: Request| {
        let error = envelope(&result(&server.send(request))).meta.error;
        error.map(|error| (error.code, error.hint.is_empty()))
    };
    let required = Some((ErrorCode::ApprovalRequired, false));
    let params = json!({"name": "write", "arguments": {"path": "a.txt", "content": "x"}});
    for capabilities in [json!({}), json!({"elicitation": {"url": {}}})] {
        let call = posted(&message(1, "tools/call", params.clone(), &capabilities));
        assert_eq!(code(&server, call), required, "{capabilities}");
    }
    for session in ["telegram:4711", "local:me", "mcpx:1"] {
        assert_eq!(code(&server, write("x", None).of_session(session)), required, "{session}");
    }
    let without = builder().approver().start();
    assert_eq!(code(&without, write("x", None)), required, "the operator has not said so");
    let refused = ToolServer::builder().variable("AUTONOUS_TOOL_MCP_USERS_DECIDE", "true").start_refused();
    assert!(refused.stderr.contains("AUTONOUS_TOOL_MCP_USERS_DECIDE"), "{}", refused.stderr);
    assert_eq!((written(&server), written(&without)), (None, None));
}

#[test]
fn an_approver_decides_beside_the_user() {
    let server = builder().approver().variable("AUTONOUS_TOOL_MCP_USERS_DECIDE", "true").start();
    let state = asked(&server.send(write("one\n", None)));
    assert_eq!(server.decide(&state, &json!({"decision": "deny", "reason": "no"})).status, 200);
    let late = envelope(&result(&server.send(write("one\n", Some((&state, yes()))))));
    assert_eq!(late.error_code(), Some(ErrorCode::ApprovalDenied), "the first decision counts");
}

#[test]
fn an_older_client_is_asked_while_its_call_waits() {
    let server = server();
    let client = Client::open_with(&server, "2025-06-18", json!({"elicitation": {}}));
    for (content, said, expected) in [
        ("no\n", json!({"action": "decline"}), Some(ErrorCode::ApprovalDenied)),
        ("one\n", json!({"action": "cancel"}), Some(ErrorCode::ApprovalRequired)),
        ("one\n", yes(), None),
    ] {
        let arguments = json!({"path": "a.txt", "content": content});
        let call = client.call(1, "write", &arguments).header("Authorization", "Bearer FAKE-token");
        let mut stream = begin(&server, &call);
        let question = next(&mut stream);
        assert_eq!(question["method"], "elicitation/create", "{question}");
        let shown = format!("+{}", content.trim());
        assert!(question["params"]["message"].as_str().unwrap().contains(&shown), "{question}");
        let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": said});
        assert_eq!(server.send(client.request(&answer)).status, 202);
        assert_eq!(envelope(&next(&mut stream)["result"]).error_code(), expected, "{said}");
    }
    assert_eq!(written(&server).as_deref(), Some("one\n"));
}
