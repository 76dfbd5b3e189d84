//! A model, played: OpenAI's chat completions, with answers that the test scripts.
//!
//! The server computes nothing of its own. A test that wants a thoughtful model gives a closure, which
//! sees exactly what was sent and nothing else.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::serving::serve;

/// The key that the played provider accepts.
pub const KEY: &str = "sk-FAKE-key-of-a-played-model";

/// What the model answers to one request.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelReply {
    /// A final text.
    Text(String),
    /// Tool calls: name, and the arguments as the raw text that the model made.
    Calls(Vec<(String, String)>),
    /// Tool calls in a reply that ended at the length limit.
    CutCalls(Vec<(String, String)>),
    /// 429 with `Retry-After` in seconds.
    RateLimited(u64),
    /// 500.
    Broken,
}

impl ModelReply {
    /// One tool call with these arguments.
    pub fn call(tool: &str, arguments: &Value) -> Self {
        Self::Calls(vec![(tool.to_owned(), arguments.to_string())])
    }
}

type Script = Box<dyn FnMut(&Value) -> ModelReply + Send>;

struct Played {
    script: Mutex<Script>,
    requests: Mutex<Vec<Value>>,
}

/// A running model server.
pub struct ModelServer {
    played: Arc<Played>,
    address: SocketAddr,
    runtime: Option<Runtime>,
}

impl ModelServer {
    /// A model that answers each request as `script` says, given the request's body. The script may
    /// block: then the model thinks.
    pub fn start(script: impl FnMut(&Value) -> ModelReply + Send + 'static) -> Self {
        let played = Arc::new(Played { script: Mutex::new(Box::new(script)), requests: Mutex::default() });
        let router =
            Router::new().route("/v1/chat/completions", post(complete)).with_state(Arc::clone(&played));
        let (address, runtime) = serve(SocketAddr::from(([127, 0, 0, 1], 0)), router);
        Self { played, address, runtime: Some(runtime) }
    }

    /// A model that gives these answers in turn, and the last one for ever.
    pub fn answering(replies: Vec<ModelReply>) -> Self {
        let mut left = replies.into_iter();
        let mut last = ModelReply::Broken;
        Self::start(move |_| {
            last = left.next().unwrap_or_else(|| last.clone());
            last.clone()
        })
    }

    /// The variables that lead a system to this model.
    pub fn variables(&self) -> [(&'static str, String); 4] {
        [
            ("AUTONOUS_MODEL_PROVIDER", "openai".to_owned()),
            ("AUTONOUS_MODEL_NAME", "played-1".to_owned()),
            ("AUTONOUS_MODEL_BASE_URL", format!("http://{}/v1", self.address)),
            ("AUTONOUS_MODEL_API_KEY", KEY.to_owned()),
        ]
    }

    /// The bodies of all requests so far.
    pub fn requests(&self) -> Vec<Value> {
        self.played.requests.lock().expect("nobody panics with it").clone()
    }

    /// Drops what was recorded: in a long test it would not fit into memory.
    pub fn forget_requests(&self) {
        self.played.requests.lock().expect("nobody panics with it").clear();
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

async fn complete(
    State(played): State<Arc<Played>>,
    headers: axum::http::HeaderMap,
    axum::Json(request): axum::Json<Value>,
) -> Response {
    let key = headers.get("authorization").and_then(|value| value.to_str().ok());
    if key != Some(&format!("Bearer {KEY}")) {
        return failure(StatusCode::UNAUTHORIZED, "invalid_api_key", "Incorrect API key provided");
    }
    played.requests.lock().expect("nobody panics with it").push(request.clone());
    let thinking = tokio::task::spawn_blocking(move || {
        let reply = (played.script.lock().expect("no script panics"))(&request);
        answer(&request, reply)
    });
    thinking.await.expect("no script panics")
}

fn answer(request: &Value, reply: ModelReply) -> Response {
    match reply {
        ModelReply::Text(text) => completion(request, &json!({"role": "assistant", "content": text}), "stop"),
        ModelReply::Calls(calls) => completion(request, &calling(&calls), "tool_calls"),
        ModelReply::CutCalls(calls) => completion(request, &calling(&calls), "length"),
        ModelReply::RateLimited(seconds) => {
            let refusal = failure(StatusCode::TOO_MANY_REQUESTS, "rate_limit_exceeded", "Rate limit reached");
            ([("retry-after", seconds.to_string())], refusal).into_response()
        }
        ModelReply::Broken => failure(StatusCode::INTERNAL_SERVER_ERROR, "server_error", "The server failed"),
    }
}

fn calling(calls: &[(String, String)]) -> Value {
    let calls: Vec<Value> = calls
        .iter()
        .enumerate()
        .map(|(index, (name, arguments))| {
            let id = format!("call_{}_{index}", protocol::now_ms());
            json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
        })
        .collect();
    json!({"role": "assistant", "content": null, "tool_calls": calls})
}

/// A token is taken to be four bytes, so that the counts grow as real ones do.
fn completion(request: &Value, message: &Value, finish_reason: &str) -> Response {
    let (sent, made) = (request.to_string().len() / 4, message.to_string().len() / 4);
    axum::Json(json!({
        "id": "chatcmpl-played",
        "object": "chat.completion",
        "created": protocol::now_ms() / 1000,
        "model": request["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": finish_reason, "logprobs": null}],
        "usage": {"prompt_tokens": sent, "completion_tokens": made, "total_tokens": sent + made},
    }))
    .into_response()
}

fn failure(status: StatusCode, code: &str, message: &str) -> Response {
    let error = json!({"error": {"message": message, "type": code, "param": null, "code": code}});
    (status, axum::Json(error)).into_response()
}
