//! A model, shared: OpenAI's chat completions and Anthropic's messages, with answers that the test
//! scripts. Which of the two is spoken depends on the route alone.
//!
//! The server computes nothing of its own. A test that wants a thoughtful model gives a closure, which
//! sees exactly what was sent and nothing else. Where a stream is asked for, there is one, and it can
//! break in every way that streams break.

mod chat;
mod messages;
mod stream;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::serving::serve;

/// The key that the shared provider accepts.
pub const KEY: &str = "sk-FAKE-key-of-a-fake-model";

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
    /// This text in one body, although a stream was asked for.
    Unstreamed(String),
    /// A stream of this text that goes wrong before its end.
    Faulty(String, StreamFault),
}

impl ModelReply {
    /// One tool call with these arguments.
    pub fn call(tool: &str, arguments: &Value) -> Self {
        Self::Calls(vec![(tool.to_owned(), arguments.to_string())])
    }
}

/// What goes wrong with a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamFault {
    /// It ends as if it were whole, but without saying so.
    Torn,
    /// The connection breaks.
    Broken,
    /// It falls silent.
    Stalled,
    /// One of its events is no JSON.
    Malformed,
}

/// What the model says, in no protocol yet.
struct Said<'a> {
    text: &'a str,
    calls: &'a [(String, String)],
    is_cut: bool,
    /// A token is taken to be four bytes, so that the counts grow as real ones do.
    input_tokens: usize,
    output_tokens: usize,
}

/// One of the protocols.
struct Dialect {
    /// A reply in one body.
    whole: fn(&Said<'_>) -> Value,
    /// The same as the data of events.
    events: fn(&Said<'_>) -> Vec<Value>,
    /// What follows the last event.
    end: &'static str,
}

type Script = Box<dyn FnMut(&Value) -> ModelReply + Send>;

struct Shared {
    script: Mutex<Script>,
    requests: Mutex<Vec<Value>>,
}

/// A running model server.
pub struct FakeModel {
    shared: Arc<Shared>,
    address: SocketAddr,
    runtime: Option<Runtime>,
}

impl FakeModel {
    /// A model that answers each request as `script` says, given the request's body. The script may
    /// block: then the model thinks.
    pub fn start(script: impl FnMut(&Value) -> ModelReply + Send + 'static) -> Self {
        let shared = Arc::new(Shared { script: Mutex::new(Box::new(script)), requests: Mutex::default() });
        let router = Router::new()
            .route(
                "/v1/chat/completions",
                post(|state, headers, body| reply(state, headers, body, &chat::DIALECT)),
            )
            .route(
                "/v1/messages",
                post(|state, headers, body| reply(state, headers, body, &messages::DIALECT)),
            )
            .route("/v1/models", get(models))
            .with_state(Arc::clone(&shared));
        let (address, runtime) = serve(SocketAddr::from(([127, 0, 0, 1], 0)), router);
        Self { shared, address, runtime: Some(runtime) }
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

    /// The variables that lead a system to this model, over chat completions.
    pub fn variables(&self) -> [(&'static str, String); 4] {
        [
            ("AUTONOUS_MODEL_PROVIDER", "openai".to_owned()),
            ("AUTONOUS_MODEL_NAME", "fake-1".to_owned()),
            ("AUTONOUS_MODEL_BASE_URL", format!("http://{}/v1", self.address)),
            ("AUTONOUS_MODEL_API_KEY", KEY.to_owned()),
        ]
    }

    /// The bodies of all requests so far.
    pub fn requests(&self) -> Vec<Value> {
        self.shared.requests.lock().expect("nobody panics with it").clone()
    }

    /// Drops what was recorded: in a long test it would not fit into memory.
    pub fn forget_requests(&self) {
        self.shared.requests.lock().expect("nobody panics with it").clear();
    }
}

impl Drop for FakeModel {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// The list of models, which costs nothing and is not one of the requests.
async fn models(headers: HeaderMap) -> Response {
    if !has_the_key(&headers) {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    axum::Json(json!({"object": "list", "data": [{"id": "fake-1", "object": "model"}]})).into_response()
}

fn has_the_key(headers: &HeaderMap) -> bool {
    let header = |name| headers.get(name).and_then(|value| value.to_str().ok());
    header("authorization") == Some(&format!("Bearer {KEY}")) || header("x-api-key") == Some(KEY)
}

async fn reply(
    State(shared): State<Arc<Shared>>,
    headers: HeaderMap,
    axum::Json(request): axum::Json<Value>,
    dialect: &'static Dialect,
) -> Response {
    if !has_the_key(&headers) {
        return failure(StatusCode::UNAUTHORIZED, "invalid_api_key", "Incorrect API key provided");
    }
    shared.requests.lock().expect("nobody panics with it").push(request.clone());
    let thinking = tokio::task::spawn_blocking(move || {
        let reply = (shared.script.lock().expect("no script panics"))(&request);
        answer(&request, &reply, dialect)
    });
    thinking.await.expect("no script panics")
}

fn answer(request: &Value, reply: &ModelReply, dialect: &Dialect) -> Response {
    let said = |text, calls, is_cut| Said::in_answer_to(request, text, calls, is_cut);
    let spoken = |said: Said<'_>| match request["stream"] == true {
        true => stream::whole(dialect, &said),
        false => axum::Json((dialect.whole)(&said)).into_response(),
    };
    match reply {
        ModelReply::Text(text) => spoken(said(text, &[], false)),
        ModelReply::Calls(calls) => spoken(said("", calls, false)),
        ModelReply::CutCalls(calls) => spoken(said("", calls, true)),
        ModelReply::Unstreamed(text) => axum::Json((dialect.whole)(&said(text, &[], false))).into_response(),
        ModelReply::Faulty(text, fault) => stream::faulty(dialect, &said(text, &[], false), *fault),
        ModelReply::RateLimited(seconds) => {
            let refusal = failure(StatusCode::TOO_MANY_REQUESTS, "rate_limit_exceeded", "Rate limit reached");
            ([("retry-after", seconds.to_string())], refusal).into_response()
        }
        ModelReply::Broken => failure(StatusCode::INTERNAL_SERVER_ERROR, "server_error", "The server failed"),
    }
}

impl<'a> Said<'a> {
    fn in_answer_to(request: &Value, text: &'a str, calls: &'a [(String, String)], is_cut: bool) -> Self {
        let written: usize = calls.iter().map(|(name, arguments)| name.len() + arguments.len()).sum();
        let output_tokens = (text.len() + written) / 4;
        Self { text, calls, is_cut, input_tokens: request.to_string().len() / 4, output_tokens }
    }
}

/// An id that no other call has.
fn call_id(index: usize) -> String {
    format!("call_{}_{index}", protocol::now_ms())
}

/// A text in the pieces that a model writes it in.
fn pieces(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    characters.chunks(12).map(|piece| piece.iter().collect()).collect()
}

fn failure(status: StatusCode, code: &str, message: &str) -> Response {
    let error = json!({"error": {"message": message, "type": code, "param": null, "code": code}});
    (status, axum::Json(error)).into_response()
}
