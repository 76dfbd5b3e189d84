//! A fake model server with scripted replies: OpenAI's chat completions and responses, Anthropic's messages,
//! and Gemini's content, by route.
//!
//! A script is a list of replies, or a closure that sees exactly what was sent. Chat completions are streamed
//! if the request asks for it. What real servers take and how they stream is data of the worker's own tests.

mod azure;
mod chat;
mod others;
mod stream;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use axum::Router;
use axum::extract::State;
use axum::http::header::RETRY_AFTER;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::facts;
use crate::serving::{ANY_PORT, Serving};

use stream::Stream;

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
    /// This body, even if a stream was requested.
    Whole(Value),
    /// A stream of this text that stops in its middle.
    Stalled(String),
    Silent,
    /// A reply whose first half of events comes at once, and the rest once the test releases it.
    Held(Box<ModelReply>),
    /// A reply after this thought.
    Thinking(String, Box<ModelReply>),
}

impl ModelReply {
    /// The same reply, whose end the test releases.
    pub fn held(self) -> Self {
        Self::Held(Box::new(self))
    }

    pub fn text(text: &str) -> Self {
        Self::Text(text.to_owned())
    }

    pub fn call(tool: &str, arguments: &Value) -> Self {
        Self::Calls(vec![(tool.to_owned(), arguments.to_string())])
    }

    /// The same reply after a thought.
    pub fn after(self, thought: &str) -> Self {
        Self::Thinking(thought.to_owned(), Box::new(self))
    }

    fn thought(&self) -> Option<&str> {
        match self {
            Self::Thinking(thought, _) => Some(thought),
            _ => None,
        }
    }

    /// Its text, its calls, and whether it was cut.
    fn said(&self) -> (&str, &[(String, String)], bool) {
        match self {
            Self::Text(text) | Self::Stalled(text) => (text, &[], false),
            Self::Calls(calls) => ("", calls, false),
            Self::CutCalls(calls) => ("", calls, true),
            Self::TextAndCalls(text, calls) => (text, calls, false),
            Self::RateLimited(_) | Self::Refused(..) | Self::Broken | Self::Whole(_) | Self::Silent => {
                ("", &[], false)
            }
            Self::Thinking(_, reply) | Self::Held(reply) => reply.said(),
        }
    }
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
#[derive(Debug, Clone)]
struct Said {
    text: String,
    calls: Vec<(String, String)>,
    thought: Option<String>,
    is_cut: bool,
    usage: Usage,
    /// The number of the request, which makes the IDs of its calls unique.
    number: usize,
}

/// A reply as one body of another protocol than chat completions; none for these.
type Other = Option<fn(&Said) -> Value>;

type Script = Box<dyn FnMut(&Value) -> ModelReply + Send>;

struct Shared {
    script: Mutex<Script>,
    requests: Mutex<Vec<(HeaderMap, Value)>>,
    usage: Option<Usage>,
    /// How many parameters its list of models says it has.
    parameters: OnceLock<u64>,
    /// How many held replies may end.
    released: Arc<Semaphore>,
}

impl Shared {
    /// Records a request; returns its number.
    fn record(&self, headers: HeaderMap, request: &Value) -> usize {
        let mut requests = self.requests.lock().expect("nobody panics with it");
        requests.push((headers, request.clone()));
        requests.len()
    }

    /// Runs the script, which may block.
    fn think(&self, request: &Value, number: usize) -> (ModelReply, Said) {
        let reply = (self.script.lock().expect("no script panics"))(request);
        let (text, calls, is_cut) = reply.said();
        let said = Said {
            text: text.to_owned(),
            calls: calls.to_vec(),
            thought: reply.thought().map(str::to_owned),
            is_cut,
            usage: self.usage.unwrap_or_else(|| Usage::estimated(request, &reply)),
            number,
        };
        (reply, said)
    }
}

pub struct FakeModel {
    shared: Arc<Shared>,
    serving: Serving,
}

impl FakeModel {
    /// A model that answers each request with what `script` returns for the request's body. The script may
    /// block while the model "thinks".
    pub fn start(script: impl FnMut(&Value) -> ModelReply + Send + 'static) -> Self {
        Self::start_with(Box::new(script), None, ANY_PORT)
    }

    /// A model that gives these replies in turn, and repeats the last one.
    pub fn answering(replies: Vec<ModelReply>) -> Self {
        Self::start_with(in_turn(replies), None, ANY_PORT)
    }

    pub fn answering_for(usage: Usage, replies: Vec<ModelReply>) -> Self {
        Self::start_with(in_turn(replies), Some(usage), ANY_PORT)
    }

    /// A model that makes one call, and then says what it was told.
    pub fn telling(call: ModelReply) -> Self {
        Self::start(move |request| match results(request).pop() {
            Some(result) => ModelReply::Text(format!("I was told: {result}")),
            None => call.clone(),
        })
    }

    /// A model that starts late, at an address where others expect it.
    pub fn answering_at(address: SocketAddr, replies: Vec<ModelReply>) -> Self {
        Self::start_with(in_turn(replies), None, address)
    }

    fn start_with(script: Script, usage: Option<Usage>, address: SocketAddr) -> Self {
        let (script, requests, parameters) = (Mutex::new(script), Mutex::default(), OnceLock::new());
        let released = Arc::new(Semaphore::new(0));
        let shared = Arc::new(Shared { script, requests, usage, parameters, released });
        let with = |other: Other| post(move |state, headers, body| reply(state, headers, body, other));
        let router = Router::new()
            .route("/v1/responses", with(Some(others::response)))
            .route("/v1/models/{call}", with(Some(others::content)))
            .route("/v1/chat/completions", with(None))
            .route("/v1/messages", with(Some(others::message)))
            .route("/v1/models", get(models))
            .route("/openai/models", get(azure::models))
            .route("/openai/deployments/{deployment}/chat/completions", post(azure::reply))
            .with_state(Arc::clone(&shared));
        Self { shared, serving: Serving::start_at(address, router) }
    }

    /// Says in its list of models how many parameters it has, as llama.cpp does.
    pub fn say_parameters(&self, number: u64) {
        self.shared.parameters.get_or_init(|| number);
    }

    /// Lets a held reply go to its end: the one that is held, or the next one.
    pub fn release(&self) {
        self.shared.released.add_permits(1);
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
        Self::variables_for(self.serving.address)
    }

    /// The variables for a model at an address, whether it has started or not.
    pub fn variables_for(address: SocketAddr) -> [(&'static str, String); 4] {
        [
            ("AUTONOUS_MODEL_PROVIDER", "openai".to_owned()),
            ("AUTONOUS_MODEL_NAME", NAME.to_owned()),
            ("AUTONOUS_MODEL_BASE_URL", format!("http://{address}/v1")),
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

/// The names of the tools that a request offers.
pub fn offered(request: &Value) -> Vec<&str> {
    let tools = request["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
    tools.iter().filter_map(|tool| tool["function"]["name"].as_str()).collect()
}

/// What the calls of a conversation were answered, in order.
pub fn results(request: &Value) -> Vec<String> {
    let results = facts::messages(request).iter().filter(|message| message["role"] == "tool");
    results.map(|message| message["content"].as_str().unwrap_or_default().to_owned()).collect()
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
async fn models(State(shared): State<Arc<Shared>>, headers: HeaderMap) -> Response {
    if !has_the_key(&headers) {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    let mut model = json!({"id": NAME, "object": "model"});
    if let Some(parameters) = shared.parameters.get() {
        model["meta"] = json!({"n_params": parameters});
    }
    axum::Json(json!({"object": "list", "data": [model]})).into_response()
}

fn has_the_key(headers: &HeaderMap) -> bool {
    let header = |name| headers.get(name).and_then(|value| value.to_str().ok());
    header("authorization") == Some(&format!("Bearer {KEY}"))
        || ["x-api-key", "x-goog-api-key"].iter().any(|name| header(name) == Some(KEY))
}

async fn reply(
    State(shared): State<Arc<Shared>>,
    headers: HeaderMap,
    axum::Json(request): axum::Json<Value>,
    other: Other,
) -> Response {
    if !has_the_key(&headers) {
        return failure(StatusCode::UNAUTHORIZED, "invalid_api_key", "Incorrect API key provided");
    }
    reply_to(shared, headers, request, other).await
}

async fn reply_to(shared: Arc<Shared>, headers: HeaderMap, request: Value, other: Other) -> Response {
    let is_streamed = request["stream"] == true;
    let number = shared.record(headers, &request);
    let released = Arc::clone(&shared.released);
    let thinking = tokio::task::spawn_blocking(move || shared.think(&request, number));
    let (reply, said) = thinking.await.expect("no script panics");
    let reply = match reply {
        ModelReply::Thinking(_, reply) => *reply,
        ModelReply::Held(_) => return Stream::of(&said).held(&released).into_response(),
        reply => reply,
    };
    answer(&reply, &said, other, is_streamed).await
}

/// A reply in the words of a protocol, or the fault that stands for it.
async fn answer(reply: &ModelReply, said: &Said, other: Other, is_streamed: bool) -> Response {
    match reply {
        ModelReply::Text(_)
        | ModelReply::Calls(_)
        | ModelReply::TextAndCalls(..)
        | ModelReply::CutCalls(_) => match other {
            Some(whole) => axum::Json(whole(said)).into_response(),
            None if is_streamed => Stream::of(said).into_response(),
            None => axum::Json(chat::whole(said)).into_response(),
        },
        ModelReply::Whole(body) => axum::Json(body).into_response(),
        ModelReply::Stalled(_) => Stream::of(said).stalled().into_response(),
        ModelReply::RateLimited(seconds) => {
            let refusal = failure(StatusCode::TOO_MANY_REQUESTS, "rate_limit_exceeded", "Rate limit reached");
            ([(RETRY_AFTER, seconds.to_string())], refusal).into_response()
        }
        ModelReply::Refused(status, error) => {
            let status = StatusCode::from_u16(*status).expect("the test names a status");
            (status, [(RETRY_AFTER, "0")], axum::Json(json!({"error": error}))).into_response()
        }
        ModelReply::Broken => failure(StatusCode::INTERNAL_SERVER_ERROR, "server_error", "The server failed"),
        ModelReply::Silent | ModelReply::Thinking(..) | ModelReply::Held(_) => std::future::pending().await,
    }
}

impl Usage {
    /// Counts a token for every four bytes, so that counts grow as real ones do.
    fn estimated(request: &Value, reply: &ModelReply) -> Self {
        let (text, calls, _) = reply.said();
        let thought = reply.thought().unwrap_or_default();
        let written: usize = calls.iter().map(|(name, arguments)| name.len() + arguments.len()).sum();
        Self {
            input: request.to_string().len() / 4,
            cached: 0,
            output: (thought.len() + text.len() + written) / 4,
        }
    }
}

impl Said {
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
