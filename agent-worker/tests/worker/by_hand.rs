//! `agent-worker once`, as a person runs it.

use crate::process::{command, soon};
use crate::tool_server::{TOKEN, ToolServer};

async fn once(text: &str, variables: &[(&str, &str)]) -> (Option<i32>, String, String) {
    let output = soon(command(variables).args(["once", text]).output()).await.unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[tokio::test]
async fn once_prints_the_reply_and_nothing_else_to_stdout() {
    let tools = ToolServer::start([]).await;
    let variables = [("AUTONOUS_TOOL_URL", tools.url.as_str()), ("AUTONOUS_TOOL_TOKEN", TOKEN)];
    let (code, stdout, stderr) = once("ls path=src recursive=true limit=5", &variables).await;
    assert_eq!((code, stdout.as_str()), (Some(0), "exit 0\na.txt\n"), "{stderr}");
    let body: serde_json::Value = serde_json::from_str(&tools.calls()[0].body).unwrap();
    assert_eq!(body, serde_json::json!({"path": "src", "recursive": true, "limit": 5}));
    assert_eq!(tools.calls()[0].headers["X-Session-Id"], "default");
    assert!(stderr.contains("turn.completed"), "{stderr}");
}

#[tokio::test]
async fn once_explains_what_it_could_not_understand() {
    let tools = ToolServer::start([]).await;
    let variables = [("AUTONOUS_TOOL_URL", tools.url.as_str()), ("AUTONOUS_TOOL_TOKEN", TOKEN)];
    let (code, stdout, _) = once("what is here?", &variables).await;
    assert_eq!(code, Some(0));
    assert!(stdout.ends_with("- bash: Runs bash.\n- ls: Runs ls.\nExample: ls path=.\n"), "{stdout}");
    assert!(tools.calls().is_empty());
}

#[tokio::test]
async fn once_fails_with_the_reason_on_stderr() {
    let tools = ToolServer::start([]).await;
    let (code, stdout, stderr) = once("ls", &[("AUTONOUS_TOOL_URL", &tools.url)]).await;
    assert_eq!((code, stdout.as_str()), (Some(1), ""));
    assert!(
        stderr.contains("agent-worker: The tool server refuses to work: the token is wrong."),
        "{stderr}"
    );
}

#[tokio::test]
async fn a_script_speaks_for_the_model() {
    let tools = ToolServer::start([]).await;
    let variables = [
        ("AUTONOUS_TOOL_URL", tools.url.as_str()),
        ("AUTONOUS_TOOL_TOKEN", TOKEN),
        ("AUTONOUS_MODEL_PROVIDER", "scripted"),
        ("AUTONOUS_MODEL_SCRIPT", "sleep:1"),
    ];
    assert_eq!(once("hi", &variables).await.1, "ok\n");
    let script = [&variables[..3], &[("AUTONOUS_MODEL_SCRIPT", "err:auth")]].concat();
    let (code, _, stderr) = once("hi", &script).await;
    assert_eq!(code, Some(1));
    assert!(stderr.contains("correct AUTONOUS_MODEL_API_KEY"), "{stderr}");
}
