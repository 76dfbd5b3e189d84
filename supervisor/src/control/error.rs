//! The error responses of the control port: `{"error": {"code": …, "message": …, "hint": …}}`.

use std::borrow::Cow;

use axum::Json;
use axum::http::header::RETRY_AFTER;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use channel::{ChannelName, Rejection};
use http_port::{BodyTimeout, Refused};
use serde_json::json;
use store::StoreError;
use store::nodes::Refusal;

use crate::undo::NoAnswer;

/// How a message for the outbox is sent.
pub(super) const OUTBOX_HINT: &str = "Send {\"chat\": \"4711\", \"kind\": \"text\", \"text\": \"…\"}; the \
     other kinds are edit (message_id, text), reaction (message_id, emoji), document (file_name, \
     content_base64, caption) and voice (content_base64, caption).";

const TOKEN_HINT: &str = "Send `Authorization: Bearer <token>`; `supervisor token control` prints it.";
const ONLY_READS_HINT: &str = "Send the control token, which `supervisor token control` prints; \
     docs/operations.md lists what a token that only reads may ask.";
const NAME_HINT: &str =
    "Use the loopback address and port, or add the name to AUTONOUS_CONTROL_ALLOWED_HOSTS.";
const TASK_ENDED_HINT: &str = "An ended task cannot be cancelled; POST /tasks/{id}/requeue runs it again.";
const CODE_HINT: &str = "A code is good for an hour and for one use; `supervisor chats` lists them. Write to \
     the bot for another one.";
const CHAT_CONFIGURED_HINT: &str =
    "Take it out of the settings, such as AUTONOUS_TELEGRAM_ALLOWED_CHATS, and start again.";
const UNDO_HINT: &str = "A change by a file tool can be undone for a week (`supervisor audit` lists them); \
     what commands changed cannot.";

#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    #[error(transparent)]
    Refused(#[from] Refused),
    #[error("this token only reads, and this is not among what it reads")]
    OnlyReads,
    #[error("too many open connections")]
    NoRoom,
    #[error(transparent)]
    BodyTimeout(#[from] BodyTimeout),
    #[error("no such route")]
    NoSuchRoute,
    #[error("method not allowed")]
    MethodNotAllowed,
    #[error("the body is not declared as JSON")]
    UnsupportedMediaType,
    #[error("{message}")]
    Invalid {
        /// The reason.
        message: String,
        /// What would be right.
        hint: &'static str,
    },
    #[error("could not read the body, or it is too large")]
    Body,
    #[error("no such task")]
    NoSuchTask,
    #[error("the task has already ended: it is {0}")]
    TaskEnded(String),
    #[error("the task has not ended: it is {0}")]
    TaskOpen(String),
    #[error("the task is done already")]
    TaskDone,
    #[error("the message was stored without a text, so there is nothing to run")]
    NothingToRun,
    #[error("{}", rejected(.0, .1))]
    Rejected(ChannelName, Rejection),
    #[error("no such message in the outbox")]
    NoSuchOutboxRow,
    #[error("no such approval")]
    NoSuchApproval,
    #[error("the tool server gave no answer")]
    NoToolServer,
    #[error("no chat has this code")]
    NoSuchCode,
    #[error("no chat with this ID was paired")]
    NoSuchPairing,
    #[error("the settings allow this chat")]
    ChatConfigured,
    #[error("nothing was found in the journal that could be accepted")]
    NothingToAccept,
    #[error("nothing that this call or task changed can be undone")]
    NothingToUndo,
    #[error(transparent)]
    ToolServer(#[from] NoAnswer),
    #[error("the page is switched off")]
    PageOff,
    #[error(transparent)]
    Node(Refusal),
    #[error("some old records could not be pruned")]
    PruneFailed,
    #[error("the database is not available right now")]
    Store(#[from] StoreError),
}

impl ControlError {
    /// The HTTP status, and the code that programs know the error by.
    fn status_and_code(&self) -> (StatusCode, Cow<'static, str>) {
        let (status, code) = match self {
            Self::Refused(Refused::TokenCount | Refused::Token) => (StatusCode::UNAUTHORIZED, "UNAUTHORIZED"),
            Self::Refused(Refused::HostCount | Refused::Host(_) | Refused::Origin(_)) => {
                (StatusCode::FORBIDDEN, "ORIGIN_REFUSED")
            }
            Self::OnlyReads => (StatusCode::FORBIDDEN, "READ_ONLY_TOKEN"),
            Self::NoRoom => (StatusCode::SERVICE_UNAVAILABLE, "OVERLOADED"),
            Self::BodyTimeout(_) => (StatusCode::REQUEST_TIMEOUT, "TIMEOUT"),
            Self::NoSuchRoute
            | Self::NoSuchTask
            | Self::NoSuchOutboxRow
            | Self::NoSuchApproval
            | Self::NoSuchCode
            | Self::NoSuchPairing
            | Self::NothingToUndo => (StatusCode::NOT_FOUND, "NOT_FOUND"),
            Self::MethodNotAllowed => (StatusCode::METHOD_NOT_ALLOWED, "METHOD_NOT_ALLOWED"),
            Self::UnsupportedMediaType => (StatusCode::UNSUPPORTED_MEDIA_TYPE, "UNSUPPORTED_MEDIA_TYPE"),
            Self::Invalid { .. } => (StatusCode::BAD_REQUEST, "INVALID_ARGUMENT"),
            Self::Body => (StatusCode::PAYLOAD_TOO_LARGE, "PAYLOAD_TOO_LARGE"),
            Self::TaskEnded(_) => (StatusCode::CONFLICT, "TASK_ENDED"),
            Self::TaskOpen(_) => (StatusCode::CONFLICT, "TASK_OPEN"),
            Self::TaskDone => (StatusCode::CONFLICT, "TASK_DONE"),
            Self::NothingToRun => (StatusCode::CONFLICT, "NOTHING_TO_RUN"),
            Self::Rejected(channel, rejection) => return rejected_as(channel, rejection),
            Self::NoToolServer => (StatusCode::BAD_GATEWAY, "UNAVAILABLE"),
            Self::ChatConfigured => (StatusCode::CONFLICT, "CHAT_CONFIGURED"),
            Self::NothingToAccept => (StatusCode::CONFLICT, "NOTHING_TO_ACCEPT"),
            Self::ToolServer(_) => (StatusCode::SERVICE_UNAVAILABLE, "TOOL_SERVER_DOWN"),
            Self::PageOff => (StatusCode::CONFLICT, "PAGE_OFF"),
            Self::Node(Refusal::NoSuchNode(_) | Refusal::NoSuchChat(_)) => {
                (StatusCode::NOT_FOUND, "NOT_FOUND")
            }
            Self::Node(Refusal::OneNode) => (StatusCode::CONFLICT, "ONE_NODE"),
            Self::Node(Refusal::NotActive(..)) => (StatusCode::CONFLICT, "NODE_NOT_ACTIVE"),
            Self::Node(Refusal::Running(_)) => (StatusCode::CONFLICT, "TASK_OPEN"),
            Self::PruneFailed => (StatusCode::INTERNAL_SERVER_ERROR, "PRUNE_FAILED"),
            Self::Store(_) => (StatusCode::SERVICE_UNAVAILABLE, "STORE_FAILED"),
        };
        (status, code.into())
    }

    pub(crate) fn status(&self) -> StatusCode {
        self.status_and_code().0
    }

    /// What to do instead.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Refused(Refused::TokenCount | Refused::Token) => TOKEN_HINT,
            Self::Refused(Refused::HostCount | Refused::Host(_) | Refused::Origin(_)) => NAME_HINT,
            Self::OnlyReads => ONLY_READS_HINT,
            Self::NoRoom => "Try again in a moment.",
            Self::BodyTimeout(_) => "Send the whole body at once.",
            Self::NoSuchRoute => "docs/control-port.md lists the routes of the control port.",
            Self::NoSuchTask => "POST /messages responds with the task's ID.",
            Self::NoSuchOutboxRow => "POST /outbox responds with the IDs of its rows.",
            Self::MethodNotAllowed => "Use POST to change something and GET to read.",
            Self::UnsupportedMediaType => "Send `Content-Type: application/json`.",
            Self::Invalid { hint, .. } => hint,
            Self::Body => "Send at most 1 MiB; to /outbox a file of at most 20 MiB.",
            Self::TaskEnded(_) => TASK_ENDED_HINT,
            Self::TaskOpen(_) => "Wait until it has ended, or cancel it first: POST /tasks/{id}/cancel.",
            Self::TaskDone => "To run it again, force it with ?force=true or \"force\": true.",
            Self::NothingToRun => "Only messages with a text, from an allowed chat, can be run.",
            Self::Rejected(_, rejection) => rejection_hint(rejection),
            Self::NoSuchApproval => "`supervisor approvals` lists those that wait.",
            Self::NoToolServer => "Try again in a moment; `supervisor check` says more.",
            Self::NoSuchCode => CODE_HINT,
            Self::NoSuchPairing => "`supervisor chats` lists them.",
            Self::ChatConfigured => CHAT_CONFIGURED_HINT,
            Self::NothingToAccept => "The journal is what was read of it.",
            Self::NothingToUndo => UNDO_HINT,
            Self::ToolServer(_) => "Try again in a moment: what is undone already is not undone twice.",
            Self::PageOff => "Start the supervisor without AUTONOUS_PAGE=false.",
            Self::Node(_) => "docs/nodes.md says how nodes share a database.",
            Self::PruneFailed => "What was deleted stays deleted. See the supervisor's log, then try again.",
            Self::Store(_) => "Try again; see the supervisor's log.",
        }
    }
}

fn rejected_as(channel: &ChannelName, rejection: &Rejection) -> (StatusCode, Cow<'static, str>) {
    match rejection {
        Rejection::Off { .. } => {
            let code = format!("{}_OFF", channel.as_str().to_ascii_uppercase());
            (StatusCode::CONFLICT, code.into())
        }
        Rejection::ChatNotAllowed { .. } => (StatusCode::FORBIDDEN, "CHAT_NOT_ALLOWED".into()),
        Rejection::Invalid(_) => (StatusCode::BAD_REQUEST, "INVALID_ARGUMENT".into()),
    }
}

fn rejection_hint(rejection: &Rejection) -> &'static str {
    match rejection {
        Rejection::Off { hint } | Rejection::ChatNotAllowed { hint } => hint,
        Rejection::Invalid(_) => OUTBOX_HINT,
    }
}

fn rejected(channel: &ChannelName, rejection: &Rejection) -> String {
    match rejection {
        Rejection::Off { .. } => format!("the channel {channel} is off"),
        Rejection::ChatNotAllowed { .. } => "the chat is not on the allowlist".to_owned(),
        Rejection::Invalid(message) => message.clone(),
    }
}

impl IntoResponse for ControlError {
    fn into_response(self) -> Response {
        if let Self::Store(error) = &self {
            tracing::error!(%error, "a request to the control port failed");
        }
        let (status, code) = self.status_and_code();
        let body = json!({"error": {"code": code, "message": self.to_string(), "hint": self.hint()}});
        let mut response = (status, Json(body)).into_response();
        if matches!(self, Self::NoRoom) {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}
