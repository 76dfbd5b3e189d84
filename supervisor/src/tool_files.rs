//! The tool server, for what comes in and goes out: the supervisor has no roots of its own, and executes
//! nothing.

use std::time::Duration;

use protocol::{Envelope, ErrorCode, EventId, SessionId, TaskId, ToolError};
use reqwest::header::{ACCEPT, CONTENT_LENGTH, ETAG, IF_MATCH, IF_NONE_MATCH};
use reqwest::{Body, Method, RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};
use settings::choices::{Division, STATE_ROOT};
use store::attachments::INBOX;

use crate::tool_client::ToolClient;

/// Whose reading it is when no chat reads.
const OWN_SESSION: &str = "supervisor";

/// The longest text of that root that is read.
const MAX_STATE_BYTES: u64 = 1 << 20;

/// A tool server that restarts is waited for; its socket keeps the request.
const STATE_PATIENCE: Duration = Duration::from_secs(30);

/// A client for one tool server.
#[derive(Debug, Clone)]
pub(crate) struct ToolFiles {
    client: ToolClient,
    /// The root that incoming files are kept in.
    root: String,
    /// What a session sees of it.
    division: Division,
}

/// A text, and by what a change of it is recognised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReadText {
    pub(crate) text: String,
    pub(crate) sha256: String,
}

/// Why a file was not stored or replaced.
#[derive(Debug)]
pub(crate) enum PutError {
    /// It will not be, in words.
    Refused(String),
    /// Another time, perhaps.
    NotNow(String),
}

impl PutError {
    fn of(error: ToolError, status: StatusCode) -> Self {
        let is_passing = status.is_server_error() || error.retryable;
        if is_passing { Self::NotNow(error.message) } else { Self::Refused(error.message) }
    }
}

/// Why a file was not given out.
#[derive(Debug)]
pub(crate) enum GetError {
    NoAnswer(reqwest::Error),
    Refused(Box<ToolError>),
}

/// Sends a request for a file, whose bytes follow.
pub(crate) async fn opened(request: RequestBuilder) -> Result<Response, GetError> {
    let answer = request.send().await.map_err(GetError::NoAnswer)?;
    let status = answer.status();
    if status == StatusCode::OK {
        return Ok(answer);
    }
    Err(GetError::Refused(Box::new(refusal_of(answer).await)))
}

/// The error in an answer of the tool server, or what else it is.
async fn refusal_of(answer: Response) -> ToolError {
    let status = answer.status();
    let error = answer.json::<Envelope>().await.ok().and_then(|envelope| envelope.meta.error);
    let message = || format!("The tool server answered with HTTP {status}.");
    error.unwrap_or_else(|| ToolError::new(ErrorCode::IoError, message()))
}

fn no_answer(error: reqwest::Error) -> ToolError {
    tracing::warn!(error = in_words(error), "the tool server gave no answer about a file");
    ToolError::new(ErrorCode::IoError, "The tool server could not be asked; nothing was sent.")
        .with_hint("Please try again in a moment.")
}

/// The task and call that the tool server is asked for, besides the session.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Caller<'c> {
    pub task: Option<&'c TaskId>,
    /// The call that asks, if a call does.
    pub parent: Option<&'c EventId>,
}

impl Caller<'_> {
    /// The request with the headers that name the caller.
    pub(crate) fn sign(self, mut request: RequestBuilder) -> RequestBuilder {
        if let Some(task) = self.task {
            request = request.header("X-Task-Id", task.as_str());
        }
        if let Some(parent) = self.parent {
            request = request.header("X-Parent-Event-Id", parent.as_str());
        }
        request
    }
}

impl ToolFiles {
    /// A client for the server at this address with these roots. Nothing is sent yet.
    pub(crate) fn new(
        url: &str,
        token: &str,
        roots: &[String],
        division: Division,
    ) -> Result<Self, reqwest::Error> {
        let named = roots.iter().find(|root| root.rsplit('/').next() == Some(STATE_ROOT));
        let root = named.or(roots.first()).map_or("", |root| root.trim_end_matches('/'));
        Ok(Self { client: ToolClient::new(url, token)?, root: root.to_owned(), division })
    }

    /// The directory of what comes in with a session.
    pub(crate) fn inbox_of(&self, session: &SessionId) -> String {
        let (root, chat) = (&self.root, session.as_str().replace(':', "-"));
        match self.division {
            Division::Shared => format!("{root}/{INBOX}/{chat}"),
            Division::PerChat => format!("{root}/{}/{INBOX}/{chat}", session.directory_name()),
        }
    }

    /// A file in the root for what the agent keeps, as a session sees it, and whose reading of it that is.
    /// Where all see the same it is not the chat's, which counts as having read only what it was shown.
    fn in_state(&self, name: &str, session: &SessionId) -> (String, SessionId) {
        let root = &self.root;
        match self.division {
            Division::Shared => {
                (format!("{root}/{name}"), OWN_SESSION.parse().unwrap_or_else(|_| session.clone()))
            }
            Division::PerChat => (format!("{root}/{}/{name}", session.directory_name()), session.clone()),
        }
    }

    /// Reads a text of that root; none if it does not exist.
    pub(crate) async fn read_state(
        &self,
        name: &str,
        session: &SessionId,
    ) -> Result<Option<ReadText>, ToolError> {
        let (path, session) = self.in_state(name, session);
        let answer = match opened(self.request(Method::GET, &path, &session).timeout(STATE_PATIENCE)).await {
            Ok(answer) => answer,
            Err(GetError::Refused(error)) if error.code == ErrorCode::NotFound => return Ok(None),
            Err(GetError::Refused(error)) => return Err(*error),
            Err(GetError::NoAnswer(error)) => return Err(no_answer(error)),
        };
        let tag = answer.headers().get(ETAG).and_then(|tag| tag.to_str().ok()).map(str::to_owned);
        let is_long = answer.content_length().is_none_or(|length| length > MAX_STATE_BYTES);
        let Some(sha256) = tag.filter(|_| !is_long).map(|tag| tag.trim_matches('"').to_owned()) else {
            let message = format!("{name} has more than {MAX_STATE_BYTES} bytes.");
            return Err(ToolError::new(ErrorCode::FileTooLarge, message).with_hint("Make it shorter."));
        };
        let bytes = answer.bytes().await.map_err(no_answer)?;
        match String::from_utf8(bytes.into()) {
            Ok(text) => Ok(Some(ReadText { text, sha256 })),
            Err(_) => {
                let message = format!("{name} is no text in UTF-8.");
                Err(ToolError::new(ErrorCode::BinaryFile, message).with_hint("Ask the user to look at it."))
            }
        }
    }

    /// Replaces a text of that root, if it is what it was; returns whether it is.
    pub(crate) async fn write_state(
        &self,
        name: &str,
        session: &SessionId,
        text: String,
        sha256: &str,
    ) -> Result<bool, PutError> {
        let (path, session) = self.in_state(name, session);
        let request = self.request(Method::PUT, &path, &session).header(IF_MATCH, format!("\"{sha256}\""));
        let answer = request.timeout(STATE_PATIENCE).body(text).send().await.map_err(not_now)?;
        match answer.status() {
            status if status.is_success() => Ok(true),
            StatusCode::PRECONDITION_FAILED => Ok(false),
            status => Err(PutError::of(refusal_of(answer).await, status)),
        }
    }

    /// Stores a new file and returns its size. One that is there already was stored by an earlier attempt,
    /// because no other program makes these names.
    pub(crate) async fn put(
        &self,
        path: &str,
        session: &SessionId,
        caller: Caller<'_>,
        body: Body,
    ) -> Result<u64, PutError> {
        let request = caller.sign(self.request(Method::PUT, path, session));
        let answer = request.header(IF_NONE_MATCH, "*").body(body).send().await.map_err(not_now)?;
        let status = answer.status();
        if status == StatusCode::PRECONDITION_FAILED {
            return self.size(path, session).await;
        }
        let envelope: Envelope = answer.json().await.map_err(not_now)?;
        match envelope.meta.error {
            None => Ok(envelope.meta.data["bytes_after"].as_u64().unwrap_or(0)),
            Some(error) => Err(PutError::of(error, status)),
        }
    }

    /// Begins to fetch a file.
    pub(crate) async fn get(&self, path: &str, session: &SessionId) -> Result<Response, String> {
        opened(self.request(Method::GET, path, session)).await.map_err(|error| match error {
            GetError::NoAnswer(error) => in_words(error),
            GetError::Refused(error) => error.message,
        })
    }

    /// Runs a command line in the tool server's sandbox, and returns what it prints.
    pub(crate) async fn run(
        &self,
        command: &str,
        timeout_seconds: u64,
        session: &SessionId,
        task: &TaskId,
    ) -> Result<String, String> {
        let arguments = json!({"cmd": command, "timeout_seconds": timeout_seconds});
        let caller = Caller { task: Some(task), parent: None };
        let call = caller.sign(self.call("bash", &arguments, session));
        let envelope: Envelope = call.send().await.map_err(in_words)?.json().await.map_err(in_words)?;
        match envelope.meta.error {
            None => Ok(envelope.stdout),
            Some(error) => Err(error.message),
        }
    }

    async fn size(&self, path: &str, session: &SessionId) -> Result<u64, PutError> {
        let answer = self.request(Method::HEAD, path, session).send().await.map_err(not_now)?;
        let length =
            answer.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
        length.filter(|_| answer.status().is_success()).ok_or_else(|| {
            PutError::NotNow(format!("the tool server answered a HEAD with {}", answer.status()))
        })
    }

    /// A call of a tool, whose answer is an envelope.
    pub(crate) fn call(&self, tool: &str, arguments: &Value, session: &SessionId) -> RequestBuilder {
        let request = self.client.request(Method::POST, &format!("/tools/{tool}")).json(arguments);
        request.header(ACCEPT, "application/json").header("X-Session-Id", session.as_str())
    }

    /// A call of a tool, without arguments and headers yet; none if this is no name of one.
    pub(crate) fn tool(&self, name: &str) -> Option<RequestBuilder> {
        let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
        is_name.then(|| self.client.request(Method::POST, &format!("/tools/{name}")))
    }

    /// A request for the list of all tools.
    pub(crate) fn catalogue(&self) -> RequestBuilder {
        self.client.request(Method::GET, "/tools")
    }

    /// A request for a file of a session.
    pub(crate) fn request(&self, method: Method, path: &str, session: &SessionId) -> RequestBuilder {
        let request = self.client.request(method, "/files").query(&[("path", path)]);
        request.header("X-Session-Id", session.as_str())
    }
}

fn not_now(error: reqwest::Error) -> PutError {
    PutError::NotNow(in_words(error))
}

pub(crate) fn in_words(error: reqwest::Error) -> String {
    process::error_chain(&error.without_url())
}
