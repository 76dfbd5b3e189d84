//! Streams that a chat completion comes in, whole and broken: asked directly, with short timeouts.

use std::time::Duration;

use agent_worker::model::endpoint::{Settings, Timeouts};
use agent_worker::model::openai::OpenAi;
use agent_worker::model::{self, Message, Model, ModelError, ModelErrorClass, Request, Usage};
use harness::fake_model::{End, KEY, NAME, Stream, chunk};
use harness::{FakeModel, ModelReply, wait};
use process::Secret;
use serde_json::{Value, json};

use crate::{calls, model, refuses, says};

/// A server that begins in time may not fall silent for long.
pub(crate) const SHORT_IDLE: Timeouts =
    Timeouts { first_byte: Duration::from_secs(10), idle: Duration::from_millis(200) };

pub(crate) fn settings(model: &FakeModel, timeouts: Timeouts) -> Settings {
    let base_url = model.base_url().parse().unwrap();
    Settings { timeouts, ..Settings::new(base_url, Some(Secret::from(KEY)), NAME) }
}

fn provider(model: &FakeModel) -> OpenAi {
    OpenAi::new(settings(model, SHORT_IDLE)).unwrap()
}

pub(crate) async fn ask(provider: &impl Model) -> Result<model::Reply, ModelError> {
    let messages = [Message::User("hi".to_owned())];
    let reply = provider.reply(Request { system: "", messages: &messages, tools: &[], schema: None });
    tokio::time::timeout(wait::SOON, reply).await.expect("the provider gives up in time")
}

async fn reply(reply: ModelReply) -> Result<model::Reply, ModelError> {
    ask(&provider(&model([reply]))).await
}

fn stream(events: &[Value], end: End) -> ModelReply {
    ModelReply::Stream(Stream::events(events, end))
}

fn text(text: &str) -> Value {
    chunk(&json!({"content": text}), &Value::Null)
}

fn end() -> Value {
    chunk(&json!({}), &json!("stop"))
}

async fn check_class(stream: ModelReply, expected: ModelErrorClass) -> ModelError {
    let error = reply(stream.clone()).await.expect_err("that was no whole reply");
    assert_eq!(error.class, expected, "{stream:?}: {error}");
    error
}

#[tokio::test]
async fn a_stream_is_put_together_with_its_cost() {
    let reply = reply(calls(&[("ls", r#"{"path":"é"}"#), ("bash", "{")])).await.unwrap();
    assert_eq!((reply.text.as_str(), reply.cut), ("let me look", false));
    let calls: Vec<_> =
        reply.calls.iter().map(|call| [&call.id, &call.name, &call.arguments].map(String::as_str)).collect();
    assert_eq!(calls, [["call_1_0", "ls", r#"{"path":"é"}"#], ["call_1_1", "bash", "{"]]);
    assert_eq!(reply.usage, Usage { input_tokens: 100, cached_input_tokens: 60, output_tokens: 20 });
}

#[tokio::test]
async fn a_server_that_does_not_stream_is_taken_as_it_is() {
    let body = json!({"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]});
    assert_eq!(reply(ModelReply::Whole(body)).await.unwrap(), model::Reply::answer("hi"));
}

#[tokio::test]
async fn a_stream_need_not_end_with_a_mark_when_its_reply_is_whole() {
    for end_of in [End::Close, End::Break, End::Hang] {
        let stream = stream(&[text("h"), text("i"), end()], end_of);
        assert_eq!(reply(stream).await.unwrap().text, "hi", "{end_of:?}");
    }
}

#[tokio::test]
async fn comments_and_cut_characters_do_not_matter() {
    let line = format!(": keep-alive\r\n\r\ndata: {}\r\n\r\n", text("h😀i"));
    let (first, second) = line.as_bytes().split_at(line.find('😀').unwrap() + 2);
    let last = format!("data: {}\r\n\r\n", end());
    let stream = Stream::raw(&[first, second, last.as_bytes()], End::Close);
    assert_eq!(reply(ModelReply::Stream(stream)).await.unwrap().text, "h😀i");
}

#[tokio::test]
async fn a_reply_that_was_torn_never_counts_as_whole() {
    check_class(stream(&[text("half")], End::Close), ModelErrorClass::Network).await;
    check_class(stream(&[text("half")], End::Break), ModelErrorClass::Network).await;
    check_class(stream(&[], End::Break), ModelErrorClass::Network).await;
    let half = json!({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "ls", "arguments": "{"}}]});
    let half = stream(&[chunk(&half, &Value::Null)], End::Close);
    check_class(half, ModelErrorClass::Network).await;
}

#[tokio::test]
async fn a_stream_that_stalls_is_noticed() {
    let error = check_class(stream(&[text("half")], End::Hang), ModelErrorClass::Stalled).await;
    assert_eq!(error.detail, "no data for 0.2 seconds");
}

#[tokio::test]
async fn a_server_that_never_begins_to_answer_is_noticed() {
    let model = model([ModelReply::Silent]);
    let timeouts = Timeouts { first_byte: Duration::from_millis(200), idle: Duration::from_secs(60) };
    let provider = OpenAi::new(settings(&model, timeouts)).unwrap();
    assert_eq!(ask(&provider).await.unwrap_err().class, ModelErrorClass::Stalled);
}

#[tokio::test]
async fn what_is_no_stream_and_no_reply_is_invalid() {
    for pieces in [
        &[b"data: {\"choices\": [{\n\n".as_slice()][..],
        &[b"<html><body>Welcome to the hotel</body></html>"],
        &[b"{\"choices\": [{"],
        &[b"{}"],
        &[],
    ] {
        check_class(ModelReply::Stream(Stream::raw(pieces, End::Close)), ModelErrorClass::InvalidReply).await;
    }
}

#[tokio::test]
async fn a_refusal_has_its_class_and_its_wait_and_never_the_key() {
    let error = check_class(refuses(429, &format!("no more for {KEY}")), ModelErrorClass::RateLimit).await;
    assert_eq!(
        (error.detail.as_str(), error.retry_after),
        ("HTTP 429: no more for ***", Some(Duration::ZERO))
    );
}

#[tokio::test]
async fn a_server_that_refuses_to_tell_the_cost_is_asked_without_and_never_again_with() {
    let server = model([refuses(400, "Unrecognized argument"), says("a"), says("b")]);
    let provider = provider(&server);
    for expected in ["a", "b"] {
        assert_eq!(ask(&provider).await.unwrap().text, expected);
    }
    let asked: Vec<bool> =
        server.requests().iter().map(|request| request["stream_options"].is_object()).collect();
    assert_eq!(asked, [true, false, false]);
}

#[tokio::test]
async fn a_request_that_is_refused_either_way_keeps_its_first_refusal() {
    let server = model([refuses(400, "first"), refuses(400, "second")]);
    let error = ask(&provider(&server)).await.unwrap_err();
    assert_eq!((error.class, error.detail.as_str()), (ModelErrorClass::BadRequest, "HTTP 400: first"));
}
