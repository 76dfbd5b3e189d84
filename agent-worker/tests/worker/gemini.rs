//! Gemini's own protocol through the real worker: the whole path, and what goes wrong on it.

use agent_worker::model::ModelErrorClass;
use agent_worker::model::gemini::Gemini;
use agent_worker::untrusted::unmarked;
use harness::fake_model::{House, KEY};
use harness::worker::TaskRun;
use harness::{FakeModel, FakeToolServer, ModelReply, StreamFault};
use protocol::event::RetryScheduled;
use serde_json::{Value, json};

use crate::streams::{SHORT_IDLE, ask, settings};
use crate::{assert_asked_again, calls, half_a_stream, model, run_two_calls, says};

fn run(replies: Vec<ModelReply>, tools: &FakeToolServer) -> (TaskRun, FakeModel) {
    crate::run(replies, tools, &[("AUTONOUS_MODEL_PROVIDER", "gemini")])
}

/// A candidate with these parts, which ends for this reason.
fn candidate(parts: &Value, reason: &str) -> ModelReply {
    let content = json!({"role": "model", "parts": parts});
    ModelReply::Whole(json!({"candidates": [{"content": content, "finishReason": reason}]}))
}

#[test]
fn a_task_with_two_calls_in_one_reply_gets_its_answer() {
    let request = run_two_calls("gemini", r#"{"path":"."}"#);

    let contents = &request["contents"];
    let call = |name: &str, args: Value| json!({"functionCall": {"name": name, "args": args}});
    let mut first = call("ls", json!({"path": "."}));
    // The fake model does not think here, so the calls count as another model's.
    first["thoughtSignature"] = json!("skip_thought_signature_validator");
    let parts = json!([{"text": "let me look"}, first, call("bash", json!({}))]);
    assert_eq!(contents[1], json!({"role": "model", "parts": parts}));
    let result = &contents[2]["parts"][1]["functionResponse"];
    assert_eq!(result["name"], "bash");
    assert_eq!(unmarked(result["response"]["output"].as_str().unwrap()), "exit 0\na.txt");
}

#[test]
fn a_request_is_what_the_protocol_asks_for() {
    let (_, model) = run(vec![says("hi")], &FakeToolServer::start([]));
    let (request, headers) = (&model.requests()[0], &model.headers()[0]);
    assert!(headers["x-goog-api-key"] == KEY && headers.get("authorization").is_none(), "{headers:?}");
    assert!(request["systemInstruction"]["parts"][0]["text"].is_string());
    assert_eq!(request["tools"][0]["functionDeclarations"][1]["name"], "ls");
}

#[test]
fn a_provider_that_is_overloaded_or_breaks_off_is_asked_again() {
    let overloaded = json!({"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"});
    let in_a_stream = json!({"error": overloaded});
    for failures in [
        vec![ModelReply::Refused(503, overloaded), ModelReply::Whole(in_a_stream)],
        [StreamFault::Torn, StreamFault::Broken, StreamFault::Malformed].map(half_a_stream).into(),
        vec![candidate(&json!([{"text": "half"}]), "MALFORMED_FUNCTION_CALL"), candidate(&json!([]), "STOP")],
    ] {
        assert_asked_again("gemini", failures);
    }
}

#[test]
fn the_wait_is_taken_from_the_error_itself() {
    let retry = json!({"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "0.02s"});
    let limited =
        json!({"code": 429, "message": "Quota exceeded", "status": "RESOURCE_EXHAUSTED", "details": [retry]});
    let stream =
        harness::fake_model::Stream::events(&[json!({"error": limited})], harness::fake_model::End::Close);
    let (ended, _) = run(vec![ModelReply::Stream(stream), says("done")], &FakeToolServer::start([]));
    assert_eq!(ended.reply(), "done");
    let (_, RetryScheduled::Request { failed, wait_ms }) = ended.events_of::<RetryScheduled>()[0] else {
        panic!("no request was retried")
    };
    assert_eq!(failed.error_class, "rate_limit");
    assert!((20..=25).contains(wait_ms), "{wait_ms}");
}

#[test]
fn a_reply_ends_as_its_finish_reason_says() {
    let half = json!([{"text": "half"}]);
    let reply = |reason: &str| run(vec![candidate(&half, reason)], &FakeToolServer::start([])).0;
    assert!(reply("MAX_TOKENS").reply().starts_with("half\n\n(The model's answer was cut"));
    assert!(reply("SAFETY").reply().starts_with("half\n\n(The model provider's content filter"));
    let blocked = ModelReply::Whole(json!({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}));
    assert!(run(vec![blocked], &FakeToolServer::start([])).0.reply().contains("content filter withheld"));
}

#[test]
fn errors_that_the_request_causes_fail_for_good() {
    let error = |status: u16, word: &str, message: &str, details: Value| {
        let error = json!({"code": status, "message": message, "status": word, "details": details});
        ModelReply::Refused(status, error)
    };
    let too_long = "The input token count (9) exceeds the maximum number of tokens allowed (8).";
    let invalid = json!([{"reason": "API_KEY_INVALID"}]);
    for (refusal, expected) in [
        (error(400, "INVALID_ARGUMENT", too_long, Value::Null), "The conversation is too long for the model"),
        (error(400, "INVALID_ARGUMENT", "API key not valid.", invalid), "The model provider refuses the key"),
        (error(403, "PERMISSION_DENIED", "no", Value::Null), "The model provider refuses the key"),
        (error(404, "NOT_FOUND", "no such model", Value::Null), "The model provider refuses the request"),
    ] {
        let (ended, model) = run(vec![refusal], &FakeToolServer::start([]));
        let (error, retryable) = ended.failure();
        assert!(error.starts_with(expected) && !retryable, "{error}");
        assert_eq!(model.requests().len(), 1);
    }
}

#[tokio::test]
async fn a_stream_that_stalls_is_noticed() {
    let model = model([half_a_stream(StreamFault::Stalled)]);
    let provider = Gemini::new(settings(&model, SHORT_IDLE)).unwrap();
    assert_eq!(ask(&provider).await.unwrap_err().class, ModelErrorClass::Stalled);
}

#[test]
fn ids_go_back_where_the_model_gave_them() {
    let replies = vec![calls(&[("ls", "{}"), ("ls", "{}")]).after(""), says("done")];
    let model = FakeModel::answering_as(House::Google, replies);
    let tools = FakeToolServer::start([]);
    let mut worker = crate::worker(&model, &tools, &[("AUTONOUS_MODEL_PROVIDER", "gemini")]);
    assert_eq!(worker.run(&harness::worker::task("go")).reply(), "done");
    let parts = &model.requests()[1]["contents"][2]["parts"];
    let ids: Vec<_> = parts.as_array().unwrap().iter().map(|part| &part["functionResponse"]["id"]).collect();
    assert_eq!(ids, ["call_1_0", "call_1_1"]);
}
