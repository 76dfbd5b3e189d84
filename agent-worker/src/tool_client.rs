//! The client of the tool server: its catalogue, and calls that are answered with envelopes.
//!
//! A call that fails on the wire is repeated with the same key, so the server runs it at most once. Such
//! failures never reach the model, which only sees what a tool answered. Retries go on until the caller
//! drops the future.

use std::sync::Arc;
use std::time::Duration;

use process::Secret;
use protocol::task::SCHEDULED_TASK;
use protocol::{Envelope, ErrorCode, EventId, Task, ToolError, ToolSpec};
use reqwest::header::{CONTENT_TYPE, IF_NONE_MATCH};
use reqwest::{Client, Method, RequestBuilder, StatusCode, Url};
use serde::Deserialize;

use crate::catalogue::CatalogueCache;
use crate::decision_wait::{Waited, until_decided};
use crate::http::{self, HttpError, HttpResponse};
use crate::model::ToolCall;
use crate::retry;
use crate::wall_clock::WallClock;

/// The longest deadline that a tool accepts, plus a margin for its answer.
const CALL_TIMEOUT: Duration = Duration::from_secs(660);

const CATALOGUE_TIMEOUT: Duration = Duration::from_secs(10);

/// The server bounds a result itself; this is a safety net.
const MAX_BODY_BYTES: usize = 16 * 1024 * 1024;

#[derive(Debug)]
pub(crate) struct ToolClient {
    client: Client,
    url: Url,
    token: Option<Secret>,
    catalogue: CatalogueCache,
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
        Ok(Self { client, url, token, catalogue: CatalogueCache::default() })
    }

    /// The tools, sorted by name; the cached ones if the server says that they have not changed.
    pub(crate) async fn catalogue(&self) -> Result<Arc<Vec<ToolSpec>>, ToolServerError> {
        let known = self.catalogue.known();
        let mut request = self.request(Method::GET, None).timeout(CATALOGUE_TIMEOUT);
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
        Ok(self.catalogue.store(tools, &answer.headers))
    }

    /// Whether the last answer came from a server with other tools than the cached ones.
    pub(crate) fn has_new_tools(&self) -> bool {
        self.catalogue.is_outdated()
    }

    /// Makes a call and returns the answer, whether the tool succeeded or failed. A `key` is that of an
    /// earlier attempt to make the same call.
    pub(crate) async fn call(
        &self,
        call: &ToolCall,
        caller: CallContext<'_>,
        clock: &WallClock,
        key: Option<&str>,
    ) -> Result<Waited, ToolServerError> {
        let key = key.map_or_else(new_key, str::to_owned);
        until_decided(clock, &key, |wait| self.call_once(call, caller, &key, wait)).await
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
        let is_scheduled = caller.task.origin.as_ref().is_some_and(|origin| origin.scheduled.is_some());
        let request = if is_scheduled { request.header(SCHEDULED_TASK, "true") } else { request };
        let answer = self.send_until_answered(waiting(request, wait)).await?;
        self.catalogue.note(&answer.headers);
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
