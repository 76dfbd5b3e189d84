//! `agent-worker once`, as a person runs it.

use harness::FakeToolServer;
use harness::worker::command;
use serde_json::{Value, json};

use crate::{output_of, with};

fn once(text: &str, tools: &FakeToolServer, more: &[(&str, &str)]) -> (Option<i32>, String, String) {
    output_of(command(with(tools, more)).args(["once", text]))
}

#[test]
fn once_prints_the_reply_and_nothing_else_to_stdout() {
    let tools = FakeToolServer::start([]);
    let (code, stdout, stderr) = once("ls path=src recursive=true limit=5", &tools, &[]);
    assert_eq!((code, stdout.as_str()), (Some(0), "exit 0\na.txt\n"), "{stderr}");
    let body: Value = serde_json::from_str(&tools.calls()[0].body).unwrap();
    assert_eq!(body, json!({"path": "src", "recursive": true, "limit": 5}));
    assert_eq!(tools.calls()[0].headers["X-Session-Id"], "default");
    assert!(stderr.contains("turn.completed"), "{stderr}");
}

#[test]
fn once_fails_with_the_reason_on_stderr() {
    let tools = FakeToolServer::start([]);
    let (code, stdout, stderr) = once("ls", &tools, &[("AUTONOUS_TOOL_TOKEN", "FAKE-wrong")]);
    assert_eq!((code, stdout.as_str()), (Some(1), ""));
    assert!(
        stderr.contains("agent-worker: The tool server refuses to work: the token is wrong."),
        "{stderr}"
    );
}

#[test]
fn a_script_speaks_for_the_model() {
    let tools = FakeToolServer::start([]);
    let scripted = |script| {
        once("hi", &tools, &[("AUTONOUS_MODEL_PROVIDER", "scripted"), ("AUTONOUS_MODEL_SCRIPT", script)])
    };
    assert_eq!(scripted("sleep:1").1, "ok\n");
    let (code, _, stderr) = scripted("err:auth");
    assert_eq!(code, Some(1));
    assert!(stderr.contains("correct AUTONOUS_MODEL_API_KEY"), "{stderr}");
}
