//! A fake model server with scripted replies: OpenAI's chat completions and Anthropic's messages, by route.
//!
//! A script is a list of replies, or a closure that sees exactly what was sent. Replies are streamed if the
//! request asks for it, and streams can break in all the usual ways.

mod azure;
mod chat;
mod messages;
mod stream;

use std::sync::{Arc, Mutex, MutexGuard};

use axum::Router;
use axum::extract::State;
use axum::http::header::RETRY_AFTER;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde_json::{Value, json};

use crate::serving::Serving;

pub use chat::chunk;
pub use stream::{End, Stream};

pub const KEY: &str = "sk-FAKE-key-of-a-fake-model";

pub const NAME: &str = "fake-1";

#[derive(Debug, Clone, PartialEq)]
pub enum ModelReply {
    Text(String),
    /// Tool calls: the name, and the arguments as raw text.
    Calls(Vec<(String, String)>),
    TextAndCalls(String, Vec<(String, String)>),
    /// Tool calls in a reply that was cut at its length limit.
    CutCalls(Vec<(String, String)>),
    /// 429 with `Retry-After` in seconds.
    RateLimited(u64),
    /// This status and error object, with `Retry-After: 0`.
    Refused(u16, Value),
    /// 500.
    Broken,
    /// This text in one body, even if a stream was requested.
    Unstreamed(String),
    /// This body, even if a stream was requested.
    Whole(Value),
    /// A stream of this text that fails before its end.
    Faulty(String, StreamFault),
    Stream(Stream),
    Silent,
}

impl ModelReply {
    pub fn call(tool: &str, arguments: &Value) -> Self {
        Self::Calls(vec![(tool.to_owned(), arguments.to_string())])
    }

    /// Its text, its calls, and whether it was cut.
    fn said(&self) -> (&str, &[(String, String)], bool) {
        match self {
            Self::Text(text) | Self::Unstreamed(text) | Self::Faulty(text, _) => (text, &[], false),
            Self::Calls(calls) => ("", calls, false),
            Self::CutCalls(calls) => ("", calls, true),
            Self::TextAndCalls(text, calls) => (text, calls, false),
            Self::RateLimited(_)
            | Self::Refused(..)
            | Self::Broken
            | Self::Whole(_)
            | Self::Stream(_)
            | Self::Silent => ("", &[], false),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamFault {
    /// It ends early, but the connection closes normally.
    Torn,
    Broken,
    Stalled,
    /// One of its events is not JSON.
    Malformed,
    /// One of its events is the error `overloaded_error`.
    Overloaded,
}

/// The reported cost of a reply, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// All input, cached or not.
    pub input: usize,
    pub cached: usize,
    pub output: usize,
}

/// A reply, independent of the protocol.
struct Said<'a> {
    text: &'a str,
    calls: &'a [(String, String)],
    is_cut: bool,
    usage: Usage,
    /// The number of the request, which makes the IDs of its calls unique.
    number: usize,
}

struct Dialect {
    whole: fn(&Said<'_>) -> Value,
    events: fn(&Said<'_>) -> Vec<Value>,
    end: &'static str,
}

type Script = Box<dyn FnMut(&Value) -> ModelReply + Send>;

struct Shared {
    script: Mutex<Script>,
    requests: Mutex<Vec<(HeaderMap, Value)>>,
    usage: Option<Usage>,
}

pub struct FakeModel {
    shared: Arc<Shared>,
    serving: Serving,
}

impl FakeModel {
    /// A model that answers each request with what `script` returns for the request's body. The script may
    /// block while the model "thinks".
    pub fn start(script: impl FnMut(&Value) -> ModelReply + Send + 'static) -> Self {
        Self::start_with(Box::new(script), None)
    }

    /// A model that gives these replies in turn, and repeats the last one.
    pub fn answering(replies: Vec<ModelReply>) -> Self {
        Self::start_with(in_turn(replies), None)
    }

    pub fn answering_for(usage: Usage, replies: Vec<ModelReply>) -> Self {
        Self::start_with(in_turn(replies), Some(usage))
    }

    fn start_with(script: Script, usage: Option<Usage>) -> Self {
        let shared = Arc::new(Shared { script: Mutex::new(script), requests: Mutex::default(), usage });
        let chat = post(|state, headers, body| reply(state, headers, body, &chat::DIALECT));
        let messages = post(|state, headers, body| reply(state, headers, body, &messages::DIALECT));
        let router = Router::new()
            .route("/v1/chat/completions", chat)
            .route("/v1/messages", messages)
            .route("/v1/models", get(models))
            .route("/openai/models", get(azure::models))
            .route("/openai/deployments/{deployment}/chat/completions", post(azure::reply))
            .with_state(Arc::clone(&shared));
        Self { shared, serving: Serving::start(router) }
    }

    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.serving.address)
    }

    /// The address of a deployment, as Azure has it.
    pub fn azure_url(&self) -> String {
        format!(
            "http://{}/openai/deployments/{NAME}?api-version={}",
            self.serving.address,
            azure::API_VERSION
        )
    }

    pub fn variables(&self) -> [(&'static str, String); 4] {
        [
            ("AUTONOUS_MODEL_PROVIDER", "openai".to_owned()),
            ("AUTONOUS_MODEL_NAME", NAME.to_owned()),
            ("AUTONOUS_MODEL_BASE_URL", self.base_url()),
            ("AUTONOUS_MODEL_API_KEY", KEY.to_owned()),
        ]
    }

    pub fn requests(&self) -> Vec<Value> {
        self.recorded().iter().map(|(_, body)| body.clone()).collect()
    }

    pub fn headers(&self) -> Vec<HeaderMap> {
        self.recorded().iter().map(|(headers, _)| headers.clone()).collect()
    }

    /// Drops the recorded requests, which would fill the memory in a long test.
    pub fn forget_requests(&self) {
        self.recorded().clear();
    }

    fn recorded(&self) -> MutexGuard<'_, Vec<(HeaderMap, Value)>> {
        self.shared.requests.lock().expect("nobody panics with it")
    }
}

fn in_turn(replies: Vec<ModelReply>) -> Script {
    let mut left = replies.into_iter();
    let mut last = ModelReply::Broken;
    Box::new(move |_| {
        last = left.next().unwrap_or_else(|| last.clone());
        last.clone()
    })
}

/// The list of models; not recorded as a request.
async fn models(headers: HeaderMap) -> Response {
    if !has_the_key(&headers) {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    axum::Json(json!({"object": "list", "data": [{"id": NAME, "object": "model"}]})).into_response()
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
    reply_to(shared, headers, request, dialect).await
}

async fn reply_to(
    shared: Arc<Shared>,
    headers: HeaderMap,
    request: Value,
    dialect: &'static Dialect,
) -> Response {
    let is_streamed = request["stream"] == true;
    let number = {
        let mut requests = shared.requests.lock().expect("nobody panics with it");
        requests.push((headers, request.clone()));
        requests.len()
    };
    let thinking = tokio::task::spawn_blocking(move || {
        let reply = (shared.script.lock().expect("no script panics"))(&request);
        let usage = shared.usage.unwrap_or_else(|| Usage::estimated(&request, &reply));
        (reply, usage)
    });
    let (reply, usage) = thinking.await.expect("no script panics");
    let (text, calls, is_cut) = reply.said();
    let said = Said { text, calls, is_cut, usage, number };
    match &reply {
        ModelReply::Text(_)
        | ModelReply::Calls(_)
        | ModelReply::TextAndCalls(..)
        | ModelReply::CutCalls(_)
            if is_streamed =>
        {
            Stream::of(dialect, &said).into_response()
        }
        ModelReply::Text(_)
        | ModelReply::Calls(_)
        | ModelReply::TextAndCalls(..)
        | ModelReply::CutCalls(_)
        | ModelReply::Unstreamed(_) => axum::Json((dialect.whole)(&said)).into_response(),
        ModelReply::Whole(body) => axum::Json(body).into_response(),
        ModelReply::Faulty(_, fault) => Stream::of(dialect, &said).broken_by(*fault).into_response(),
        ModelReply::Stream(stream) => stream.clone().into_response(),
        ModelReply::RateLimited(seconds) => {
            let refusal = failure(StatusCode::TOO_MANY_REQUESTS, "rate_limit_exceeded", "Rate limit reached");
            ([(RETRY_AFTER, seconds.to_string())], refusal).into_response()
        }
        ModelReply::Refused(status, error) => {
            let status = StatusCode::from_u16(*status).expect("the test names a status");
            (status, [(RETRY_AFTER, "0")], axum::Json(json!({"error": error}))).into_response()
        }
        ModelReply::Broken => failure(StatusCode::INTERNAL_SERVER_ERROR, "server_error", "The server failed"),
        ModelReply::Silent => std::future::pending().await,
    }
}

impl Usage {
    /// Counts a token for every four bytes, so that counts grow as real ones do.
    fn estimated(request: &Value, reply: &ModelReply) -> Self {
        let (text, calls, _) = reply.said();
        let written: usize = calls.iter().map(|(name, arguments)| name.len() + arguments.len()).sum();
        Self { input: request.to_string().len() / 4, cached: 0, output: (text.len() + written) / 4 }
    }
}

impl Said<'_> {
    fn end(&self, [cut, with_calls, done]: [&'static str; 3]) -> &'static str {
        match (self.is_cut, self.calls.is_empty()) {
            (true, _) => cut,
            (false, false) => with_calls,
            (false, true) => done,
        }
    }

    fn call_id(&self, index: usize) -> String {
        format!("call_{}_{index}", self.number)
    }
}

fn pieces(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    characters.chunks(12).map(|piece| piece.iter().collect()).collect()
}

fn failure(status: StatusCode, code: &str, message: &str) -> Response {
    let error = json!({"error": {"message": message, "type": code, "param": null, "code": code}});
    (status, axum::Json(error)).into_response()
}
