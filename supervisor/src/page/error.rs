//! Why a page cannot be shown or an action was refused, as a page.

use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Response};
use store::StoreError;
use store::queries::QueryError;

use crate::approvals::words::sentence;
use crate::control::error::ControlError;

#[derive(Debug, thiserror::Error)]
pub(super) enum PageError {
    #[error(transparent)]
    Control(#[from] ControlError),
    #[error(transparent)]
    Query(#[from] QueryError),
    /// A refusal in words: its status, what was wrong, and what to do.
    #[error("{1}")]
    Refused(StatusCode, String, &'static str),
}

impl PageError {
    pub(super) fn missing(what: &'static str) -> Self {
        Self::Refused(StatusCode::NOT_FOUND, format!("There is no such {what}."), "It may have been pruned.")
    }

    pub(super) fn invalid(message: impl Into<String>, hint: &'static str) -> Self {
        Self::Refused(StatusCode::BAD_REQUEST, message.into(), hint)
    }
}

impl From<StoreError> for PageError {
    fn from(error: StoreError) -> Self {
        Self::Control(error.into())
    }
}

impl IntoResponse for PageError {
    fn into_response(self) -> Response {
        let (status, message, hint) = match self {
            Self::Control(error) => {
                if let ControlError::Store(error) = &error {
                    tracing::error!(%error, "an action of the page failed");
                }
                (error.status(), sentence(&error.to_string()), error.hint())
            }
            Self::Query(error) => {
                tracing::error!(error = process::error_chain(&error), "the page could not read the database");
                let message = "The database gives no answer.".to_owned();
                (StatusCode::SERVICE_UNAVAILABLE, message, "Try again; see the supervisor's log.")
            }
            Self::Refused(status, message, hint) => (status, message, hint),
        };
        let title = if status == StatusCode::NOT_FOUND { "Not found" } else { "Not done" };
        let page = page::frame::refusal(title, &message, hint);
        (status, Html(page.into_string())).into_response()
    }
}
