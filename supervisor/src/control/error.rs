//! What the control port answers when it can not do what it was asked:
//! `{"error": {"code": …, "message": …, "hint": …}}`.

use std::borrow::Cow;

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::channel::{ChannelName, Rejection};
use crate::store::StoreError;

/// Why a request was refused.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// The token is missing or wrong.
    #[error("the control token is missing or wrong")]
    Unauthorized,
    /// The Host or Origin is not ours.
    #[error("{0} is not an address of this supervisor")]
    ForeignHost(String),
    /// There is no such route.
    #[error("there is no such route")]
    NoSuchRoute,
    /// The route has no such method.
    #[error("this route does not take this method")]
    MethodNotAllowed,
    /// The body is not declared as JSON.
    #[error("the body is not declared as JSON")]
    UnsupportedMediaType,
    /// The body or the query is not as it should be.
    #[error("{message}")]
    Invalid {
        /// What is wrong.
        message: String,
        /// What would be right.
        hint: &'static str,
    },
    /// The body is too large.
    #[error("the body is too large or could not be read")]
    Body,
    /// There is no such task.
    #[error("there is no task with this id")]
    NoSuchTask,
    /// The task has ended already.
    #[error("the task has ended already: it is {0}")]
    TaskEnded(String),
    /// The task has not ended.
    #[error("the task has not ended: it is {0}")]
    TaskOpen(String),
    /// The task is done.
    #[error("a task that is done is not run again unasked")]
    TaskDone,
    /// The message was kept without a text.
    #[error("this message was kept without a text: there is nothing to run")]
    NothingToRun,
    /// The channel does not take the message.
    #[error("{}", rejected(.0, .1))]
    Rejected(ChannelName, Rejection),
    /// There is no such row.
    #[error("there is nothing in the outbox with this id")]
    NoSuchDeparture,
    /// Pruning did not come to its end.
    #[error("not all that is old could be taken away")]
    PruneFailed,
    /// The database failed.
    #[error("this could not be stored or looked up just now")]
    Store(#[from] StoreError),
}

impl ControlError {
    fn status_and_code(&self) -> (StatusCode, Cow<'static, str>) {
        let (status, code) = match self {
            Self::Rejected(channel, Rejection::Off { .. }) => {
                let code = format!("{}_OFF", channel.as_str().to_ascii_uppercase());
                return (StatusCode::CONFLICT, code.into());
            }
            Self::Unauthorized => (StatusCode::UNAUTHORIZED, "UNAUTHORIZED"),
            Self::ForeignHost(_) => (StatusCode::FORBIDDEN, "ORIGIN_REFUSED"),
            Self::NoSuchRoute | Self::NoSuchTask | Self::NoSuchDeparture => {
                (StatusCode::NOT_FOUND, "NOT_FOUND")
            }
            Self::MethodNotAllowed => (StatusCode::METHOD_NOT_ALLOWED, "METHOD_NOT_ALLOWED"),
            Self::UnsupportedMediaType => (StatusCode::UNSUPPORTED_MEDIA_TYPE, "UNSUPPORTED_MEDIA_TYPE"),
            Self::Invalid { .. } => (StatusCode::BAD_REQUEST, "INVALID_ARGUMENT"),
            Self::Body => (StatusCode::PAYLOAD_TOO_LARGE, "PAYLOAD_TOO_LARGE"),
            Self::TaskEnded(_) => (StatusCode::CONFLICT, "TASK_ENDED"),
            Self::TaskOpen(_) => (StatusCode::CONFLICT, "TASK_OPEN"),
            Self::TaskDone => (StatusCode::CONFLICT, "TASK_DONE"),
            Self::NothingToRun => (StatusCode::CONFLICT, "NOTHING_TO_RUN"),
            Self::Rejected(_, Rejection::ChatNotAllowed { .. }) => {
                (StatusCode::FORBIDDEN, "CHAT_NOT_ALLOWED")
            }
            Self::Rejected(_, Rejection::Invalid(_)) => (StatusCode::BAD_REQUEST, "INVALID_ARGUMENT"),
            Self::PruneFailed => (StatusCode::INTERNAL_SERVER_ERROR, "PRUNE_FAILED"),
            Self::Store(_) => (StatusCode::SERVICE_UNAVAILABLE, "STORE_FAILED"),
        };
        (status, code.into())
    }

    fn hint(&self) -> &'static str {
        match self {
            Self::Unauthorized => {
                "Send `Authorization: Bearer <token>`; `supervisor token control` prints it."
            }
            Self::ForeignHost(_) => "Call it by its loopback address and port.",
            Self::NoSuchRoute => "docs/operations.md lists the routes of the control port.",
            Self::MethodNotAllowed => "What changes something is POST; what looks is GET.",
            Self::UnsupportedMediaType => "Send `Content-Type: application/json`.",
            Self::Invalid { hint, .. } => hint,
            Self::Body => "Send at most 1 MiB; to /outbox a file of at most 20 MiB.",
            Self::TaskEnded(_) => {
                "What has ended can not be cancelled; POST /tasks/{id}/requeue runs it again."
            }
            Self::TaskOpen(_) => "Wait until it has ended, or cancel it first: POST /tasks/{id}/cancel.",
            Self::TaskDone => {
                "It would be done twice. If that is wanted: force, as ?force=true or \"force\": true."
            }
            Self::NothingToRun => "Only messages with a text, from an allowed chat, can be run.",
            Self::Rejected(_, Rejection::Off { hint } | Rejection::ChatNotAllowed { hint }) => hint,
            Self::Rejected(_, Rejection::Invalid(_)) => super::outbox::HINT,
            Self::NoSuchDeparture => "POST /outbox answers with the ids of its rows.",
            Self::NoSuchTask => "POST /messages answers with the task's id.",
            Self::PruneFailed => {
                "What is gone stays gone; the supervisor's log has the cause. Ask again after that."
            }
            Self::Store(_) => "Try again; the supervisor's log has the cause.",
        }
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
        (status, Json(body)).into_response()
    }
}
