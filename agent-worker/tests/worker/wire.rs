//! The wire of each provider: what its server is sent, and what each of its replies means. The cases are
//! data, one file for each provider in `tests/data/wire/`.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use agent_worker::model::endpoint::{Options, Settings, Timeouts};
use agent_worker::model::{
    Image, Message, Model as _, ModelError, ModelErrorClass, ModelServer, Picture, Reply, ReplySchema,
    Request, ToolCall, providers,
};
use harness::{FakeModel, ModelReply, fake_model, wait};
use process::Secret;
use protocol::ToolSpec;
use serde::Deserialize;
use serde_json::{Value, json};
use settings::Provider;
use settings::choices::Effort;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::{model, refuses, says};

const KEY: &str = "sk-a-key";

/// A server that begins in time may not fall silent for long.
const TIMEOUTS: Timeouts = Timeouts { first_byte: Duration::from_secs(3), idle: Duration::from_millis(200) };

/// More than a reply may have.
const LONG: usize = 2 * 1024 * 1024 + 1;

/// A file of cases.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cases {
    path: String,
    /// What the head of a request has.
    head: Vec<String>,
    requests: Vec<RequestCase>,
    replies: Vec<ReplyCase>,
}

/// What a model is sent of a conversation with everything that one can have, or of a short one.
#[derive(Deserialize)]
struct RequestCase {
    model: String,
    has_everything: bool,
    body: Value,
}

/// What a server answers, and what that means.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReplyCase {
    about: String,
    /// The events of a stream, or one body.
    #[serde(default)]
    events: Vec<Value>,
    #[serde(default)]
    body: Value,
    /// Whether the server then falls silent.
    #[serde(default)]
    hangs: bool,
    is: Value,
    /// The reply in the next request, where it is not only its text and its calls.
    #[serde(default)]
    goes_back: Value,
}

fn cases() -> impl Iterator<Item = (Provider, Cases)> {
    Provider::ALL.into_iter().map(|provider| {
        let path = format!("{}/tests/data/wire/{}.json", env!("CARGO_MANIFEST_DIR"), provider.name());
        let text = fs::read_to_string(Path::new(&path)).unwrap_or_else(|error| panic!("{path}: {error}"));
        let text = text.replace("{{long}}", &"a".repeat(LONG));
        (provider, serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}")))
    })
}

fn server(provider: Provider, base_url: &str, model: &str, options: Options) -> ModelServer {
    let settings = Settings::new(base_url.parse().unwrap(), Some(Secret::from(KEY)), model);
    providers::server(provider, Settings { timeouts: TIMEOUTS, options, ..settings }).unwrap()
}

fn call(id: &str, name: &str, arguments: &str) -> ToolCall {
    ToolCall { id: id.to_owned(), name: name.to_owned(), arguments: arguments.to_owned() }
}

fn result(call_id: &str, text: &str) -> Message {
    Message::ToolResult { call_id: call_id.to_owned(), text: text.to_owned() }
}

fn user(text: &str) -> Message {
    Message::User(text.to_owned())
}

/// A conversation that no protocol takes as it is: it begins with the model, has empty texts and messages
/// between calls and results, malformed arguments, the same ID twice, and the reasoning of another model.
fn everything() -> Vec<Message> {
    let picture = Picture { media_type: "image/png", base64: "AAAA".to_owned(), width: 2, height: 3 };
    let image = |name: &str, picture| Message::Image(Image { name: name.to_owned(), picture });
    let reasoning = json!({"origin": "m at elsewhere", "content": ["secret"], "bytes": 10});
    vec![
        Message::assistant("Hello.", Vec::new()),
        user(""),
        Message::assistant("", Vec::new()),
        user("a"),
        user("b"),
        image("a.png", Some(Arc::new(picture))),
        image("gone.png", None),
        Message::Assistant {
            text: "I look. ".to_owned(),
            calls: vec![call("call.1", "ls", "{ \"path\": \".\" }"), call("x", "ls", "{\"path\":")],
            reasoning: serde_json::from_value(reasoning).unwrap(),
        },
        user("and hurry"),
        result("call.1", "first"),
        result("x", ""),
        Message::assistant("", vec![call("call.1", "read", "{}")]),
        result("call.1", "second"),
    ]
}

fn options() -> Options {
    Options {
        max_output_tokens: Some(777),
        reasoning_effort: Some(Effort::High),
        temperature: Some(0.5),
        vision: true,
        ..Options::default()
    }
}

fn tool() -> ToolSpec {
    let path = json!({"type": "string", "description": "Where."});
    ToolSpec {
        name: "ls".to_owned(),
        description: "Lists.".to_owned(),
        details: String::new(),
        risk: protocol::Risk::Low,
        annotations: protocol::Annotations::READS,
        input_schema: json!({"type": "object", "properties": {"path": path}, "required": ["path"]}),
        essential: Vec::new(),
        output_schema: Value::Null,
    }
}

#[test]
fn a_conversation_is_written_as_each_provider_takes_it() {
    let schema = ReplySchema { name: "plan", schema: json!({"type": "object"}) };
    let short = [user("hi"), Message::assistant("", vec![call("a", "ls", "{}")]), result("a", "exit 0")];
    for (provider, Cases { requests, .. }) in cases() {
        for RequestCase { model, has_everything, body } in requests {
            let (tools, everything) = ([tool()], everything());
            let (request, options) = match has_everything {
                true => {
                    let (system, schema) = ("Be brief.", Some(&schema));
                    (Request { system, messages: &everything, tools: &tools, schema, words: None }, options())
                }
                false => (asking(&short), Options::default()),
            };
            let sent = server(provider, "http://h/v1", &model, options).body(request);
            assert_eq!(sent, body, "{}, {model}, {has_everything}: {sent}", provider.name());
        }
    }
}

/// A request with nothing but messages.
fn asking(messages: &[Message]) -> Request<'_> {
    Request { messages, ..Request::default() }
}

/// Serves one response and then closes, or hangs; returns the address and the request.
async fn serve(response: String, hangs: bool) -> (String, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
    let serving = tokio::spawn(async move {
        let (mut connection, _) = listener.accept().await.unwrap();
        let (mut request, mut buffer) = (Vec::new(), [0; 4096]);
        while !is_whole(&request) {
            let read = connection.read(&mut buffer).await.unwrap();
            request.extend_from_slice(&buffer[..read]);
        }
        connection.write_all(response.as_bytes()).await.unwrap();
        if hangs {
            std::future::pending::<()>().await;
        }
        String::from_utf8(request).unwrap()
    });
    (base_url, serving)
}

fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length =
        head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
    body.len() >= length.unwrap_or(0)
}

fn response(status: u16, kind: &str, body: &str) -> String {
    format!("HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\nconnection: close\r\n\r\n{body}")
}

async fn ask(provider: &ModelServer) -> Result<Reply, ModelError> {
    let messages = [user("go")];
    let reply = provider.reply(asking(&messages));
    tokio::time::timeout(wait::SOON, reply).await.expect("the provider gives up in time")
}

/// What came of a request, without its empty fields.
fn described(end: &Result<Reply, ModelError>) -> Value {
    let Reply { text, calls, cut, usage, .. } = match end {
        Ok(reply) => reply,
        Err(error) => {
            let mut described = json!({"error": format!("{}: {}", error.class.as_str(), error.detail)});
            if let Some(wait) = error.retry_after {
                described["wait_ms"] = json!(protocol::millis(wait));
            }
            return described;
        }
    };
    let calls = calls.iter().map(|call| json!([call.id, call.name, call.arguments]));
    let usage = [usage.input_tokens, usage.cached_input_tokens, usage.output_tokens];
    let all = [
        ("text", json!(text), !text.is_empty()),
        ("calls", calls.collect(), !end.as_ref().is_ok_and(|reply| reply.calls.is_empty())),
        ("cut", json!(true), *cut),
        ("usage", json!(usage), usage != [0, 0, 0]),
    ];
    all.into_iter().filter(|(_, _, is_set)| *is_set).map(|(name, value, _)| (name, value)).collect()
}

/// The messages with which a reply goes back, with a result for each of its calls.
fn next_messages(reply: Reply) -> Vec<Message> {
    let Reply { text, calls, reasoning, .. } = reply;
    let results: Vec<Message> = calls.iter().map(|call| result(&call.id, "exit 0")).collect();
    [user("go"), Message::Assistant { text, calls, reasoning }].into_iter().chain(results).collect()
}

async fn check(provider: Provider, case: ReplyCase) {
    let ReplyCase { about, events, body, hangs, is, goes_back } = case;
    let data = |event: &Value| match event.as_str() {
        Some(text) => format!("data: {text}\n\n"),
        None => format!("data: {event}\n\n"),
    };
    let response = match body.is_null() {
        true => response(200, "text/event-stream", &events.iter().map(data).collect::<String>()),
        false => response(200, "application/json", &body.to_string()),
    };
    let (base_url, _serving) = serve(response, hangs).await;
    let server = server(provider, &base_url, "m", Options::default());
    let end = ask(&server).await;
    let about = format!("{}: {about}", provider.name());
    assert_eq!(described(&end), is, "{about}");
    if let Ok(reply) = end {
        let has_reasoning = reply.reasoning.is_some();
        assert_eq!(has_reasoning, !goes_back.is_null(), "{about}");
        let messages = next_messages(reply);
        let mut sent = server.body(asking(&messages));
        let sent = ["messages", "input", "contents"].iter().find_map(|name| {
            sent[name].as_array().filter(|list| !list.is_empty())?;
            Some(sent[name].take())
        });
        assert!(!has_reasoning || sent.as_ref() == Some(&goes_back), "{about}: {}", sent.unwrap_or_default());
    }
}

#[tokio::test]
async fn a_reply_is_read_as_each_provider_writes_it_and_goes_back_to_it() {
    let mut running = tokio::task::JoinSet::new();
    for (provider, cases) in cases() {
        cases.replies.into_iter().for_each(|case| {
            running.spawn(check(provider, case));
        });
    }
    running.join_all().await;
}

#[tokio::test]
async fn a_request_goes_to_the_path_of_its_provider_with_the_key_in_its_header() {
    for (provider, cases) in cases() {
        let (base_url, serving) = serve(response(200, "text/html", "<html>"), false).await;
        let _ = ask(&server(provider, &base_url, "m", Options::default())).await;
        let request = serving.await.unwrap();
        assert!(request.starts_with(&format!("POST {} HTTP/1.1\r\n", cases.path)), "{request}");
        for line in cases.head {
            assert!(request.contains(&format!("\r\n{line}\r\n")), "{line}: {request}");
        }
    }
}

#[tokio::test]
async fn a_refusal_has_its_class_and_its_wait_and_never_the_key() {
    let path = format!("{}/tests/data/wire/refusals.json", env!("CARGO_MANIFEST_DIR"));
    let rows: Vec<(u16, Value, String, Option<u64>)> =
        serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    for (status, body, expected, wait_ms) in rows {
        let text = body.as_str().map_or_else(|| body.to_string(), str::to_owned);
        let (base_url, _serving) = serve(response(status, "application/json", &text), false).await;
        let error = ask(&server(Provider::Gemini, &base_url, "m", Options::default())).await.unwrap_err();
        let found = format!("{}: {}", error.class.as_str(), error.detail);
        assert_eq!(found, expected, "{status} {text}");
        assert_eq!(error.retry_after, wait_ms.map(Duration::from_millis), "{status} {text}");
    }
}

#[tokio::test]
async fn what_is_no_reply_is_invalid_and_one_that_breaks_off_is_a_fault_of_the_network() {
    let half = "data: {}\r\n\r\n";
    for (kind, text, expected) in [
        ("text/html", "<html><body>Welcome to the hotel</body></html>", ModelErrorClass::InvalidReply),
        ("application/json", "{\"choices\": [{", ModelErrorClass::InvalidReply),
        ("text/event-stream", "", ModelErrorClass::InvalidReply),
        ("text/event-stream", half, ModelErrorClass::Network),
        ("text/event-stream\r\ncontent-length: 999", half, ModelErrorClass::Network),
    ] {
        for provider in Provider::ALL {
            let (base_url, _serving) = serve(response(200, kind, text), false).await;
            let error = ask(&server(provider, &base_url, "m", Options::default())).await.unwrap_err();
            assert_eq!(error.class, expected, "{}, {text}: {error}", provider.name());
        }
    }
}

#[tokio::test]
async fn a_server_that_refuses_a_field_that_may_be_missing_is_asked_without_and_never_again_with() {
    let about = |param: &str| ModelReply::Refused(400, json!({"message": "not supported", "param": param}));
    for (provider, field, refusal) in [
        (Provider::OpenAi, "stream_options", refuses(400, "Unrecognized argument")),
        (Provider::OpenAiResponses, "include", about("include")),
    ] {
        let fake = model([refusal, says("a"), says("b")]);
        let server = asking_fake(provider, &fake);
        for expected in ["a", "b"] {
            assert_eq!(ask(&server).await.unwrap().text, expected);
        }
        let asked: Vec<bool> = fake.requests().iter().map(|request| !request[field].is_null()).collect();
        assert_eq!(asked, [true, false, false], "{field}");
    }
}

#[tokio::test]
async fn a_request_that_is_refused_either_way_keeps_its_first_refusal() {
    let fake = model([refuses(400, "first"), refuses(400, "second")]);
    let openai = asking_fake(Provider::OpenAi, &fake);
    let error = ask(&openai).await.unwrap_err();
    assert_eq!((error.class, error.detail.as_str()), (ModelErrorClass::BadRequest, "HTTP 400: first"));
}

#[tokio::test]
async fn calls_of_another_model_get_empty_reasoning_where_none_is_refused() {
    let fake = model([refuses(400, "first"), refuses(400, "second"), says("a")]);
    let openai = asking_fake(Provider::OpenAi, &fake);
    let messages = [user("hi"), Message::assistant("", vec![call("a", "ls", "{}")]), result("a", "exit 0")];
    assert_eq!(openai.reply(asking(&messages)).await.unwrap().text, "a");
    let sent: Vec<Value> = fake
        .requests()
        .into_iter()
        .map(|mut request| request["messages"][2]["reasoning_content"].take())
        .collect();
    assert_eq!(sent, [Value::Null, Value::Null, json!("")]);
}

#[tokio::test]
async fn a_model_that_takes_no_tools_here_says_which_provider_does() {
    let refused = json!({"message": "Function tools are not supported", "param": "reasoning_effort"});
    let fake = model([ModelReply::Refused(400, refused)]);
    let openai = asking_fake(Provider::OpenAi, &fake);
    let error = openai.reply(Request { tools: &[tool()], ..asking(&[user("hi")]) }).await.unwrap_err();
    assert!(error.detail.contains("AUTONOUS_MODEL_PROVIDER=openai-responses"), "{error}");
}

fn asking_fake(provider: Provider, fake: &FakeModel) -> ModelServer {
    let (base_url, key) = (fake.base_url().parse().unwrap(), Secret::from(fake_model::KEY));
    providers::server(provider, Settings::new(base_url, Some(key), "m")).unwrap()
}
