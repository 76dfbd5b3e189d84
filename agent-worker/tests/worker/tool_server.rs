//! A played tool server: it speaks the real protocol, records what it is called with, and fails on demand.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::serve::Listener;
use axum::{Json, Router};
use protocol::{
    Annotations, Context, Envelope, ErrorCode, EventId, Meta, Risk, Stats, Status, ToolError, ToolSpec,
};
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};

/// The token that it asks for.
pub(crate) const TOKEN: &str = "tool-token";

/// A call as it arrived.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) name: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

/// What the next call meets.
#[derive(Debug)]
pub(crate) enum Next {
    /// This envelope, with this `Retry-After`.
    Answer(Box<Envelope>, Option<u64>),
    /// Something that is no envelope.
    Plain(StatusCode),
    /// The usual answer, but not before this many calls have arrived.
    Once(usize),
    /// The usual answer, of a server whose catalogue has this tag from now on.
    Retagged(&'static str),
    /// No answer at all.
    Silence,
    /// A connection that breaks after the request was read. Each call has a connection of its own.
    Break,
}

/// The played server.
#[derive(Clone)]
pub(crate) struct ToolServer {
    pub(crate) url: String,
    played: Arc<Played>,
}

#[derive(Default)]
struct Played {
    calls: Mutex<Vec<Call>>,
    next: Mutex<VecDeque<Next>>,
    arrivals: watch::Sender<usize>,
    catalogues: Mutex<Vec<u16>>,
    tag: Mutex<Option<&'static str>>,
    called: Notify,
    abandoned: Notify,
}

impl ToolServer {
    /// Answers every call with `a.txt`, except for these first ones.
    pub(crate) async fn start(next: impl IntoIterator<Item = Next>) -> Self {
        Self::listen("127.0.0.1:0", next.into_iter().collect()).await
    }

    /// The same at a given address.
    pub(crate) async fn start_at(address: &str) -> Self {
        Self::listen(address, VecDeque::new()).await
    }

    async fn listen(address: &str, next: VecDeque<Next>) -> Self {
        let played = Arc::new(Played { next: Mutex::new(next), ..Played::default() });
        let listener = TcpListener::bind(address).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let routes = Router::new()
            .route("/tools", get(catalogue))
            .route("/tools/{name}", post(call))
            .layer(DefaultBodyLimit::disable())
            .with_state(Arc::clone(&played));
        let listener = Breaking { listener, played: Arc::clone(&played) };
        tokio::spawn(async move { axum::serve(listener, routes).await });
        Self { url, played }
    }

    pub(crate) fn calls(&self) -> Vec<Call> {
        self.played.calls.lock().unwrap().clone()
    }

    /// Gives the catalogue a tag.
    pub(crate) fn tag(&self, tag: &'static str) {
        *self.played.tag.lock().unwrap() = Some(tag);
    }

    /// The statuses of all requests for the catalogue so far.
    pub(crate) fn catalogues(&self) -> Vec<u16> {
        self.played.catalogues.lock().unwrap().clone()
    }

    /// Resolves once a call has arrived.
    pub(crate) async fn called(&self) {
        self.played.called.notified().await;
    }

    /// Resolves once the caller of an unanswered call went away.
    pub(crate) async fn abandoned(&self) {
        self.played.abandoned.notified().await;
    }
}

impl Played {
    /// Resolves once this many calls have arrived.
    async fn arrived(&self, count: usize) {
        let mut arrivals = self.arrivals.subscribe();
        arrivals.wait_for(|arrived| *arrived >= count).await.unwrap();
    }

    /// Whether the connection that was just opened is to break; it is asked once for each.
    fn breaks_now(&self) -> bool {
        let mut next = self.next.lock().unwrap();
        let breaks = matches!(next.front(), Some(Next::Break));
        if breaks {
            next.pop_front();
        }
        breaks
    }
}

/// The envelope of a result.
pub(crate) fn success(stdout: &str) -> Envelope {
    envelope(stdout, None)
}

/// The envelope of an error.
pub(crate) fn failure(code: ErrorCode, message: &str) -> Envelope {
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
            data: Value::Null,
            stats: Stats::default(),
            context: Context::default(),
            full_output: None,
            redacted: false,
        },
    }
}

async fn catalogue(State(played): State<Arc<Played>>, headers: HeaderMap) -> Response {
    if let Some(refusal) = unauthorized(&headers) {
        return refusal;
    }
    let tag = *played.tag.lock().unwrap();
    let is_known = tag.is_some()
        && headers.get(header::IF_NONE_MATCH).map(HeaderValue::as_bytes) == tag.map(str::as_bytes);
    let mut response = match is_known {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => Json(json!({"tools": [spec("ls"), spec("bash")]})).into_response(),
    };
    played.catalogues.lock().unwrap().push(response.status().as_u16());
    // The next request, a call, then comes over a connection of its own.
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    if let Some(tag) = tag {
        response.headers_mut().insert(header::ETAG, HeaderValue::from_static(tag));
    }
    response
}

fn spec(name: &str) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: format!("Runs {name}."),
        risk: Risk::Low,
        annotations: Annotations { read_only: name == "ls", ..Annotations::READS },
        input_schema: json!({"type": "object", "properties": {
            "path": {"type": "string"}, "recursive": {"type": "boolean"}, "limit": {"type": "integer"},
        }}),
        output_schema: json!({"type": "object"}),
    }
}

async fn call(
    State(played): State<Arc<Played>>,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: String,
) -> Response {
    if let Some(refusal) = unauthorized(&headers) {
        return refusal;
    }
    let next = played.next.lock().unwrap().pop_front();
    let mut response = respond(&played, name, headers, body, next).await;
    let tag = *played.tag.lock().unwrap();
    if let Some(tag) = tag {
        response.headers_mut().insert("x-catalogue-tag", HeaderValue::from_static(tag));
    }
    response
}

async fn respond(
    played: &Played,
    name: String,
    headers: HeaderMap,
    body: String,
    next: Option<Next>,
) -> Response {
    played.calls.lock().unwrap().push(Call { name: name.clone(), headers, body: body.clone() });
    played.called.notify_one();
    played.arrivals.send_modify(|arrived| *arrived += 1);
    match next {
        Some(Next::Answer(envelope, retry_after)) => answer(&envelope, retry_after),
        Some(Next::Plain(status)) => (status, "<html>").into_response(),
        Some(Next::Once(count)) => {
            played.arrived(count).await;
            answer(&judged(&name, &body), None)
        }
        Some(Next::Retagged(tag)) => {
            *played.tag.lock().unwrap() = Some(tag);
            answer(&judged(&name, &body), None)
        }
        Some(Next::Silence) => silence(played).await,
        Some(Next::Break) => panic!("the listener breaks connections, not the handler"),
        None => answer(&judged(&name, &body), None),
    }
}

/// What the real server would say to such a call.
fn judged(name: &str, body: &str) -> Envelope {
    if !["ls", "bash"].contains(&name) {
        return failure(ErrorCode::UnknownTool, &format!("no tool {name:?}; there are bash, ls"));
    }
    match serde_json::from_str::<Value>(body) {
        Ok(Value::Object(_)) => success("a.txt\n"),
        Ok(_) | Err(_) => failure(ErrorCode::InvalidArgument, "the body is no JSON object"),
    }
}

fn unauthorized(headers: &HeaderMap) -> Option<Response> {
    let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let right = given == Some(&format!("Bearer {TOKEN}"));
    (!right).then(|| answer(&failure(ErrorCode::Unauthorized, "the token is wrong."), None))
}

fn answer(envelope: &Envelope, retry_after: Option<u64>) -> Response {
    let status = StatusCode::from_u16(envelope.http_status()).unwrap();
    let close = [(header::CONNECTION, "close")];
    let mut response = (status, close, Json(envelope)).into_response();
    if let Some(seconds) = retry_after {
        response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
    }
    response
}

async fn silence(played: &Played) -> Response {
    /// Dropped with the handler, when the connection closes.
    struct Waiting<'a>(&'a Notify);
    impl Drop for Waiting<'_> {
        fn drop(&mut self) {
            self.0.notify_one();
        }
    }
    let _waiting = Waiting(&played.abandoned);
    std::future::pending().await
}

/// A listener that reads a request and closes its connection, where the next call is to meet that.
struct Breaking {
    listener: TcpListener,
    played: Arc<Played>,
}

impl Listener for Breaking {
    type Io = TcpStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (TcpStream, SocketAddr) {
        loop {
            let (mut stream, address) = self.listener.accept().await.unwrap();
            let mut head = [0; 5];
            let is_call = stream.peek(&mut head).await.is_ok() && head.starts_with(b"POST");
            if !is_call || !self.played.breaks_now() {
                return (stream, address);
            }
            let call = read_call(&mut stream).await;
            self.played.calls.lock().unwrap().push(call);
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// As much of a request as is needed to know which call it was.
async fn read_call(stream: &mut TcpStream) -> Call {
    let mut text = Vec::new();
    while !text.windows(4).any(|end| end == b"\r\n\r\n") {
        assert_ne!(stream.read_buf(&mut text).await.unwrap(), 0);
    }
    let text = String::from_utf8(text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let mut lines = head.lines();
    let path = lines.next().unwrap().split(' ').nth(1).unwrap();
    let pairs = lines.filter_map(|line| line.split_once(": "));
    let headers = pairs.map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect();
    Call { name: path.replace("/tools/", ""), headers, body: body.to_owned() }
}
