//! A fake tool server: speaks the real protocol, records calls, and fails on request.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use protocol::{
    Annotations, Context, Data, Envelope, ErrorCode, EventId, Meta, Risk, Stats, Status, ToolError, ToolSpec,
};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::serving::{ANY_PORT, Serving};
use crate::wait;

pub const TOKEN: &str = "FAKE-tool-token";

const TOOLS: [&str; 2] = ["bash", "ls"];

#[derive(Debug, Clone)]
pub struct Call {
    pub name: String,
    pub headers: HeaderMap,
    pub body: String,
}

#[derive(Debug)]
pub enum ToolReply {
    /// This envelope, with `Retry-After`.
    Envelope(Box<Envelope>, Option<u64>),
    /// This status and a body that is not an envelope.
    NoEnvelope(u16),
    /// The usual answer, once this many calls have arrived.
    AfterCalls(usize),
    /// The usual answer; from now on the catalogue has this tag.
    NewTag(&'static str),
    Silent,
    Broken,
}

#[derive(Debug)]
pub struct FakeToolServer {
    shared: Arc<Shared>,
    serving: Serving,
}

#[derive(Debug, Default)]
struct Shared {
    replies: Mutex<VecDeque<ToolReply>>,
    calls: watch::Sender<Vec<Call>>,
    catalogue_statuses: Mutex<Vec<u16>>,
    tag: Mutex<Option<&'static str>>,
    abandoned: Mutex<usize>,
}

impl FakeToolServer {
    /// Answers the first calls with these replies, and all others with `a.txt`.
    pub fn start(replies: impl IntoIterator<Item = ToolReply>) -> Self {
        Self::start_at(ANY_PORT, replies)
    }

    pub fn start_at(address: SocketAddr, replies: impl IntoIterator<Item = ToolReply>) -> Self {
        let replies = Mutex::new(replies.into_iter().collect());
        let shared = Arc::new(Shared { replies, ..Shared::default() });
        let router = Router::new()
            .route("/tools", get(catalogue))
            .route("/tools/{name}", post(call))
            .layer(DefaultBodyLimit::disable())
            .with_state(Arc::clone(&shared));
        Self { shared, serving: Serving::start_at(address, router) }
    }

    pub fn variables(&self) -> [(&'static str, String); 2] {
        let url = format!("http://{}", self.serving.address);
        [("AUTONOUS_TOOL_URL", url), ("AUTONOUS_TOOL_TOKEN", TOKEN.to_owned())]
    }

    pub fn calls(&self) -> Vec<Call> {
        self.shared.calls.borrow().clone()
    }

    pub fn wait_for_calls(&self, count: usize) {
        wait::until_true(&format!("{count} calls have arrived"), || self.calls().len() >= count);
    }

    /// Waits until the caller of an unanswered call has disconnected.
    pub fn wait_until_abandoned(&self) {
        wait::until_true("the caller has disconnected", || {
            *self.shared.abandoned.lock().expect("nobody panics with it") > 0
        });
    }

    pub fn tag(&self, tag: &'static str) {
        self.shared.set_tag(tag);
    }

    pub fn catalogue_statuses(&self) -> Vec<u16> {
        self.shared.catalogue_statuses.lock().expect("nobody panics with it").clone()
    }
}

impl Shared {
    fn tag(&self) -> Option<&'static str> {
        *self.tag.lock().expect("nobody panics with it")
    }

    fn set_tag(&self, tag: &'static str) {
        *self.tag.lock().expect("nobody panics with it") = Some(tag);
    }
}

pub fn success(stdout: &str) -> Envelope {
    envelope(stdout, None)
}

pub fn failure(code: ErrorCode, message: &str) -> Envelope {
    envelope("", Some(ToolError::new(code, message)))
}

fn envelope(stdout: &str, error: Option<ToolError>) -> Envelope {
    Envelope {
        ok: error.is_none(),
        exit_code: error.as_ref().map_or(0, ToolError::exit_code),
        stdout: stdout.to_owned(),
        stderr: protocol::text_form::stderr_of(error.as_ref(), &[]),
        truncated_lines: false,
        truncated_bytes: false,
        next_page_cursor: None,
        meta: Meta {
            tool: "ls".to_owned(),
            call_id: EventId::new(),
            status: if error.is_none() { Status::Success } else { Status::Error },
            risk: Risk::Low,
            error,
            notices: Vec::new(),
            data: Data::default(),
            stats: Stats::default(),
            context: Context::default(),
            full_output: None,
            redacted: false,
            untrusted: false,
        },
    }
}

async fn catalogue(State(shared): State<Arc<Shared>>, headers: HeaderMap) -> Response {
    if let Some(refusal) = unauthorized(&headers) {
        return refusal;
    }
    let tag = shared.tag();
    let known = headers.get(header::IF_NONE_MATCH).map(HeaderValue::as_bytes);
    let mut response = match tag.is_some() && known == tag.map(str::as_bytes) {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => Json(json!({"tools": TOOLS.map(spec)})).into_response(),
    };
    let status = response.status().as_u16();
    shared.catalogue_statuses.lock().expect("nobody panics with it").push(status);
    if let Some(tag) = tag {
        response.headers_mut().insert(header::ETAG, HeaderValue::from_static(tag));
    }
    response
}

fn spec(name: &str) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: format!("Runs {name}."),
        details: String::new(),
        risk: Risk::Low,
        annotations: Annotations { read_only: name == "ls", ..Annotations::READS },
        input_schema: json!({"type": "object", "properties": {
            "path": {"type": "string"}, "recursive": {"type": "boolean"}, "limit": {"type": "integer"},
        }}),
        essential: Vec::new(),
        output_schema: json!({"type": "object"}),
    }
}

async fn call(
    State(shared): State<Arc<Shared>>,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: String,
) -> Response {
    if let Some(refusal) = unauthorized(&headers) {
        return refusal;
    }
    let reply = shared.replies.lock().expect("nobody panics with it").pop_front();
    let usual = answer(&usual_answer(&name, &body), None);
    shared.calls.send_modify(|calls| calls.push(Call { name, headers, body }));
    let mut response = match reply {
        None => usual,
        Some(ToolReply::Envelope(envelope, retry_after)) => answer(&envelope, retry_after),
        Some(ToolReply::NoEnvelope(status)) => {
            (StatusCode::from_u16(status).expect("the test names a status"), "<html>").into_response()
        }
        Some(ToolReply::AfterCalls(count)) => {
            let mut calls = shared.calls.subscribe();
            calls.wait_for(|calls| calls.len() >= count).await.expect("the sender lives with the server");
            usual
        }
        Some(ToolReply::NewTag(tag)) => {
            shared.set_tag(tag);
            usual
        }
        Some(ToolReply::Silent) => {
            let _waiting = Waiting(&shared.abandoned);
            std::future::pending().await
        }
        // Ends the connection's task, and so the connection, without printing a panic.
        Some(ToolReply::Broken) => std::panic::resume_unwind(Box::new("the connection breaks")),
    };
    if let Some(tag) = shared.tag() {
        response.headers_mut().insert("x-catalogue-tag", HeaderValue::from_static(tag));
    }
    response
}

/// Counts handlers that are dropped because their connection was closed.
struct Waiting<'a>(&'a Mutex<usize>);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        *self.0.lock().expect("nobody panics with it") += 1;
    }
}

fn usual_answer(name: &str, body: &str) -> Envelope {
    if !TOOLS.contains(&name) {
        return failure(ErrorCode::UnknownTool, &format!("no tool {name:?}; there are {}", TOOLS.join(", ")));
    }
    match serde_json::from_str::<Value>(body) {
        Ok(Value::Object(_)) => success("a.txt\n"),
        Ok(_) | Err(_) => failure(ErrorCode::InvalidArgument, "the body is no JSON object"),
    }
}

fn unauthorized(headers: &HeaderMap) -> Option<Response> {
    let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let is_right = given == Some(&format!("Bearer {TOKEN}"));
    (!is_right).then(|| answer(&failure(ErrorCode::Unauthorized, "the token is wrong."), None))
}

fn answer(envelope: &Envelope, retry_after: Option<u64>) -> Response {
    let status = StatusCode::from_u16(envelope.http_status()).expect("an error code has a status");
    let mut response = (status, Json(envelope)).into_response();
    if let Some(seconds) = retry_after {
        response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
    }
    response
}
