//! What the model reads about the past, and what happens when a conversation is too long for it.

use harness::worker::task;
use harness::{FakeToolServer, ModelReply, ToolReply};
use protocol::event::ContextAssembled;
use protocol::{EarlierAttempts, HistoryMessage, PastCall, PastCallStatus, Role};
use serde_json::json;

use crate::{calls, model, says, started, worker};

fn past_call(tool: &str, status: PastCallStatus) -> PastCall {
    let (tool_name, arguments) = (tool.to_owned(), "{}".to_owned());
    PastCall { tool_name, arguments, status, output: String::new(), subject: String::new(), dry_run: false }
}

fn too_long() -> ModelReply {
    ModelReply::Refused(400, json!({"code": "context_length_exceeded", "message": "too long"}))
}

#[test]
fn earlier_attempts_are_told_to_the_model_and_in_an_honest_answer() {
    let tools = FakeToolServer::start([]);
    let looks = ["{}", r#"{"path":"a"}"#].map(|arguments| calls(&[("ls", arguments)]));
    let model = model(looks);
    let mut again = task("build it");
    again.attempt = 2;
    again.earlier = EarlierAttempts {
        calls: vec![past_call("bash", PastCallStatus::Done), past_call("write", PastCallStatus::Interrupted)],
        summary: Some("The build needs a flag.".to_owned()),
        plan: None,
    };
    let ended = worker(&model, &tools, &[("AUTONOUS_CONTROL_MAX_TURNS", "1")]).run(&again);
    let messages = model.requests()[0]["messages"].clone();
    let told = messages[1]["content"].as_str().unwrap();
    assert!(told.contains("The build needs a flag.") && told.contains("- bash {}: done"), "{told}");
    let interrupted = "- write {}: was running, its outcome is unknown; it may have had its effect";
    assert!(told.contains(interrupted) && told.contains("look before you repeat it"), "{told}");
    assert_eq!(messages[2]["content"], "build it");
    let done =
        "Done so far:\n- bash {}: done\n- write {}: was running, its outcome is unknown\n- ls {}: exit 0";
    assert!(ended.reply().contains(done), "{}", ended.reply());
    let (_, ContextAssembled::Initial(context)) = ended.events_of()[0] else { panic!("{:?}", ended.events) };
    assert_eq!(context.earlier_calls, 2);
}

#[test]
fn a_conversation_that_the_provider_finds_too_long_is_shortened_once_and_asked_again() {
    let tools = FakeToolServer::start([]);
    let (model, mut worker) = started([too_long(), says("hello")], &tools, &[]);
    let mut task = task("hi");
    let message = |number: usize| HistoryMessage {
        role: if number.is_multiple_of(2) { Role::User } else { Role::Assistant },
        text: format!("message {number} {}", "x".repeat(600)),
        origin: None,
        calls: Vec::new(),
    };
    task.history = (0..40).map(message).collect();
    let ended = worker.run(&task);
    assert_eq!(ended.reply(), "hello");
    let lengths: Vec<usize> =
        model.requests().iter().map(|request| request["messages"].as_array().unwrap().len()).collect();
    assert_eq!(lengths[0], 42);
    assert!(lengths[1] < 42 && lengths[1] > 4, "{lengths:?}");
    let [_, (_, ContextAssembled::Fitted(fitted))] = ended.events_of()[..] else {
        panic!("{:?}", ended.events)
    };
    assert!(fitted.dropped > 0, "{fitted:?}");
}

#[test]
fn a_provider_that_finds_everything_too_long_is_not_asked_for_ever() {
    let tools = FakeToolServer::start([]);
    let model = model([too_long()]);
    let ended = worker(&model, &tools, &[]).run(&task(&"hi ".repeat(2000)));
    let (error, retryable) = ended.failure();
    assert!(error.contains("too long for the model") && !retryable, "{error}");
    assert!(model.requests().len() <= 2);
}

#[test]
fn the_catalogue_is_sent_once_and_again_only_when_an_answer_shows_that_it_changed() {
    let tools = FakeToolServer::start([
        ToolReply::AfterCalls(1),
        ToolReply::AfterCalls(1),
        ToolReply::NewTag("\"2\""),
    ]);
    tools.tag("\"1\"");
    let look = || calls(&[("ls", "{}")]);
    let (_model, mut worker) =
        started([look(), says("one"), look(), says("two"), look(), says("three")], &tools, &[]);
    for answer in ["one", "two", "three"] {
        assert_eq!(worker.run(&task("go")).reply(), answer);
    }
    assert_eq!(tools.catalogue_statuses(), [200, 304, 304, 200]);
}
