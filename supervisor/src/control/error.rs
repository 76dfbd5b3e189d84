//! What the control port answers when it can not do what it was asked:
//! `{"error": {"code": …, "message": …, "hint": …}}`.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::json;

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
    #[error("{0}")]
    Invalid(String),
    /// The body is too large.
    #[error("the body is too large or could not be read")]
    Body,
    /// There is no such task.
    #[error("there is no task with this id")]
    NoSuchTask,
    /// The database failed.
    #[error("the message could not be stored or looked up just now")]
    Store(#[from] StoreError),
}

impl ControlError {
    fn parts(&self) -> (StatusCode, &'static str, &'static str) {
        match self {
            Self::Unauthorized => (
                StatusCode::UNAUTHORIZED,
                "UNAUTHORIZED",
                "Send `Authorization: Bearer <token>`; `supervisor token control` prints it.",
            ),
            Self::ForeignHost(_) => {
                (StatusCode::FORBIDDEN, "ORIGIN_REFUSED", "Call it by its loopback address and port.")
            }
            Self::NoSuchRoute => (
                StatusCode::NOT_FOUND,
                "NOT_FOUND",
                "POST /messages, GET /messages/{task_id}, /livez, /readyz.",
            ),
            Self::MethodNotAllowed => (
                StatusCode::METHOD_NOT_ALLOWED,
                "METHOD_NOT_ALLOWED",
                "Messages are sent with POST /messages; everything else is GET.",
            ),
            Self::UnsupportedMediaType => (
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "UNSUPPORTED_MEDIA_TYPE",
                "Send `Content-Type: application/json`.",
            ),
            Self::Invalid(_) => (
                StatusCode::BAD_REQUEST,
                "INVALID_ARGUMENT",
                "Send {\"text\": \"…\"}, and \"chat\" if you like.",
            ),
            Self::Body => (StatusCode::PAYLOAD_TOO_LARGE, "PAYLOAD_TOO_LARGE", "Send at most 1 MiB."),
            Self::NoSuchTask => {
                (StatusCode::NOT_FOUND, "NOT_FOUND", "POST /messages answers with the task's id.")
            }
            Self::Store(_) => (
                StatusCode::SERVICE_UNAVAILABLE,
                "STORE_FAILED",
                "Try again; the supervisor's log has the cause.",
            ),
        }
    }
}

impl IntoResponse for ControlError {
    fn into_response(self) -> Response {
        if let Self::Store(error) = &self {
            tracing::error!(%error, "a request to the control port failed");
        }
        let (status, code, hint) = self.parts();
        let body = json!({"error": {"code": code, "message": self.to_string(), "hint": hint}});
        (status, Json(body)).into_response()
    }
}
