//! One catalogue of three sources: tool server, worker and supervisor.

use std::collections::BTreeSet;

use harness::fake_telegram::update::ADA;
use harness::{FakeModel, FakeTelegram, ModelReply, Request, System};
use serde_json::{Value, json};

fn names(request: &Value) -> Vec<String> {
    let tools = request["tools"].as_array().cloned().unwrap_or_default();
    tools.iter().filter_map(|tool| Some(tool["function"]["name"].as_str()?.to_owned())).collect()
}

#[test]
fn a_task_is_offered_the_tools_of_all_three_once_and_sorted() {
    let (telegram, model) =
        (FakeTelegram::start(), FakeModel::answering(vec![ModelReply::Text("Hi.".to_owned())]));
    let builder = System::builder().telegram(&telegram, "4711").model(&model);
    let system = builder.variable("AUTONOUS_TOOL_DISABLED", "bash,plan_create").start();
    telegram.push(ADA.text("hello"));
    assert_eq!(telegram.wait_for_sent(1)[0].text, "Hi.");
    let offered = names(&model.requests()[0]);
    let sorted: BTreeSet<String> = offered.iter().cloned().collect();
    assert_eq!(offered, sorted.into_iter().collect::<Vec<_>>());
    for (expected, is_offered) in [
        ("ls", true),
        ("todo_update", true),
        ("telegram_react", true),
        ("schedule_task", true),
        ("bash", false),
        ("plan_create", false),
        ("plan_update", false),
    ] {
        assert_eq!(offered.iter().any(|name| name == expected), is_offered, "{expected}: {offered:?}");
    }
    system.say("and here?");
    harness::wait::until_true("it is asked", || model.requests().len() == 2);
    let here = names(&model.requests()[1]);
    assert!(!here.iter().any(|name| name.starts_with("telegram_")), "{here:?}");
}

#[test]
fn whoever_asks_the_wrong_program_is_told_which_one_has_the_tool() {
    let system = System::start();
    let ask = |request: Request| request.header("X-Session-Id", "local:me");
    for (tool, of_server, of_control) in [
        ("todo_update", "action is required", "one of the tool server"),
        ("plan_create", "one of the worker", "one of the worker"),
        ("telegram_react", "one of the supervisor", "works in chats of telegram only"),
        ("fly", "No such tool", "has no tool"),
    ] {
        let server = system.ask_tool_server(ask(Request::call(tool, &json!({})))).text();
        assert!(server.contains(of_server), "{tool}: {server}");
        let control = system.control(ask(Request::post_json(&format!("/tools/{tool}"), &json!({})))).text();
        assert!(control.contains(of_control), "{tool}: {control}");
    }
}
