//! A model that fails or errs: the task goes on, and the model is told what was wrong.

use std::time::{Duration, Instant};

use harness::{FakeModel, ModelReply, System};
use serde_json::{Value, json};

fn answer() -> ModelReply {
    ModelReply::Text("done".to_owned())
}

fn last_tool_result(model: &FakeModel) -> String {
    let requests = model.requests();
    let messages = requests.last().and_then(|request| request["messages"].as_array()).cloned();
    let last = messages.unwrap_or_default().into_iter().rfind(|message| message["role"] == "tool");
    last.as_ref().and_then(|message| message["content"].as_str()).unwrap_or_default().to_owned()
}

#[test]
fn broken_arguments_are_told_to_the_model_and_fail_nothing() {
    let broken = ModelReply::Calls(vec![("ls".to_owned(), r#"{"path": "."#.to_owned())]);
    let model = FakeModel::answering(vec![broken, answer()]);
    let system = System::builder().model(&model).start();
    assert_eq!(system.reply(&system.say("go")), "done");
    assert!(
        last_tool_result(&model).starts_with("exit 2 · error INVALID_ARGUMENT"),
        "{}",
        last_tool_result(&model)
    );
}

#[test]
fn an_unknown_tool_is_answered_with_the_known_ones() {
    let model = FakeModel::answering(vec![ModelReply::call("list", &json!({})), answer()]);
    let system = System::builder().model(&model).start();
    assert_eq!(system.reply(&system.say("go")), "done");
    let told = last_tool_result(&model);
    assert!(told.contains("UNKNOWN_TOOL") && told.contains("ls"), "{told}");
}

#[test]
fn several_calls_of_one_reply_get_one_result_each() {
    let call = |path: &str| ("ls".to_owned(), json!({"path": path}).to_string());
    let model =
        FakeModel::answering(vec![ModelReply::Calls(vec![call("a"), call("b"), call("c")]), answer()]);
    let system = System::builder().model(&model).start();
    assert_eq!(system.reply(&system.say("go")), "done");
    let requests = model.requests();
    let messages = requests[1]["messages"].as_array().unwrap();
    let results: Vec<&Value> = messages.iter().filter(|message| message["role"] == "tool").collect();
    assert_eq!(results.len(), 3);
    for (result, path) in results.iter().zip(["a", "b", "c"]) {
        assert!(result["content"].as_str().unwrap().contains(path), "{result}");
    }
}

#[test]
fn calls_of_a_reply_that_was_cut_are_never_run() {
    let cut = ModelReply::CutCalls(vec![("ls".to_owned(), r#"{"path":"."}"#.to_owned())]);
    let model = FakeModel::answering(vec![cut, answer()]);
    let system = System::builder().model(&model).start();
    system.reply(&system.say("go"));
    assert!(!system.database().has_event("tool_call.started"));
}

#[test]
fn a_rate_limit_is_waited_for_and_a_server_error_is_tried_again() {
    let model = FakeModel::answering(vec![ModelReply::RateLimited(1), ModelReply::Broken, answer()]);
    let system = System::builder().model(&model).start();
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
