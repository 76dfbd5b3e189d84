//! OpenAI's responses through the real worker: the whole path, and what goes wrong on it.

use agent_worker::model::ModelErrorClass;
use agent_worker::model::responses::Responses;
use agent_worker::untrusted::unmarked;
use harness::fake_model::{End, KEY, NAME, Stream};
use harness::worker::TaskRun;
use harness::{FakeModel, FakeToolServer, ModelReply, StreamFault};
use serde_json::{Value, json};

use crate::streams::{SHORT_IDLE, ask, settings};
use crate::{assert_asked_again, half_a_stream, model, run_two_calls, says};

fn run(replies: Vec<ModelReply>, tools: &FakeToolServer) -> (TaskRun, FakeModel) {
    crate::run(replies, tools, &[("AUTONOUS_MODEL_PROVIDER", "openai-responses")])
}

/// A response that ends like this, in one body.
fn ended(status: &str, more: Value) -> Value {
    let part = json!({"type": "output_text", "text": "half"});
    let output = json!([{"type": "message", "role": "assistant", "content": [part]}]);
    let mut response = json!({"object": "response", "status": status, "output": output});
    more.as_object().into_iter().flatten().for_each(|(name, value)| response[name] = value.clone());
    response
}

#[test]
fn a_task_with_two_calls_in_one_response_gets_its_answer() {
    let request = run_two_calls("openai-responses", r#"{"path": "."}"#);
    let input = &request["input"];
    assert_eq!(input[2]["arguments"], r#"{"path": "."}"#);
    let result = &input[5];
    assert_eq!((&result["type"], &result["call_id"]), (&json!("function_call_output"), &json!("call_1_1")));
    assert_eq!(unmarked(result["output"].as_str().unwrap()), "exit 0\na.txt");
}

#[test]
fn a_request_is_stateless_and_streamed() {
    let (_, model) = run(vec![says("hi")], &FakeToolServer::start([]));
    let (request, headers) = (&model.requests()[0], &model.headers()[0]);
    assert_eq!(headers["authorization"], format!("Bearer {KEY}").as_str());
    assert_eq!(
        (&request["model"], &request["stream"], &request["store"]),
        (&json!(NAME), &json!(true), &json!(false))
    );
    assert!(request["instructions"].is_string());
    assert_eq!(request["tools"][1]["name"], "ls");
}

#[test]
fn a_provider_that_is_overloaded_or_breaks_off_is_asked_again() {
    let failed = json!({"error": {"code": "server_error", "message": "The server had an error"}});
    let failed = ended("failed", failed);
    let failed = json!({"type": "response.failed", "response": failed});
    let error =
        json!({"type": "error", "code": "rate_limit_exceeded", "message": "slow down", "param": null});
    for failures in [
        vec![ModelReply::Broken, half_a_stream(StreamFault::Overloaded)],
        [failed, error].map(|event| ModelReply::Stream(Stream::events(&[event], End::Close))).into(),
        [StreamFault::Torn, StreamFault::Broken, StreamFault::Malformed].map(half_a_stream).into(),
    ] {
        assert_asked_again("openai-responses", failures);
    }
}

#[test]
fn a_server_that_does_not_stream_is_taken_as_it_is() {
    let replies = vec![ModelReply::Unstreamed("at once".to_owned())];
    assert_eq!(run(replies, &FakeToolServer::start([])).0.reply(), "at once");
}

#[test]
fn a_response_ends_as_its_status_says() {
    let reply = |reason: &str| {
        let response = ended("incomplete", json!({"incomplete_details": {"reason": reason}}));
        run(vec![ModelReply::Whole(response)], &FakeToolServer::start([])).0
    };
    assert!(reply("max_output_tokens").reply().starts_with("half\n\n(The model's answer was cut"));
    assert!(reply("content_filter").reply().starts_with("half\n\n(The model provider's content filter"));
}

#[test]
fn errors_that_the_request_causes_fail_for_good() {
    for (status, code, expected) in [
        (400, "context_length_exceeded", "The conversation is too long for the model"),
        (401, "invalid_api_key", "The model provider refuses the key"),
        (429, "insufficient_quota", "The model provider refuses the key"),
        (400, "model_not_found", "The model provider refuses the request"),
    ] {
        let refusal = ModelReply::Refused(status, json!({"code": code, "message": "no"}));
        let (ended, model) = run(vec![refusal], &FakeToolServer::start([]));
        let (error, retryable) = ended.failure();
        assert!(error.starts_with(expected) && !retryable, "{error}");
        assert_eq!(model.requests().len(), 1);
    }
}

#[tokio::test]
async fn a_stream_that_stalls_is_noticed() {
    let model = model([half_a_stream(StreamFault::Stalled)]);
    let provider = Responses::new(settings(&model, SHORT_IDLE)).unwrap();
    assert_eq!(ask(&provider).await.unwrap_err().class, ModelErrorClass::Stalled);
}
