//! Each limit of the worker's loop through the front door: the answer that the user gets, the event, the
//! task's state.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use harness::system::SystemBuilder;
use harness::{FakeModel, ModelReply, System, leftovers, wait};
use protocol::event::{
    CircuitOpened, ControlLimitReached, ProgressStalled, RequestFailed, RetryExhausted, RetryScheduled,
};
use serde_json::{Value, json};

use crate::{assert_says, with_model};

/// A system with this model and these variables, whose tasks are tried once.
fn system(model: &FakeModel, variables: &[(&str, &str)]) -> System {
    let builder = System::builder().model(model).variable("AUTONOUS_TASK_MAX_ATTEMPTS", "1");
    let with = |builder: SystemBuilder, (name, value): &(&str, &str)| builder.variable(name, value);
    variables.iter().fold(builder, with).start()
}

/// A model that looks at another place each time.
fn restless() -> FakeModel {
    let mut number = 0;
    FakeModel::start(move |_| {
        number += 1;
        ModelReply::call("ls", &json!({"path": ".", "limit": number}))
    })
}

fn assert_limit(system: &System, limit: &str) {
    assert_eq!(system.database().payloads::<ControlLimitReached>()[0].limit, limit);
    assert_eq!(system.database().task_states(), ["done"]);
}

/// The request after which the model was not asked again.
fn exhausted(system: &System) -> RequestFailed {
    match system.database().payloads().into_iter().next() {
        Some(RetryExhausted::Request(failed)) => failed,
        other => panic!("{other:?}"),
    }
}

#[test]
fn too_many_turns_end_with_what_was_done_and_what_is_open() {
    let model = restless();
    let system = system(&model, &[("AUTONOUS_CONTROL_MAX_TURNS", "3")]);
    let reply = system.reply(&system.say("go"));
    assert_says(
        &reply,
        &["limit of 3 turns", "Done so far:\n- ls {", ": exit 0", "Open: there is no final answer"],
    );
    assert_eq!(model.requests().len(), 3);
    assert_limit(&system, "turns");
}

#[test]
fn too_many_tokens_end_the_task_after_the_turn_that_used_them() {
    let model = restless();
    let system = system(&model, &[("AUTONOUS_CONTROL_MAX_TOKENS", "1")]);
    assert_says(&system.reply(&system.say("go")), &["limit of 1 tokens", "- ls {"]);
    assert_eq!(model.requests().len(), 1);
    assert_limit(&system, "tokens");
}

#[test]
fn the_wall_time_ends_a_request_to_the_model() {
    let (release, held) = mpsc::channel::<()>();
    let model = FakeModel::start(move |_| {
        let _ = held.recv_timeout(wait::SOON);
        ModelReply::Text("too late".to_owned())
    });
    let system = system(&model, &[("AUTONOUS_CONTROL_MAX_WALL_TIME_SECONDS", "1")]);
    assert_says(&system.reply(&system.say("go")), &["limit of 1 seconds", "no tool was called"]);
    let _ = release.send(());
    assert_limit(&system, "wall_time");
}

#[test]
fn the_wall_time_ends_a_running_command_and_the_answer_names_it() {
    const COMMAND: &str = "sleep 298";
    let call = ModelReply::call("bash", &json!({"cmd": COMMAND, "timeout_seconds": 300}));
    let model = FakeModel::answering(vec![call]);
    let system = system(&model, &[("AUTONOUS_CONTROL_MAX_WALL_TIME_SECONDS", "2")]);
    let reply = system.reply(&system.say("go"));
    assert_says(&reply, &["limit of 2 seconds", COMMAND, "was running, its outcome is unknown"]);
    wait::until_true("the command is ended", || leftovers::processes_with(COMMAND).is_empty());
    assert_limit(&system, "wall_time");
}

#[test]
fn the_same_calls_with_the_same_results_end_after_a_warning() {
    let model = FakeModel::answering(vec![ModelReply::call("ls", &json!({"path": "."}))]);
    let system = system(&model, &[]);
    let reply = system.reply(&system.say("go"));
    assert_says(&reply, &["the same calls 3 times in a row", "Open:"]);
    let requests = model.requests();
    assert_eq!(requests.len(), 3);
    let warnings = |request: &Value| request.to_string().matches("twice in a row").count();
    assert_eq!(requests.iter().map(warnings).collect::<Vec<_>>(), [0, 0, 1]);
    assert_eq!(system.database().payloads::<ProgressStalled>()[0].equal_turns, 3);
    assert_eq!(system.database().task_states(), ["done"]);
}

#[test]
fn exhausted_retries_are_told_with_their_cause() {
    let look = ModelReply::call("ls", &json!({"path": "."}));
    let model = FakeModel::answering(vec![look, ModelReply::RateLimited(0)]);
    let system = system(&model, &[("AUTONOUS_CONTROL_MAX_RETRIES", "2")]);
    let reply = system.reply(&system.say("go"));
    assert_says(&reply, &["accepts no more requests right now", "Done so far:\n- ls", "Open:"]);
    assert_eq!(model.requests().len(), 1 + 3);
    let retries = system.database().payloads();
    let [_, RetryScheduled::Request { failed, wait_ms: 0 }] = &retries[..] else { panic!("{retries:?}") };
    assert_eq!(failed.failed_requests, 2);
    assert_eq!(exhausted(&system).error_class, "rate_limit");
    assert_eq!(system.database().task_states(), ["dead"]);
}

#[test]
fn a_provider_that_asks_for_an_hour_is_not_waited_for() {
    let (model, system) = with_model(vec![ModelReply::RateLimited(3600)]);
    assert_says(&system.reply(&system.say("go")), &["it asks to wait 3600 seconds"]);
    assert_eq!(model.requests().len(), 1, "neither the request nor the task is tried again");
    assert_eq!(exhausted(&system).retry_after_ms, Some(3_600_000));
    assert_eq!(system.database().task_states(), ["dead"]);
}

#[test]
fn a_provider_that_keeps_failing_is_left_alone_across_tasks() {
    let model = FakeModel::answering(vec![ModelReply::RateLimited(0)]);
    let system = system(&model, &[("AUTONOUS_CONTROL_MAX_RETRIES", "9")]);
    assert_says(&system.reply(&system.say("go")), &["it failed 5 times in a row and is paused for"]);
    assert_eq!(model.requests().len(), 5);
    assert_eq!(system.database().payloads::<CircuitOpened>()[0].error_class, "rate_limit");
    assert_eq!(
        system.database().payloads::<RetryScheduled>().len(),
        4,
        "no retry is announced that will not be"
    );
    assert_says(&system.reply(&system.say("and now?")), &["is paused for", "seconds"]);
    assert_eq!(model.requests().len(), 5, "the second task asks nobody");
    assert_eq!(system.database().task_states(), ["dead", "dead"]);
}

#[test]
fn a_rate_limit_is_waited_for_and_a_server_error_is_tried_again() {
    let (model, system) =
        with_model(vec![ModelReply::RateLimited(1), ModelReply::Broken, ModelReply::Text("done".to_owned())]);
    let start = Instant::now();
    assert_eq!(system.reply(&system.say("go")), "done");
    assert!(start.elapsed() >= Duration::from_secs(1));
    assert_eq!(model.requests().len(), 3);
}

#[test]
fn a_model_that_never_answers_well_ends_in_one_honest_reply() {
    let model = FakeModel::answering(vec![ModelReply::Broken]);
    let system = System::builder()
        .model(&model)
        .variable("AUTONOUS_CONTROL_MAX_RETRIES", "0")
        .variable("AUTONOUS_TASK_MAX_ATTEMPTS", "2")
        .start();
    let task = system.say("go");
    let reply = system.reply(&task);
    assert!(!reply.is_empty());
    assert_eq!(system.database().task_states(), ["dead"]);
    assert_eq!(model.requests().len(), 2);
}
