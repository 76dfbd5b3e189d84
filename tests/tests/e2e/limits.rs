//! Limits of the worker's loop through the whole system: the user's answer, the event and the task's state.

use harness::{FakeModel, ModelReply, System, leftovers, wait};
use protocol::event::{ControlLimitReached, RetryExhausted};
use serde_json::json;

use crate::{assert_says, with_model};

#[test]
fn the_wall_time_ends_a_running_command_and_the_answer_names_it() {
    const COMMAND: &str = "sleep 298";
    let call = ModelReply::call("bash", &json!({"cmd": COMMAND, "timeout_seconds": 300}));
    let model = FakeModel::answering(vec![call]);
    let limit = "AUTONOUS_CONTROL_MAX_WALL_TIME_SECONDS";
    let system = System::builder().model(&model).variable(limit, "2").start();
    let reply = system.reply(&system.say("go"));
    assert_says(&reply, &["limit of 2 seconds", COMMAND, "was running, its outcome is unknown"]);
    wait::until_true("the command is ended", || leftovers::processes_with(COMMAND).is_empty());
    assert_eq!(system.database().payloads::<ControlLimitReached>()[0].limit, "wall_time");
    assert_eq!(system.database().task_states(), ["done"]);
}

#[test]
fn a_provider_that_asks_to_wait_an_hour_ends_the_task() {
    let (model, system) = with_model(vec![ModelReply::RateLimited(3600)]);
    assert_says(&system.reply(&system.say("go")), &["it asks to wait 3600 seconds"]);
    assert_eq!(model.requests().len(), 1, "neither the request nor the task is tried again");
    let exhausted = system.database().payloads();
    let [RetryExhausted::Request(failed)] = &exhausted[..] else { panic!("{exhausted:?}") };
    assert_eq!(failed.retry_after_ms, Some(3_600_000));
    assert_eq!(system.database().task_states(), ["dead"]);
}

#[test]
fn a_model_that_is_away_for_a_while_is_asked_until_it_is_back() {
    const FAILURES: usize = 4;
    let mut asked = 0;
    let model = FakeModel::start(move |_| {
        asked += 1;
        if asked <= FAILURES { ModelReply::Broken } else { ModelReply::Text("back again".to_owned()) }
    });
    let system = System::builder().model(&model).variable("AUTONOUS_CONTROL_MAX_RETRIES", "0").start();
    let task = system.say("go");
    assert_eq!(system.reply(&task), "back again");
    assert_eq!(system.database().count("select attempt from inbox"), 5);
    assert_eq!(system.database().count("select count(*) from inbox where failing_since_ms is null"), 1);
}

#[test]
fn a_task_that_is_given_up_says_how_to_try_it_again() {
    let model = FakeModel::answering(vec![ModelReply::Broken]);
    let system = System::builder()
        .model(&model)
        .variable("AUTONOUS_CONTROL_MAX_RETRIES", "0")
        .variable("AUTONOUS_TASK_MAX_ATTEMPTS", "2")
        .variable("AUTONOUS_TASK_RETRY_SECONDS", "1")
        .start();
    let reply = system.reply(&system.say("go"));
    assert!(reply.contains("/retry"), "{reply}");
    assert_eq!(system.database().task_states(), ["dead"]);
    assert!(system.database().count("select attempt from inbox") > 2);
}
