//! Anthropic's messages through the real worker: the whole path, and what goes wrong on it.

use std::time::Duration;

use agent_worker::model::anthropic::Anthropic;
use agent_worker::model::endpoint::{Settings, Timeouts};
use agent_worker::model::{Message, Model, ModelErrorClass, Request};
use process::Secret;
use protocol::Outcome;
use protocol::event::TurnCompleted;
use serde_json::{Value, json};

use crate::model_server::stream::{End, events};
use crate::model_server::{KEY, ModelServer, Reply};
use crate::process::{Ended, Worker, soon, task};
use crate::tool_server::ToolServer;

fn begins() -> Value {
    let usage = json!({"input_tokens": 10, "cache_read_input_tokens": 80, "cache_creation_input_tokens": 10});
    json!({"type": "message_start", "message": {"role": "assistant", "content": [], "usage": usage}})
}

/// A block that comes in halves.
fn block(index: usize, start: &Value, deltas: [Value; 2]) -> Vec<Value> {
    let mut events = vec![
        json!({"type": "content_block_start", "index": index, "content_block": start}),
        json!({"type": "ping"}),
    ];
    events.extend(deltas.map(|delta| json!({"type": "content_block_delta", "index": index, "delta": delta})));
    events.push(json!({"type": "content_block_stop", "index": index}));
    events
}

fn text_block(text: &str) -> Vec<Value> {
    let (first, second) = text.split_at(text.len() / 2);
    let deltas = [first, second].map(|text| json!({"type": "text_delta", "text": text}));
    block(0, &json!({"type": "text", "text": ""}), deltas)
}

fn ends(reason: &str) -> Vec<Value> {
    let delta = json!({"stop_reason": reason, "stop_sequence": null});
    let end = json!({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 20}});
    vec![end, json!({"type": "message_stop"})]
}

fn says(text: &str) -> Reply {
    Reply::Stream(events(&[vec![begins()], text_block(text), ends("end_turn")].concat(), End::Close))
}

fn calls(calls: &[(&str, &str)], reason: &str) -> Reply {
    let mut all = [vec![begins()], text_block("let me look")].concat();
    for (index, (name, arguments)) in (1..).zip(calls) {
        let start = json!({"type": "tool_use", "id": format!("toolu_{index}"), "name": name, "input": {}});
        let (first, second) = arguments.split_at(arguments.len() / 2);
        let deltas = [first, second].map(|half| json!({"type": "input_json_delta", "partial_json": half}));
        all.extend(block(index, &start, deltas));
    }
    all.extend(ends(reason));
    Reply::Stream(events(&all, End::Close))
}

async fn run(replies: Vec<Reply>, tools: &ToolServer) -> (Ended, ModelServer) {
    let model = ModelServer::start(replies).await;
    let mut variables = model.variables(&tools.url);
    variables.push(("AUTONOUS_MODEL_PROVIDER", "anthropic"));
    let ended = Worker::start(&variables).run(&task("what is here?")).await;
    (ended, model)
}

#[tokio::test]
async fn a_task_with_two_calls_in_one_message_gets_its_answer() {
    let tools = ToolServer::start([]).await;
    let two = calls(&[("ls", r#"{"path": "."}"#), ("bash", "")], "tool_use");
    let (ended, model) = run(vec![two, says("a.txt")], &tools).await;

    assert_eq!(ended.reply(), "a.txt");
    let bodies: Vec<_> = tools.calls().iter().map(|call| (call.name.clone(), call.body.clone())).collect();
    assert_eq!(bodies, [("ls".into(), r#"{"path": "."}"#.into()), ("bash".into(), "{}".into())]);
    let (_, turn) = ended.of::<TurnCompleted>()[0];
    assert_eq!((turn.input_tokens, turn.cached_input_tokens, turn.output_tokens), (100, 80, 20));

    let mut messages = model.requests()[1]["messages"].clone();
    for result in messages[2]["content"].as_array_mut().unwrap() {
        result["content"] = json!(agent_worker::untrusted::unmarked(result["content"].as_str().unwrap()));
    }
    let result = |id: &str| json!({"type": "tool_result", "tool_use_id": id, "content": "exit 0\na.txt"});
    let mut last = result("toolu_2");
    last["cache_control"] = json!({"type": "ephemeral"});
    assert_eq!(messages[1]["role"], "assistant");
    assert_eq!(
        messages[1]["content"][2],
        json!({"type": "tool_use", "id": "toolu_2", "name": "bash", "input": {}})
    );
    assert_eq!(messages[2], json!({"role": "user", "content": [result("toolu_1"), last]}));
}

#[tokio::test]
async fn a_request_is_what_the_protocol_asks_for() {
    let tools = ToolServer::start([]).await;
    let (_, model) = run(vec![says("hi")], &tools).await;
    let (request, headers) = (&model.requests()[0], &model.headers()[0]);
    assert!(headers["x-api-key"] == KEY && headers["anthropic-version"] == "2023-06-01", "{headers:?}");
    assert!(headers.get("authorization").is_none());
    assert_eq!((&request["model"], &request["stream"]), (&json!("played"), &json!(true)));
    assert!(request["max_tokens"].as_u64() > Some(1000));
    assert_eq!(request["tools"][1]["name"], "ls");
    assert!(request["tools"][1]["input_schema"].is_object());
    assert_eq!(request["system"][0]["cache_control"]["type"], "ephemeral");
}

#[tokio::test]
async fn a_provider_that_is_overloaded_or_breaks_off_is_asked_again() {
    let tools = ToolServer::start([]).await;
    let overloaded = json!({"type": "overloaded_error", "message": "Overloaded"});
    let in_stream = events(&[begins(), json!({"type": "error", "error": overloaded})], End::Close);
    let torn = events(&[vec![begins()], text_block("half")].concat(), End::Close);
    let (ended, model) = run(
        vec![Reply::Refused(529, overloaded), Reply::Stream(in_stream), Reply::Stream(torn), says("done")],
        &tools,
    )
    .await;
    assert_eq!((ended.reply(), model.requests().len()), ("done", 4));
}

#[tokio::test]
async fn a_conversation_that_is_too_long_fails_for_good() {
    let tools = ToolServer::start([]).await;
    let error =
        json!({"type": "invalid_request_error", "message": "prompt is too long: 9 tokens > 8 maximum"});
    let (ended, model) = run(vec![Reply::Refused(400, error)], &tools).await;
    let Outcome::Failed { error, retryable, .. } = &ended.outcome else { panic!("{:?}", ended.outcome) };
    assert!(error.starts_with("The conversation is too long for the model") && !retryable, "{error}");
    assert_eq!(model.requests().len(), 1);
}

#[tokio::test]
async fn a_message_that_was_cut_runs_no_call() {
    let tools = ToolServer::start([]).await;
    let (ended, _) = run(vec![calls(&[("ls", "{\"pa")], "max_tokens"), says("shorter")], &tools).await;
    assert_eq!((ended.reply(), tools.calls().len()), ("shorter", 0));
}

#[tokio::test]
async fn a_stream_that_stalls_is_noticed() {
    let half = events(&[vec![begins()], text_block("half")].concat(), End::Hang);
    let server = ModelServer::start([Reply::Stream(half)]).await;
    let timeouts = Timeouts { first_byte: Duration::from_secs(10), idle: Duration::from_millis(200) };
    let (base_url, key) = (server.base_url.parse().unwrap(), Some(Secret::from(KEY)));
    let provider = Anthropic::new(Settings { base_url, key, model: "m".into(), timeouts }).unwrap();
    let messages = [Message::User("hi".into())];
    let end = soon(provider.reply(Request { system: "", messages: &messages, tools: &[] })).await;
    assert_eq!(end.unwrap_err().class, ModelErrorClass::Stalled);
}
