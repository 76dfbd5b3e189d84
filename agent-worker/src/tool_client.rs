//! The tool server as the worker sees it: a catalogue, and calls that are answered with envelopes.
//!
//! A call that did not arrive or was not answered is made again with the same key, which the server
//! uses to run it at most once. Such failures never leave this file and never reach the model: it only
//! sees what a tool answered. How long to go on is decided by whoever drops the future.

use std::sync::Arc;
use std::time::Duration;

use process::Secret;
use protocol::{Envelope, ErrorCode, EventId, Task, ToolError, ToolSpec};
use reqwest::header::{CONTENT_TYPE, IF_NONE_MATCH};
use reqwest::{Client, Method, Request, RequestBuilder, StatusCode, Url};
use serde::Deserialize;

use crate::catalogue::Catalogue;
use crate::http::{self, HttpError, HttpResponse};
use crate::model::ToolCall;
use crate::retry;

/// The longest deadline that a tool accepts, and a margin for its answer.
const CALL_TIMEOUT: Duration = Duration::from_secs(660);

/// The catalogue takes no work to answer.
const CATALOGUE_TIMEOUT: Duration = Duration::from_secs(10);

/// The server bounds a result itself; this is the net below.
const MAX_BODY_BYTES: usize = 16 * 1024 * 1024;

/// The tool server.
#[derive(Debug)]
pub struct ToolClient {
    client: Client,
    url: Url,
    token: Option<Secret>,
    catalogue: Catalogue,
}

/// Why there is no use in going on with the tool server.
#[derive(Debug, thiserror::Error)]
pub enum ToolServerError {
    /// It answered the request for the catalogue with an error.
    #[error("The tool server refuses to work: {}. {}", .0.message.trim_end_matches('.'), .0.hint)]
    Refused(ToolError),
    /// Something else answers at its address.
    #[error("What answers at {0} (HTTP {1}) is not the tool server; AUTONOUS_TOOL_URL should be checked")]
    NotAToolServer(Url, StatusCode),
    /// A request could not be put together, or its answer was beyond every bound.
    #[error("The tool server cannot be used: {0}")]
    Unusable(#[from] HttpError),
}

/// Under what a call happens.
#[derive(Debug, Clone, Copy)]
pub struct CallContext<'a> {
    /// The task that the call is for.
    pub task: &'a Task,
    /// The `turn.started` event that the call hangs under.
    pub turn_id: &'a EventId,
}

/// What `GET /tools` answers.
#[derive(Deserialize)]
struct CatalogueResponse {
    tools: Vec<ToolSpec>,
}

/// An attempt without a result.
enum AttemptError {
    /// It can pass; the server may have said when.
    Transient { why: String, after: Option<Duration> },
    /// It stays.
    Permanent(ToolServerError),
}

impl ToolClient {
    /// The server at this address. Nothing is sent yet.
    pub fn new(url: Url, token: Option<Secret>) -> Result<Self, HttpError> {
        let client = http::client(CALL_TIMEOUT)?;
        Ok(Self { client, url, token, catalogue: Catalogue::default() })
    }

    /// What can be called, sorted by name. The server is asked whether it is still what is known.
    pub async fn catalogue(&self) -> Result<Arc<Vec<ToolSpec>>, ToolServerError> {
        let mut request = self.request(Method::GET, None).timeout(CATALOGUE_TIMEOUT);
        if let Some(tag) = self.catalogue.tag() {
            request = request.header(IF_NONE_MATCH, tag);
        }
        let answer = self.send_until_answered(&built(request)?).await?;
        if let Some(tools) = self.catalogue.unchanged().filter(|_| answer.status == StatusCode::NOT_MODIFIED)
        {
            return Ok(tools);
        }
        let CatalogueResponse { tools } = self.read(&answer).or_else(|not_a_tool_server| {
            let envelope: Envelope = self.read(&answer)?;
            Err(envelope.meta.error.map_or(not_a_tool_server, ToolServerError::Refused))
        })?;
        Ok(self.catalogue.take(tools, &answer.headers))
    }

    /// Whether the last answer came from a server that offers other tools than those that are known.
    pub fn has_other_tools(&self) -> bool {
        self.catalogue.is_outdated()
    }

    /// Makes a call and returns what the server answered, whether it went well or not.
    pub async fn call(&self, call: &ToolCall, caller: CallContext<'_>) -> Result<Envelope, ToolServerError> {
        let request = self
            .request(Method::POST, Some(&call.name))
            .header(CONTENT_TYPE, "application/json")
            .header("X-Session-Id", caller.task.session_id.as_str())
            .header("X-Task-Id", caller.task.task_id.as_str())
            .header("X-Parent-Event-Id", caller.turn_id.as_str())
            .header("Idempotency-Key", uuid::Uuid::now_v7().to_string())
            .body(call.arguments.clone());
        let answer = self.send_until_answered(&built(request)?).await?;
        self.catalogue.note(&answer.headers);
        self.read(&answer)
    }

    fn request(&self, method: Method, tool: Option<&str>) -> RequestBuilder {
        let mut url = self.url.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            // A name is one segment, whatever the model wrote into it.
            path.pop_if_empty().push("tools").extend(tool);
        }
        let request = self.client.request(method, url);
        match &self.token {
            Some(token) => request.bearer_auth(token.expose()),
            None => request,
        }
    }

    /// Sends a request until it is answered.
    async fn send_until_answered(&self, request: &Request) -> Result<HttpResponse, ToolServerError> {
        let mut failed = 0;
        loop {
            let request = request.try_clone().expect("a body of text can be sent twice");
            let (why, after) = match self.attempt(request).await {
                Ok(answer) => return Ok(answer),
                Err(AttemptError::Permanent(error)) => return Err(error),
                Err(AttemptError::Transient { why, after }) => (why, after),
            };
            failed += 1;
            let wait = retry::tool_server_retry_delay(failed).max(after.unwrap_or_default());
            tracing::warn!(why, ?wait, "the tool server is called again");
            tokio::time::sleep(wait).await;
        }
    }

    async fn attempt(&self, request: Request) -> Result<HttpResponse, AttemptError> {
        let answer = match http::send(&self.client, request, MAX_BODY_BYTES).await {
            Ok(answer) => answer,
            Err(HttpError::Transport(error)) => {
                let why = HttpError::Transport(error).to_string();
                return Err(AttemptError::Transient { why, after: None });
            }
            Err(error @ HttpError::TooLong(_)) => return Err(AttemptError::Permanent(error.into())),
        };
        match transient_reason(&answer) {
            Some(why) => Err(AttemptError::Transient { why, after: answer.retry_after }),
            None => Ok(answer),
        }
    }

    fn read<T: for<'de> Deserialize<'de>>(&self, answer: &HttpResponse) -> Result<T, ToolServerError> {
        serde_json::from_slice(&answer.body).map_err(|_| self.not_a_tool_server(answer.status))
    }

    fn not_a_tool_server(&self, status: StatusCode) -> ToolServerError {
        ToolServerError::NotAToolServer(self.url.clone(), status)
    }
}

fn built(request: RequestBuilder) -> Result<Request, HttpError> {
    Ok(request.build()?)
}

/// Why an answer is none yet: the server is too busy, still runs the same call (an earlier attempt of
/// ours), or something in between speaks for a server that is away.
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
