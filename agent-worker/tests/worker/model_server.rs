//! A played model: chat completions and messages from a list of replies. It records what it is asked.
//!
//! A completion goes out as a stream, the way it is asked for; what a server does wrong is written down
//! byte by byte by the test that is about it.

pub(crate) mod stream;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::Notify;

use stream::Stream;

/// The key that it is given.
pub(crate) const KEY: &str = "model-key";

/// One reply; the last of a list repeats.
#[derive(Debug, Clone)]
pub(crate) enum Reply {
    /// This chat completion, as chunks.
    Completion(Value),
    /// This body at once, although a stream was asked for.
    Whole(Value),
    /// These bytes.
    Stream(Stream),
    /// This status and error object, with `Retry-After: 0`.
    Refused(u16, Value),
    /// No answer at all.
    Silence,
}

/// The played model.
#[derive(Clone)]
pub(crate) struct ModelServer {
    pub(crate) base_url: String,
    played: Arc<Played>,
}

struct Played {
    replies: Mutex<VecDeque<Reply>>,
    requests: Mutex<Vec<Value>>,
    headers: Mutex<Vec<HeaderMap>>,
    asked: Notify,
}

impl ModelServer {
    pub(crate) async fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        let replies = Mutex::new(replies.into_iter().collect());
        let (requests, headers) = (Mutex::default(), Mutex::default());
        let played = Arc::new(Played { replies, requests, headers, asked: Notify::new() });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
        let routes = Router::new()
            .route("/v1/chat/completions", post(answer))
            .route("/v1/messages", post(answer))
            .with_state(Arc::clone(&played));
        tokio::spawn(async move { axum::serve(listener, routes).await });
        Self { base_url, played }
    }

    pub(crate) fn requests(&self) -> Vec<Value> {
        self.played.requests.lock().unwrap().clone()
    }

    /// The results of tools in the last request, in order, without the mark around what came from outside.
    pub(crate) fn tool_results(&self) -> Vec<String> {
        let request = self.requests().pop().unwrap();
        let messages = request["messages"].as_array().unwrap().clone();
        let results = messages.into_iter().filter(|message| message["role"] == "tool");
        results.map(|result| agent_worker::untrusted::unmarked(result["content"].as_str().unwrap())).collect()
    }

    pub(crate) fn headers(&self) -> Vec<HeaderMap> {
        self.played.headers.lock().unwrap().clone()
    }

    /// Resolves once it was asked.
    pub(crate) async fn asked(&self) {
        self.played.asked.notified().await;
    }

    /// The variables that point a worker at it and at a tool server.
    pub(crate) fn variables<'a>(&'a self, tool_url: &'a str) -> Vec<(&'a str, &'a str)> {
        vec![
            ("AUTONOUS_TOOL_URL", tool_url),
            ("AUTONOUS_TOOL_TOKEN", crate::tool_server::TOKEN),
            ("AUTONOUS_MODEL_PROVIDER", "openai"),
            ("AUTONOUS_MODEL_NAME", "played"),
            ("AUTONOUS_MODEL_BASE_URL", &self.base_url),
            ("AUTONOUS_MODEL_API_KEY", KEY),
        ]
    }
}

/// A reply that is an answer.
pub(crate) fn says(text: &str) -> Reply {
    completion(json!({"content": text}), "stop")
}

/// A reply that calls tools: names and raw arguments. The calls' ids count from `call_a`.
pub(crate) fn calls(calls: &[(&str, &str)]) -> Reply {
    completion(json!({"content": "let me look", "tool_calls": tool_calls(calls)}), "tool_calls")
}

/// The same, cut at the length limit.
pub(crate) fn calls_cut(calls: &[(&str, &str)]) -> Reply {
    completion(json!({"content": null, "tool_calls": tool_calls(calls)}), "length")
}

/// A refusal with this status and message.
pub(crate) fn refuses(status: u16, message: &str) -> Reply {
    Reply::Refused(status, json!({"message": message}))
}

fn tool_calls(calls: &[(&str, &str)]) -> Vec<Value> {
    let ids = ('a'..='z').map(|letter| format!("call_{letter}"));
    let call = |(id, (name, arguments)): (String, &(&str, &str))| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
    ids.zip(calls).map(call).collect()
}

fn completion(message: Value, finish_reason: &str) -> Reply {
    Reply::Completion(json!({
        "id": "chatcmpl-1", "object": "chat.completion", "model": "played",
        "choices": [{"index": 0, "message": message, "finish_reason": finish_reason}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120,
                  "prompt_tokens_details": {"cached_tokens": 60}},
    }))
}

async fn answer(
    State(played): State<Arc<Played>>,
    headers: HeaderMap,
    Json(request): Json<Value>,
) -> Response {
    let bearer = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let key = headers.get("x-api-key").and_then(|value| value.to_str().ok());
    assert!(bearer == Some(&*format!("Bearer {KEY}")) || key == Some(KEY), "{headers:?}");
    played.requests.lock().unwrap().push(request);
    played.headers.lock().unwrap().push(headers);
    played.asked.notify_one();
    let reply = {
        let mut replies = played.replies.lock().unwrap();
        if replies.len() > 1 { replies.pop_front() } else { replies.front().cloned() }
    };
    match reply.expect("a played model has a reply") {
        Reply::Completion(body) => stream::of_completion(&body).into_response(),
        Reply::Whole(body) => Json(body).into_response(),
        Reply::Stream(stream) => stream.into_response(),
        Reply::Refused(status, error) => {
            let status = StatusCode::from_u16(status).unwrap();
            (status, [(header::RETRY_AFTER, "0")], Json(json!({"error": error}))).into_response()
        }
        Reply::Silence => std::future::pending().await,
    }
}
