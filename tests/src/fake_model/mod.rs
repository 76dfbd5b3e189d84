//! A fake model server with scripted replies: OpenAI's chat completions and responses, Anthropic's messages,
//! and Gemini's content, by route.
//!
//! A script is a list of replies, or a closure that sees exactly what was sent. Replies are streamed if the
//! request asks for it. A model that thinks wants its reasoning
//! back by the rules of its [`House`], and refuses a request that breaks them as the real one does.

mod azure;
mod chat;
mod content;
mod memory;
mod messages;
mod responses;
mod stream;

use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use axum::Router;
use axum::extract::State;
use axum::http::header::RETRY_AFTER;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde_json::{Value, json};

use crate::serving::Serving;

use memory::{Memory, Refusal};
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
    /// A reply after this thought.
    Thinking(String, Box<ModelReply>),
}

/// Whose rules for reasoning hold, where a protocol has several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum House {
    /// Thoughts in `reasoning`, which need not come back: vLLM, Groq.
    Lenient,
    /// `reasoning_content` with every call, even an empty one.
    DeepSeek,
    /// `reasoning_content` never: DeepSeek's first thinking model.
    DeepSeekR1,
    /// `reasoning_details` unchanged.
    OpenRouter,
    /// A signature with the first call of each step. In Google's own protocol, calls have IDs.
    Google,
    /// No tools but with `reasoning_effort: none`.
    OpenAi,
    /// OpenAI's models that do not reason, and refuse to encrypt it.
    Unreasoning,
}

impl ModelReply {
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
            Self::Thinking(_, reply) => reply.said(),
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
    house: House,
    /// The model that was asked.
    model: String,
    /// The number of the request, which makes the IDs of its calls unique.
    number: usize,
}

struct Dialect {
    whole: fn(&Said) -> Value,
    events: fn(&Said) -> Vec<Value>,
    end: &'static str,
    /// Refuses what the real server refuses.
    check: fn(&Value, &Memory) -> Result<(), Refusal>,
}

type Script = Box<dyn FnMut(&Value) -> ModelReply + Send>;

struct Shared {
    script: Mutex<Script>,
    requests: Mutex<Vec<(HeaderMap, Value)>>,
    usage: Option<Usage>,
    memory: Mutex<Memory>,
    /// How many parameters its list of models says it has.
    parameters: OnceLock<u64>,
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
        let usage = self.usage.unwrap_or_else(|| Usage::estimated(request, &reply));
        let model = request["model"].as_str().unwrap_or_default();
        let said = self.memory.lock().expect("no check panics").saying(&reply, usage, model, number);
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
        Self::start_with(Box::new(script), None, House::Lenient)
    }

    /// The same with the rules of a house.
    pub fn start_as(house: House, script: impl FnMut(&Value) -> ModelReply + Send + 'static) -> Self {
        Self::start_with(Box::new(script), None, house)
    }

    /// A model that gives these replies in turn, and repeats the last one.
    pub fn answering(replies: Vec<ModelReply>) -> Self {
        Self::start_with(in_turn(replies), None, House::Lenient)
    }

    pub fn answering_as(house: House, replies: Vec<ModelReply>) -> Self {
        Self::start_with(in_turn(replies), None, house)
    }

    pub fn answering_for(usage: Usage, replies: Vec<ModelReply>) -> Self {
        Self::start_with(in_turn(replies), Some(usage), House::Lenient)
    }

    fn start_with(script: Script, usage: Option<Usage>, house: House) -> Self {
        let (script, memory) = (Mutex::new(script), Mutex::new(Memory::new(house)));
        let (requests, parameters) = (Mutex::default(), OnceLock::new());
        let shared = Arc::new(Shared { script, requests, usage, memory, parameters });
        let chat = post(|state, headers, body| reply(state, headers, body, &chat::DIALECT));
        let messages = post(|state, headers, body| reply(state, headers, body, &messages::DIALECT));
        let responses = post(|state, headers, body| reply(state, headers, body, &responses::DIALECT));
        let router = Router::new()
            .route("/v1/responses", responses)
            .route("/v1/models/{call}", post(content::generate))
            .route("/v1/chat/completions", chat)
            .route("/v1/messages", messages)
            .route("/v1/models", get(models))
            .route("/openai/models", get(azure::models))
            .route("/openai/deployments/{deployment}/chat/completions", post(azure::reply))
            .with_state(Arc::clone(&shared));
        Self { shared, serving: Serving::start(router) }
    }

    /// Says in its list of models how many parameters it has, as llama.cpp does.
    pub fn say_parameters(&self, number: u64) {
        self.shared.parameters.get_or_init(|| number);
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
async fn models(State(shared): State<Arc<Shared>>, headers: HeaderMap) -> Response {
    if !has_the_key(&headers) {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    if headers.contains_key("x-goog-api-key") {
        return axum::Json(json!({"models": [{"name": format!("models/{NAME}")}]})).into_response();
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
    let number = shared.record(headers, &request);
    if let Err(refusal) = (dialect.check)(&request, &shared.memory.lock().expect("no check panics")) {
        return refusal.into_response();
    }
    let thinking = tokio::task::spawn_blocking(move || shared.think(&request, number));
    let (reply, said) = thinking.await.expect("no script panics");
    let reply = match reply {
        ModelReply::Thinking(_, reply) => *reply,
        reply => reply,
    };
    answer(&reply, &said, dialect, is_streamed).await
}

/// A reply in the words of a protocol, or the fault that stands for it.
async fn answer(reply: &ModelReply, said: &Said, dialect: &Dialect, is_streamed: bool) -> Response {
    match reply {
        ModelReply::Text(_)
        | ModelReply::Calls(_)
        | ModelReply::TextAndCalls(..)
        | ModelReply::CutCalls(_) => match is_streamed {
            true => Stream::of(dialect, said).into_response(),
            false => axum::Json((dialect.whole)(said)).into_response(),
        },
        ModelReply::Whole(body) => axum::Json(body).into_response(),
        ModelReply::Stalled(_) => Stream::of(dialect, said).stalled().into_response(),
        ModelReply::RateLimited(seconds) => {
            let refusal = failure(StatusCode::TOO_MANY_REQUESTS, "rate_limit_exceeded", "Rate limit reached");
            ([(RETRY_AFTER, seconds.to_string())], refusal).into_response()
        }
        ModelReply::Refused(status, error) => {
            let status = StatusCode::from_u16(*status).expect("the test names a status");
            (status, [(RETRY_AFTER, "0")], axum::Json(json!({"error": error}))).into_response()
        }
        ModelReply::Broken => failure(StatusCode::INTERNAL_SERVER_ERROR, "server_error", "The server failed"),
        ModelReply::Silent | ModelReply::Thinking(..) => std::future::pending().await,
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

    /// What proves a thought to be this model's own, in characters of base64.
    fn signature(&self, index: usize) -> String {
        format!("signature+of/{}/{}/{index}==", self.model, self.number)
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
