//! A call as it arrives.

use std::sync::Arc;
use std::time::Duration;

use protocol::{EventId, SessionId, TaskId};

use crate::{Attachment, Grant, OutputSink};

/// A call as it arrives, over any route.
#[derive(Debug, Clone)]
pub struct Request {
    /// The tool's name.
    pub tool: String,
    /// The arguments, as raw JSON.
    pub body: Vec<u8>,
    /// The session whose reads and locks the call uses.
    pub session: SessionId,
    /// What its token may do; none of the server's own.
    pub grant: Option<Arc<Grant>>,
    /// The task that it belongs to.
    pub task: Option<TaskId>,
    /// The parent of its event.
    pub parent: Option<EventId>,
    /// The caller's own id for the request.
    pub request_id: Option<String>,
    /// The caller's trace context.
    pub traceparent: Option<String>,
    /// The key under which the call takes effect at most once. It belongs to the token, session and tool.
    pub idempotency_key: Option<String>,
    /// The SHA-256 of what the caller is known by: the name of its token, or else the token.
    pub token_sha256: Option<String>,
    /// How long the call waits for a person, if one must allow it.
    pub wait: Duration,
    /// Whether a schedule began its task, so that no person asks for it now. It uses no yes for the chat.
    pub is_scheduled: bool,
    /// Whether no person can be asked about it.
    pub is_unattended: bool,
    /// What comes with a transfer; none for a tool.
    pub attachment: Option<Attachment>,
    /// Where its output goes while it runs.
    pub sink: Option<Arc<dyn OutputSink>>,
}

impl Request {
    /// A call in the default session, without anything that is optional.
    pub fn new(tool: impl Into<String>, body: impl Into<Vec<u8>>) -> Self {
        Self {
            tool: tool.into(),
            body: body.into(),
            session: SessionId::default_session(),
            grant: None,
            task: None,
            parent: None,
            request_id: None,
            traceparent: None,
            idempotency_key: None,
            token_sha256: None,
            wait: Duration::ZERO,
            is_scheduled: false,
            is_unattended: false,
            attachment: None,
            sink: None,
        }
    }
}
