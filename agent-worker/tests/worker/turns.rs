//! A task from its first to its last event: order, parents, what the model and the tools get to see.

use std::collections::BTreeSet;

use harness::fake_model::NAME;
use harness::fake_tool_server::failure;
use harness::worker::task;
use harness::{FakeToolServer, ModelReply, ToolReply};
use protocol::event::{TurnCompleted, TurnStarted};
use protocol::{ErrorCode, HistoryMessage, Outcome, ReplyFormat, Role};
use serde_json::json;

use crate::{calls, last_messages, owned, run, says, started, tool_results};

#[test]
fn the_events_of_a_task_come_in_order_and_under_their_parents() {
    let tools = FakeToolServer::start([]);
    let (_model, mut worker) =
        started([calls(&[("ls", r#"{"path":"."}"#), ("bash", "{}")]), says("a.txt")], &tools, &[]);
    let task = task("what is here?");
    let ended = worker.run(&task);

    assert_eq!(ended.outcome, Outcome::Done { reply: "a.txt".to_owned(), format: ReplyFormat::Markdown });
    let expected = [
        "agent.started", "context.assembled", "turn.started", "turn.completed", "turn.started",
        "turn.completed", "agent.completed",
    ];
    assert_eq!(ended.types(), expected);
    let id = |index: usize| Some(ended.events[index].id.clone());
    let parents: Vec<_> = ended.events.iter().map(|event| event.parent_id.clone()).collect();
    let agent = Some(task.parent_event_id.clone());
    assert_eq!(parents, [agent, id(0), id(0), id(2), id(0), id(4), id(0)]);
    assert!(ended.events.iter().all(|event| event.task_id.as_ref() == Some(&task.task_id)));
    let (_, turn) = ended.events_of::<TurnCompleted>()[0];
    assert_eq!(turn.model_name, NAME);
    assert_eq!((turn.input_tokens, turn.output_tokens, turn.tool_calls), (100, 20, 2));
    for call in tools.calls() {
        assert_eq!(call.headers["X-Parent-Event-Id"], ended.events[2].id.as_str());
        assert_eq!(call.headers["X-Task-Id"], task.task_id.as_str());
        assert_eq!(call.headers["X-Session-Id"], "chat:7");
    }
}

#[test]
fn every_call_has_a_key_of_its_own_and_its_turn_as_parent() {
    let tools = FakeToolServer::start([]);
    let two = calls(&[("ls", "{}"), ("ls", "{}")]);
    let (ended, _) = run(vec![two, calls(&[("ls", "{}")]), says("done")], &tools, &[]);
    let turns = ended.events_of::<TurnStarted>();
    let headers = |name: &str| {
        let calls = tools.calls();
        calls.iter().map(|call| call.headers[name].to_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(headers("X-Parent-Event-Id"), [0, 0, 1].map(|turn: usize| turns[turn].0.id.as_str()));
    let keys: BTreeSet<String> = headers("Idempotency-Key").into_iter().collect();
    assert_eq!(keys.len(), 3);
}

#[test]
fn the_model_sees_the_prompt_the_past_the_tools_and_the_text_form_of_results() {
    let tools = FakeToolServer::start([]);
    let (model, mut worker) = started([calls(&[("ls", "{}")]), says("done")], &tools, &[]);
    let mut task = task("what is here?");
    let past = |role, text: &str| {
        let (text, calls) = (text.to_owned(), Vec::new());
        HistoryMessage { role, text, origin: None, calls }
    };
    task.history = vec![past(Role::User, "hello"), past(Role::Assistant, "hi")];
    worker.run(&task);

    let first = &model.requests()[0];
    let system = first["messages"][0]["content"].as_str().unwrap();
    assert!(system.contains("2026-01-31") && system.contains("/work/space"), "{system}");
    let names: Vec<_> =
        first["tools"].as_array().unwrap().iter().map(|tool| &tool["function"]["name"]).collect();
    assert_eq!(names, ["bash", "ls", "plan_create"]);
    let function = json!({"name": "ls", "arguments": "{}"});
    let messages = &last_messages(&model)[1..];
    assert_eq!(
        messages[..4],
        [
            json!({"role": "user", "content": "hello"}),
            json!({"role": "assistant", "content": "hi"}),
            json!({"role": "user", "content": "what is here?"}),
            json!({"role": "assistant", "content": "let me look",
                   "tool_calls": [{"id": "call_1_0", "type": "function", "function": function}]}),
        ]
    );
    assert_eq!((&messages[4]["role"], &messages[4]["tool_call_id"]), (&json!("tool"), &json!("call_1_0")));
    let result = messages[4]["content"].as_str().unwrap();
    let lines: Vec<&str> = result.lines().collect();
    assert_eq!((lines[0], lines[2]), ("exit 0", "a.txt"));
    let name = lines[1].strip_prefix('<').and_then(|line| line.strip_suffix('>')).unwrap();
    assert!(name.starts_with("untrusted-"), "{name}");
    assert_eq!(lines[3], format!("</{name}>"));
}

#[test]
fn a_prompt_that_the_task_brings_replaces_ours() {
    let tools = FakeToolServer::start([]);
    let (model, mut worker) = started([says("done")], &tools, &[]);
    let mut task = task("hi");
    task.system_prompt = Some("You are a parrot in {{roots}} on {{date}}.".to_owned());
    worker.run(&task);
    let system = &model.requests()[0]["messages"][0]["content"];
    assert_eq!(system, "You are a parrot in /work/space on 2026-01-31.");
}

#[test]
fn a_tool_that_fails_does_not_fail_the_task() {
    let open = failure(ErrorCode::CircuitOpen, "ls is paused");
    let tools = FakeToolServer::start([ToolReply::Envelope(Box::new(open), Some(300))]);
    let (ended, model) = run(vec![calls(&[("ls", "{}")]), says("it is paused")], &tools, &[]);
    assert_eq!(ended.reply(), "it is paused");
    let told =
        "exit 2 · error CIRCUIT_OPEN\nCIRCUIT_OPEN: ls is paused\nhint: Wait as long as Retry-After says";
    assert!(tool_results(&model)[0].starts_with(told), "{}", tool_results(&model)[0]);
}

#[test]
fn a_reply_that_was_cut_never_runs_its_calls() {
    let tools = FakeToolServer::start([]);
    let (ended, model) =
        run(vec![ModelReply::CutCalls(owned(&[("ls", "{\"pa")])), says("shorter")], &tools, &[]);
    assert_eq!(ended.reply(), "shorter");
    assert!(tools.calls().is_empty());
    let told = last_messages(&model)[2]["content"].as_str().unwrap().to_owned();
    assert!(told.contains("cut at the length limit"), "{told}");
    let half = json!({"choices": [{"message": {"content": "half"}, "finish_reason": "length"}]});
    let (ended, _) = run(vec![ModelReply::Whole(half)], &tools, &[]);
    assert_eq!(ended.reply(), "half\n\n(The model's answer was cut at its length limit.)");
}
