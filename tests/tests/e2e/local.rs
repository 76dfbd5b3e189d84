//! A message in the local channel, from the control port to the reply, without any account.

use std::fs;

use harness::system::{direct_ls, without_status_line};
use harness::{Answer, Request, System};
use serde_json::json;

use crate::{assert_says, printed};

#[test]
fn a_message_is_answered_with_a_real_listing() {
    let system = System::start();
    fs::write(system.workspace().join("hello.txt"), "x").unwrap();
    let task = system.say(&direct_ls("."));
    assert_eq!(without_status_line(&system.reply(&task)), "hello.txt");
    assert_eq!(system.database().task_states(), ["done"]);
}

#[test]
fn chat_without_a_running_supervisor_says_how_to_start_one() {
    let mut system = System::start();
    system.stop();
    let output = system.run_command(&["chat", "ls path=."]);
    assert!(!output.status.success());
    assert!(!printed(&output).contains("panicked"), "{output:?}");
    assert_says(&String::from_utf8_lossy(&output.stderr), &["supervisor run"]);
}

#[test]
fn messages_of_one_chat_are_answered_in_their_order() {
    let system = System::start();
    let tasks: Vec<String> = (0..5).map(|number| system.say(&format!("ls path=none-{number}"))).collect();
    for (number, task) in tasks.iter().enumerate() {
        assert!(system.reply(task).contains(&format!("none-{number}")), "task {number}");
    }
    let done = "select task_id from events where type = 'task.done' order by seq";
    assert_eq!(system.database().texts(done), tasks);
}

#[test]
fn tools_can_be_called_directly_with_the_printed_token() {
    let system = System::start();
    let tokens = system.tokens();
    assert!(system.shown(&["token"]).contains(&tokens.tool_token));
    let address = harness::http::address_of(&tokens.tool_url);
    let call = Request::call("ls", &json!({"path": "."}));
    assert_eq!(call.send(address).status, 401);
    let call = call.header("Authorization", &format!("Bearer {}", tokens.tool_token));
    assert!(call.send(address).envelope().ok);
}

#[test]
fn every_refusal_of_the_control_port_is_json_with_a_code_a_message_and_a_hint() {
    let system = System::start();
    let address = harness::http::address_of(&system.tokens().control_url);
    let message = || Request::post_json("/messages", &json!({"text": "ls path=."}));
    for (request, status, code) in [
        (message(), 401, "UNAUTHORIZED"),
        (message().header("Authorization", "Bearer wrong"), 401, "UNAUTHORIZED"),
        (Request::get("/messages/x").header("Authorization", "Bearer wrong"), 401, "UNAUTHORIZED"),
        (Request::get("/livez").header("Host", "evil.example"), 403, "ORIGIN_REFUSED"),
        (Request::get("/livez").header("Origin", "http://evil.example"), 403, "ORIGIN_REFUSED"),
        (Request::get("/nothing"), 404, "NOT_FOUND"),
        (Request::new("DELETE", "/livez"), 405, "METHOD_NOT_ALLOWED"),
    ] {
        assert_refused(&request.send(address), status, code);
    }
    let post = |body: &str| Request::post("/messages", body);
    let too_large = format!("{{\"text\":\"{}\"}}", "x".repeat(2 * 1024 * 1024));
    for (request, status, code) in [
        (message().header("Host", "evil.example"), 403, "ORIGIN_REFUSED"),
        (message().header("Origin", "https://evil.example"), 403, "ORIGIN_REFUSED"),
        (Request::get("/messages/x"), 404, "NOT_FOUND"),
        (Request::get("/messages/x?wait_seconds=no"), 400, "INVALID_ARGUMENT"),
        (Request::get("/messages/x?wait_seconds=601"), 400, "INVALID_ARGUMENT"),
        (post("{}").without("Content-Type"), 415, "UNSUPPORTED_MEDIA_TYPE"),
        (post(""), 400, "INVALID_ARGUMENT"),
        (post("{"), 400, "INVALID_ARGUMENT"),
        (post("[]"), 400, "INVALID_ARGUMENT"),
        (post(r#"{"text":""}"#), 400, "INVALID_ARGUMENT"),
        (post(r#"{"text":" "}"#), 400, "INVALID_ARGUMENT"),
        (post(r#"{"text":1}"#), 400, "INVALID_ARGUMENT"),
        (post("{\"text\":\"\u{0}\"}"), 400, "INVALID_ARGUMENT"),
        (post(r#"{"text":"a","chat":"42"}"#), 400, "INVALID_ARGUMENT"),
        (post(r#"{"text":"a","colour":"red"}"#), 400, "INVALID_ARGUMENT"),
        (post(&too_large), 413, "PAYLOAD_TOO_LARGE"),
    ] {
        assert_refused(&system.control(request), status, code);
    }
    assert!(system.database().task_states().is_empty());
}

#[test]
fn the_control_port_is_called_by_the_allowed_names_and_probed_under_any_address() {
    let system = System::builder().variable("AUTONOUS_CONTROL_ALLOWED_HOSTS", "box.example").start();
    let status = |path: &str, host: &str| system.control(Request::get(path).header("Host", host)).status;
    assert_eq!(status("/messages/x", "box.example"), 404, "let in, and there is no such task");
    assert_eq!(status("/messages/x", "10.1.2.3:8700"), 403);
    for (host, expected) in [("box.example", 200), ("10.1.2.3:8700", 200), ("evil.example", 403)] {
        assert_eq!([status("/livez", host), status("/readyz", host)], [expected; 2], "{host}");
    }
}

fn assert_refused(answer: &Answer, status: u16, code: &str) {
    let error = &answer.json()["error"];
    assert_eq!((answer.status, error["code"].as_str()), (status, Some(code)), "{}", answer.text());
    for field in ["message", "hint"] {
        assert!(error[field].as_str().is_some_and(|text| !text.is_empty()), "{field}: {}", answer.text());
    }
}
