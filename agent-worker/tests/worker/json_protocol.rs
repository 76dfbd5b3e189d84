//! A model without function calling: it writes its calls as JSON, cleanly or not.

use agent_worker::untrusted::unmarked;
use harness::worker::task;
use harness::{FakeToolServer, Worker};

use crate::{last_messages, run, says, with};

#[test]
fn calls_are_made_and_their_results_come_back_as_the_users_message() {
    let tools = FakeToolServer::start([]);
    let calls = r#"{"tool_calls":[{"name":"ls","arguments":{"path":"."}},
                                  {"name":"bash","arguments":{}}],"final_answer":""}"#;
    let answer = says(r#"{"tool_calls":[],"final_answer":"a.txt"}"#);
    let variables = [("AUTONOUS_MODEL_TOOL_PROTOCOL", "json"), ("AUTONOUS_CONTROL_MAX_RETRIES", "0")];
    let (ended, model) = run(vec![says(calls).after("a thought"), answer], &tools, &variables);
    assert_eq!(ended.reply(), "a.txt");
    assert_eq!(tools.calls().iter().map(|call| &*call.body).collect::<Vec<_>>(), [r#"{"path":"."}"#, "{}"]);
    let last = last_messages(&model).pop().unwrap();
    assert_eq!(last["role"], "user");
    let (of_ls, of_bash) = last["content"].as_str().unwrap().split_once("\n\n").unwrap();
    for (result, first_line) in [(of_ls, "Result of ls:\n"), (of_bash, "Result of bash:\n")] {
        assert_eq!(unmarked(result.strip_prefix(first_line).unwrap()), "exit 0\na.txt");
    }
    assert!(!model.requests()[1].to_string().contains("a thought"), "some refuse it without native calls");
    let first = &model.requests()[0];
    assert!(first["tools"].is_null());
    let system = first["messages"][0]["content"].as_str().unwrap();
    assert!(system.contains("### ls\nRuns ls.") && system.contains("final_answer"), "{system}");
}

#[test]
fn a_script_can_call_tools_by_the_protocol() {
    let tools = FakeToolServer::start([]);
    // {"tool_calls":[{"name":"ls","arguments":{}}]}
    let script = "msgb64:eyJ0b29sX2NhbGxzIjpbeyJuYW1lIjoibHMiLCJhcmd1bWVudHMiOnt9fV19,msg:done";
    let variables = [
        ("AUTONOUS_MODEL_PROVIDER", "scripted"),
        ("AUTONOUS_MODEL_SCRIPT", script),
        ("AUTONOUS_MODEL_TOOL_PROTOCOL", "json"),
    ];
    let ended = Worker::start(with(&tools, &variables)).run(&task("go"));
    assert_eq!((ended.reply(), tools.calls().len()), ("done", 1));
}
