//! The event tree of a task: process → agent → turn → tool call, and the views over it.

use std::collections::HashSet;
use std::fs;

use harness::{FakeModel, ModelReply, System};
use protocol::event::{EventPayload, ToolCallFailed};
use protocol::{Event, TaskId};
use serde_json::json;

use crate::with_model;

/// A task of three turns: a call that works, one that fails, and the answer.
fn system_with_a_finished_task() -> (System, FakeModel, String) {
    let (model, system) = with_model(vec![
        ModelReply::call("ls", &json!({"path": "."})),
        ModelReply::call("ls", &json!({"path": "missing"})),
        ModelReply::text("There is one file."),
    ]);
    fs::write(system.workspace().join("only.txt"), "x").expect("the workspace is writable");
    let task = system.say("what is here?");
    assert_eq!(system.reply(&task), "There is one file.");
    (system, model, task)
}

fn of_type<'a>(events: &'a [Event], event_type: &str) -> Vec<&'a Event> {
    events.iter().filter(|event| event.body.event_type() == event_type).collect()
}

#[test]
fn each_event_has_the_right_parent() {
    let (system, _model, task) = system_with_a_finished_task();
    let events = system.database().events();
    let [process] = of_type(&events, "process.started")[..] else { panic!("one start: {events:#?}") };
    let [agent] = of_type(&events, "agent.started")[..] else { panic!("one agent: {events:#?}") };
    assert_eq!(agent.parent_id.as_ref(), Some(&process.id));
    let turns = of_type(&events, "turn.started");
    assert_eq!(turns.len(), 3);
    assert!(turns.iter().all(|turn| turn.parent_id.as_ref() == Some(&agent.id)));
    let calls = of_type(&events, "tool_call.started");
    assert_eq!(calls.len(), 2);
    for (call, turn) in calls.iter().zip(&turns) {
        assert_eq!(call.parent_id.as_ref(), Some(&turn.id), "each call hangs under its own turn");
        assert_eq!(call.task_id.as_ref().map(TaskId::as_str), Some(task.as_str()));
    }
    let completed = of_type(&events, "tool_call.completed");
    let failed = of_type(&events, "tool_call.failed");
    assert_eq!((completed.len(), failed.len()), (1, 1));
    assert_eq!(completed[0].parent_id.as_ref(), Some(&calls[0].id));
    assert_eq!(failed[0].parent_id.as_ref(), Some(&calls[1].id));
    let failure = ToolCallFailed::of(&failed[0].body).and_then(|failed| failed.call.failure.as_ref());
    assert_eq!(failure.map(|failure| failure.error_code.as_str()), Some("NOT_FOUND"));
    let ended = of_type(&events, "agent.completed");
    assert_eq!(ended[0].parent_id.as_ref(), Some(&agent.id));
}

#[test]
fn no_event_is_an_orphan_and_the_tree_is_complete_when_the_reply_is() {
    let (system, _model, task) = system_with_a_finished_task();
    let events = system.database().events();
    let ids: HashSet<&str> = events.iter().map(|event| event.id.as_str()).collect();
    assert_eq!(ids.len(), events.len(), "ids are unique");
    for event in &events {
        // A call may be stored before its turn, because the journal can be faster than the worker.
        let is_orphan = event.parent_id.as_ref().is_some_and(|parent| !ids.contains(parent.as_str()));
        assert!(!is_orphan, "{event:?} hangs under nothing");
    }
    let index_of = |name: &str| {
        events.iter().position(|e| {
            e.body.event_type() == name && e.task_id.as_ref().is_some_and(|id| id.as_str() == task)
        })
    };
    assert!(index_of("tool_call.failed") < index_of("task.done"), "{events:#?}");
    assert!(index_of("reply.queued").is_some());
}

#[test]
fn the_tree_is_printed_while_the_system_runs_and_when_it_does_not() {
    let (mut system, _model, task) = system_with_a_finished_task();
    let running = system.shown(&["tree"]);
    let order = ["agent", "turn", "ls", "turn", "ls", "turn"];
    let mut rest = running.as_str();
    for word in order {
        let found =
            rest.find(word).unwrap_or_else(|| panic!("{word} is missing in order {order:?}:\n{running}"));
        rest = &rest[found + word.len()..];
    }
    assert!(running.lines().all(|line| line.chars().count() <= 80), "{running}");
    system.stop();
    let by_id = system.shown(&["tree", "--task", &task]);
    assert_eq!(by_id.lines().count(), running.lines().count());
    let parsed = system.shown_json(&["tree", "--task", &task, "--json"]);
    assert!(parsed.to_string().contains("tool_call.started"), "{parsed}");
}
