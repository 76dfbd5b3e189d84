//! The client of the tool server: its catalogue, and calls that are answered with envelopes.
//!
//! A call that fails on the wire is repeated with the same key, so the server runs it at most once. Such
//! failures never reach the model, which only sees what a tool answered. Retries go on until the caller
//! drops the future.
//!
//! A quick decision of a person reaches the call that waits. One that takes longer does not hold the worker:
//! the call is given up, and a later attempt sends it again.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use process::Secret;
use protocol::task::{SCHEDULED_TASK, UNATTENDED_TASK};
use protocol::{CallState, Envelope, ErrorCode, EventId, SessionId, Task, ToolError, ToolSpec, now_ms};
use reqwest::header::{CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use reqwest::{Client, Method, RequestBuilder, StatusCode, Url};
use serde::Deserialize;
use toolkit::locked;

use crate::http::{self, HttpError, HttpResponse};
use crate::model::ToolCall;
use crate::retry;
use crate::wall_clock::WallClock;

/// The longest deadline that a tool accepts, plus a margin for its answer.
const CALL_TIMEOUT: Duration = Duration::from_secs(660);

const CATALOGUE_TIMEOUT: Duration = Duration::from_secs(10);

/// The server bounds a result itself; this is a safety net.
const MAX_BODY_BYTES: usize = 16 * 1024 * 1024;

/// The header of an answer to a call that carries the tag.
const TAG_HEADER: &str = "x-catalogue-tag";

/// How long one request waits for a person when no other task can use the worker meanwhile.
const DECISION_WAIT: Duration = Duration::from_secs(600);

#[derive(Debug)]
pub(crate) struct ToolClient {
    client: Client,
    url: Url,
    token: Option<Secret>,
    catalogue: Mutex<CatalogueCache>,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum ToolServerError {
    #[error("The tool server refuses to work: {}. {}", .0.message.trim_end_matches('.'), .0.hint)]
    Refused(ToolError),
    #[error("The server at {0} (HTTP {1}) is not a tool server; check AUTONOUS_TOOL_URL")]
    NotAToolServer(Url, StatusCode),
    /// A request cannot be built, or its answer is too long.
    #[error("Cannot use the tool server: {0}")]
    Unusable(#[from] HttpError),
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct CallContext<'a> {
    pub(crate) task: &'a Task,
    /// The `turn.started` event, the parent of the call's events.
    pub(crate) turn_id: &'a EventId,
}

#[derive(Deserialize)]
struct CatalogueResponse {
    tools: Vec<ToolSpec>,
}

impl ToolClient {
    /// A client for the server at this address. Nothing is sent yet.
    pub(crate) fn new(url: Url, token: Option<Secret>) -> Result<Self, HttpError> {
        let client = http::client(CALL_TIMEOUT)?;
        Ok(Self { client, url, token, catalogue: Mutex::default() })
    }

    /// The tools of a session, sorted by name; the cached ones if the server says that they are the same.
    pub(crate) async fn catalogue(&self, session: &SessionId) -> Result<Arc<Vec<ToolSpec>>, ToolServerError> {
        let known = self.cache().known.clone();
        let mut request = self.request(Method::GET, None).timeout(CATALOGUE_TIMEOUT);
        request = request.header("X-Session-Id", session.as_str());
        if let Some((tag, _)) = &known {
            request = request.header(IF_NONE_MATCH, tag);
        }
        let answer = self.send_until_answered(request).await?;
        if let Some((_, tools)) = known.filter(|_| answer.status == StatusCode::NOT_MODIFIED) {
            return Ok(tools);
        }
        let CatalogueResponse { tools } = self.read(&answer).or_else(|not_a_tool_server| {
            let envelope: Envelope = self.read(&answer)?;
            Err(envelope.meta.error.map_or(not_a_tool_server, ToolServerError::Refused))
        })?;
        Ok(self.cache().store(tools, tag_of(&answer, ETAG.as_str())))
    }

    /// Whether the last answer came from a server with other tools than the cached ones.
    pub(crate) fn has_new_tools(&self) -> bool {
        let CatalogueCache { known, latest_tag } = &*self.cache();
        latest_tag.is_some() && latest_tag.as_ref() != known.as_ref().map(|(tag, _)| tag)
    }

    /// Makes a call and returns the answer, whether the tool succeeded or failed. A `key` is that of an
    /// earlier attempt to make the same call. A call that a person must approve is sent once more and waits
    /// for the decision, and so long the clock stands still.
    pub(crate) async fn call(
        &self,
        call: &ToolCall,
        caller: CallContext<'_>,
        clock: &WallClock,
        key: Option<&str>,
    ) -> Result<CallEnd, ToolServerError> {
        let key = key.map_or_else(new_key, str::to_owned);
        let send = |wait| self.call_once(call, caller, &key, wait);
        let patience = clock.patience;
        let mut envelope = send(None).await?;
        if undecided(&envelope, &key).is_none() {
            return Ok(CallEnd::Answered(envelope));
        }
        let pause = clock.pause();
        loop {
            envelope = send(Some(patience.unwrap_or(DECISION_WAIT))).await?;
            match undecided(&envelope, &key) {
                None => break,
                Some(state) if patience.is_some() => return Ok(CallEnd::Open(state)),
                Some(_) => {}
            }
        }
        pause.end(Duration::from_millis(envelope.meta.stats.time_ms));
        Ok(CallEnd::Answered(envelope))
    }

    /// Sends a call until it is answered. A key takes effect at most once, however often it is sent.
    async fn call_once(
        &self,
        call: &ToolCall,
        caller: CallContext<'_>,
        key: &str,
        wait: Option<Duration>,
    ) -> Result<Envelope, ToolServerError> {
        let request = self
            .request(Method::POST, Some(&call.name))
            .header(CONTENT_TYPE, "application/json")
            .header("X-Session-Id", caller.task.session_id.as_str())
            .header("X-Task-Id", caller.task.task_id.as_str())
            .header("X-Parent-Event-Id", caller.turn_id.as_str())
            .header("Idempotency-Key", key)
            .body(call.arguments.clone());
        let origin = caller.task.origin.as_ref();
        let is_scheduled = origin.is_some_and(|origin| origin.scheduled.is_some());
        let request = if is_scheduled { request.header(SCHEDULED_TASK, "true") } else { request };
        let is_unattended = origin.is_some_and(|origin| origin.is_unattended);
        let request = if is_unattended { request.header(UNATTENDED_TASK, "true") } else { request };
        let answer = self.send_until_answered(waiting(request, wait)).await?;
        if let Some(tag) = tag_of(&answer, TAG_HEADER) {
            self.cache().latest_tag = Some(tag);
        }
        self.read(&answer)
    }

    fn request(&self, method: Method, tool: Option<&str>) -> RequestBuilder {
        let mut url = self.url.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            // A name is one path segment, whatever the model wrote into it.
            path.pop_if_empty().push("tools").extend(tool);
        }
        let request = self.client.request(method, url);
        match &self.token {
            Some(token) => request.bearer_auth(token.expose()),
            None => request,
        }
    }

    async fn send_until_answered(&self, request: RequestBuilder) -> Result<HttpResponse, ToolServerError> {
        let request = request.build().map_err(HttpError::from)?;
        let mut failed = 0;
        loop {
            let copy = request.try_clone().expect("a request with a text body can be cloned");
            let (why, retry_after) = match http::send(&self.client, copy, MAX_BODY_BYTES).await {
                Ok(answer) => match transient_reason(&answer) {
                    Some(why) => (why, http::retry_after(&answer.headers)),
                    None => return Ok(answer),
                },
                Err(error @ HttpError::Transport(_)) => (error.to_string(), None),
                Err(error @ HttpError::TooLong(_)) => return Err(error.into()),
            };
            failed += 1;
            let wait = retry::tool_server_retry_delay(failed).max(retry_after.unwrap_or_default());
            tracing::warn!(why, ?wait, "retrying the tool server");
            tokio::time::sleep(wait).await;
        }
    }

    fn read<T: for<'de> Deserialize<'de>>(&self, answer: &HttpResponse) -> Result<T, ToolServerError> {
        serde_json::from_slice(&answer.body)
            .map_err(|_| ToolServerError::NotAToolServer(self.url.clone(), answer.status))
    }

    fn cache(&self) -> MutexGuard<'_, CatalogueCache> {
        locked(&self.catalogue)
    }
}

/// The tag of the catalogue in an answer.
fn tag_of(answer: &HttpResponse, header: &str) -> Option<String> {
    answer.headers.get(header)?.to_str().ok().map(str::to_owned)
}

/// The request, which may wait so long for a person.
fn waiting(request: RequestBuilder, wait: Option<Duration>) -> RequestBuilder {
    let Some(wait) = wait else { return request };
    request.header("Prefer", format!("wait={}", wait.as_secs())).timeout(wait + CALL_TIMEOUT)
}

/// Why a retry can help: the server is too busy, it still runs the same call (from an earlier attempt), or
/// a proxy answers for a server that is down.
fn transient_reason(answer: &HttpResponse) -> Option<String> {
    if !matches!(answer.status.as_u16(), 409 | 502 | 503 | 504) {
        return None;
    }
    match serde_json::from_slice::<Envelope>(&answer.body) {
        Ok(envelope) => {
            let error = envelope.meta.error?;
            let transient = matches!(error.code, ErrorCode::Overloaded | ErrorCode::InProgress);
            transient.then(|| error.to_string())
        }
        Err(_) => (answer.status != StatusCode::CONFLICT).then(|| format!("HTTP {}", answer.status.as_u16())),
    }
}

/// An idempotency key that no call has had.
pub(crate) fn new_key() -> String {
    uuid::Uuid::now_v7().to_string()
}

/// What became of a call in this attempt.
#[expect(clippy::large_enum_variant, reason = "most are answered")]
pub(crate) enum CallEnd {
    Answered(Envelope),
    /// It was not answered now: its state.
    Open(CallState),
}

impl CallEnd {
    /// Whether a person has to decide first.
    pub(crate) fn waits(&self) -> bool {
        matches!(self, Self::Open(CallState::Waits { .. }))
    }

    pub(crate) fn has_succeeded(&self) -> bool {
        match self {
            Self::Answered(envelope) => envelope.ok,
            Self::Open(state) => matches!(state, CallState::Answered { .. }),
        }
    }
}

/// Which approval the call waits for, if a person can still decide.
fn undecided(envelope: &Envelope, key: &str) -> Option<CallState> {
    let is_asked = envelope.error_code() == Some(ErrorCode::ApprovalRequired);
    let data = &envelope.meta.data;
    let approval_id = data["approval_id"].as_str().filter(|_| is_asked && data["state"] == "pending")?;
    Some(CallState::Waits {
        approval_id: approval_id.parse().ok()?,
        expires_at_ms: data["expires_at_ms"].as_i64().unwrap_or_else(now_ms),
        key: key.to_owned(),
    })
}

/// The catalogue that came last, and whether it may have changed. The server tags it, repeats the tag with
/// every answer to a call, and sends it only to a caller with another tag. So the model sees the same bytes
/// for as long as the tools stay the same, and new tools are noticed with the next call.
#[derive(Debug, Default)]
struct CatalogueCache {
    known: Option<(String, Arc<Vec<ToolSpec>>)>,
    latest_tag: Option<String>,
}

impl CatalogueCache {
    /// Stores tools that came with this tag, sorted by name.
    fn store(&mut self, mut tools: Vec<ToolSpec>, tag: Option<String>) -> Arc<Vec<ToolSpec>> {
        tools.sort_by(|a, b| a.name.cmp(&b.name));
        let tools = Arc::new(tools);
        self.latest_tag.clone_from(&tag);
        self.known = tag.map(|tag| (tag, Arc::clone(&tools)));
        tools
    }
}
