//! Limits and cancels: a task always ends, what runs is ended with it, and the answer is honest.

use harness::fake_tool_server::success;
use harness::worker::{TaskRun, task};
use harness::{FakeToolServer, ModelReply, ToolReply, Worker, wait};
use protocol::Outcome;
use protocol::event::{ControlLimitReached, TurnCompleted};

use crate::{calls, run, run_alone, says, started};

fn check_limit(ended: &TaskRun, limit: &str, expected: &[&str]) {
    assert!(matches!(ended.outcome, Outcome::Done { .. }));
    for part in expected {
        assert!(ended.reply().contains(part), "{part:?} is not in {}", ended.reply());
    }
    let reached = ended.events_of::<ControlLimitReached>();
    assert_eq!(reached.len(), 1);
    assert_eq!(reached[0].1.limit, limit);
    assert_eq!(reached[0].0.parent_id.as_ref(), Some(&ended.events[0].id));
    assert_eq!(ended.types().last(), Some(&"agent.completed"));
}

#[test]
fn too_many_turns_end_with_what_was_done() {
    let tools = FakeToolServer::start([]);
    let looks = ["{}", r#"{"path":"a"}"#, "{}", "{}"].map(|arguments| calls(&[("ls", arguments)]));
    let (ended, _) = run(looks.into(), &tools, &[("AUTONOUS_CONTROL_MAX_TURNS", "3")]);
    check_limit(&ended, "turns", &["3 turns", "- ls {}: exit 0", "noted: let me look", "no final answer"]);
    assert_eq!((ended.events_of::<TurnCompleted>().len(), tools.calls().len()), (3, 3));
}

#[test]
fn too_many_tokens_end_the_task_and_cached_input_does_not_count() {
    // Each turn counts 100 - 60 + 20.
    let limit = ("AUTONOUS_CONTROL_MAX_TOKENS", "120");
    let (ended, model) = run_alone(vec![calls(&[("ls", "{}")])], &[limit]);
    check_limit(&ended, "tokens", &["120 tokens"]);
    assert_eq!(model.requests().len(), 2);
}

#[test]
fn the_wall_time_ends_a_running_tool_call_and_a_running_request_to_the_model() {
    let limit = [("AUTONOUS_CONTROL_MAX_WALL_TIME_SECONDS", "1")];
    let tools = FakeToolServer::start([ToolReply::Silent]);
    let (ended, _) = run(vec![calls(&[("bash", "{}")])], &tools, &limit);
    check_limit(&ended, "wall_time", &["1 seconds", "- bash {}: was running, its outcome is unknown"]);
    tools.wait_until_abandoned();
    let (ended, _) = run(vec![ModelReply::Silent], &tools, &limit);
    check_limit(&ended, "wall_time", &["no tool was called"]);
    assert!(ended.events_of::<TurnCompleted>().is_empty());
}

#[test]
fn a_cancel_ends_a_running_tool_call_and_says_what_was_done() {
    let silence = [ToolReply::Envelope(Box::new(success("x")), None), ToolReply::Silent];
    let tools = FakeToolServer::start(silence);
    let (_model, mut worker) = started([calls(&[("ls", "{}"), ("bash", "{}")])], &tools, &[]);
    let task = task("wait");
    worker.send_task(&task);
    tools.wait_for_calls(2);
    worker.cancel(&task);
    let ended = worker.wait_for_result(&task);
    tools.wait_until_abandoned();
    let expected = "Cancelled.\n\nDone so far:\n- ls {}: exit 0\n\
                    - bash {}: was running, its outcome is unknown\n\nThe last thing I noted: let me look";
    assert_eq!(ended.outcome, Outcome::Cancelled { reply: expected.to_owned() });
    assert_eq!(ended.types().last(), Some(&"agent.failed"));
}

#[test]
fn a_cancel_ends_a_running_request_to_the_model_and_the_next_task_runs() {
    let tools = FakeToolServer::start([]);
    let (model, mut worker) = started([ModelReply::Silent, says("hello")], &tools, &[]);
    let first = task("wait");
    worker.send_task(&first);
    wait::until_true("the model is asked", || !model.requests().is_empty());
    worker.cancel(&first);
    assert!(matches!(worker.wait_for_result(&first).outcome, Outcome::Cancelled { .. }));
    assert_eq!(worker.run(&task("hi")).reply(), "hello");
}

#[test]
fn a_cancel_of_another_task_changes_nothing() {
    let tools = FakeToolServer::start([ToolReply::Silent]);
    let mut worker = Worker::start(tools.variables());
    let running = task("ls");
    worker.cancel(&running);
    worker.send_task(&running);
    tools.wait_for_calls(1);
    worker.cancel(&task("other"));
    worker.cancel(&running);
    let ended = worker.wait_for_result(&running);
    assert!(ended.reply().contains("- ls {}: was running"), "{}", ended.reply());
}
