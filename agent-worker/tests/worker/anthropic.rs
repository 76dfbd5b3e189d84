//! Anthropic's messages through the real worker: the whole path, and what goes wrong on it.

use agent_worker::model::ModelErrorClass;
use agent_worker::model::anthropic::Anthropic;
use agent_worker::untrusted::unmarked;
use harness::fake_model::{KEY, NAME};
use harness::worker::TaskRun;
use harness::{FakeModel, FakeToolServer, ModelReply, StreamFault};
use serde_json::json;

use crate::streams::{SHORT_IDLE, ask, settings};
use crate::{assert_asked_again, half_a_stream, model, run_two_calls, says};

fn run(replies: Vec<ModelReply>, tools: &FakeToolServer) -> (TaskRun, FakeModel) {
    crate::run(replies, tools, &[("AUTONOUS_MODEL_PROVIDER", "anthropic")])
}

#[test]
fn a_task_with_two_calls_in_one_message_gets_its_answer() {
    let request = run_two_calls("anthropic", r#"{"path": "."}"#);

    let mut messages = request["messages"].clone();
    for result in messages[2]["content"].as_array_mut().unwrap() {
        result["content"] = json!(unmarked(result["content"].as_str().unwrap()));
    }
    let result = |id: &str| json!({"type": "tool_result", "tool_use_id": id, "content": "exit 0\na.txt"});
    let mut last = result("call_1_1");
    last["cache_control"] = json!({"type": "ephemeral"});
    assert_eq!(messages[1]["role"], "assistant");
    let bash = json!({"type": "tool_use", "id": "call_1_1", "name": "bash", "input": {}});
    assert_eq!(messages[1]["content"][2], bash);
    assert_eq!(messages[2], json!({"role": "user", "content": [result("call_1_0"), last]}));
}

#[test]
fn a_request_is_what_the_protocol_asks_for() {
    let (_, model) = run(vec![says("hi")], &FakeToolServer::start([]));
    let (request, headers) = (&model.requests()[0], &model.headers()[0]);
    assert!(headers["x-api-key"] == KEY && headers["anthropic-version"] == "2023-06-01", "{headers:?}");
    assert!(headers.get("authorization").is_none());
    assert_eq!((&request["model"], &request["stream"]), (&json!(NAME), &json!(true)));
    assert!(request["max_tokens"].as_u64() > Some(1000));
    assert_eq!(request["tools"][1]["name"], "ls");
    assert!(request["tools"][1]["input_schema"].is_object());
    assert_eq!(request["system"][0]["cache_control"]["type"], "ephemeral");
}

#[test]
fn a_provider_that_is_overloaded_or_breaks_off_is_asked_again() {
    let overloaded = json!({"type": "overloaded_error", "message": "Overloaded"});
    for failures in [
        vec![ModelReply::Refused(529, overloaded), half_a_stream(StreamFault::Overloaded)],
        [StreamFault::Torn, StreamFault::Broken, StreamFault::Malformed].map(half_a_stream).into(),
    ] {
        assert_asked_again("anthropic", failures);
    }
}

#[test]
fn a_server_that_does_not_stream_is_taken_as_it_is() {
    let replies = vec![ModelReply::Unstreamed("at once".to_owned())];
    assert_eq!(run(replies, &FakeToolServer::start([])).0.reply(), "at once");
}

#[test]
fn a_conversation_that_is_too_long_fails_for_good() {
    let error =
        json!({"type": "invalid_request_error", "message": "prompt is too long: 9 tokens > 8 maximum"});
    let (ended, model) = run(vec![ModelReply::Refused(400, error)], &FakeToolServer::start([]));
    let (error, retryable) = ended.failure();
    assert!(error.starts_with("The conversation is too long for the model") && !retryable, "{error}");
    assert_eq!(model.requests().len(), 1);
}

#[tokio::test]
async fn a_stream_that_stalls_is_noticed() {
    let model = model([half_a_stream(StreamFault::Stalled)]);
    let provider = Anthropic::new(settings(&model, SHORT_IDLE)).unwrap();
    assert_eq!(ask(&provider).await.unwrap_err().class, ModelErrorClass::Stalled);
}
