//! Reads request bodies: JSON of the right shape, or an error that says what would be right.

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use http_port::is_body_timeout;
use serde::de::DeserializeOwned;

use super::error::ControlError;

pub(crate) type Body = Result<Bytes, BytesRejection>;

/// Parses a body; `hint` shows the right shape.
pub(crate) fn parse<T: DeserializeOwned>(
    headers: &HeaderMap,
    body: Body,
    hint: &'static str,
) -> Result<T, ControlError> {
    require_json(headers)?;
    let body = body.map_err(|error| is_body_timeout(&error).map_or(ControlError::Body, Into::into))?;
    serde_json::from_slice(&body).map_err(|error| invalid(format!("the body: {error}"), hint))
}

pub(crate) fn invalid(message: impl Into<String>, hint: &'static str) -> ControlError {
    ControlError::Invalid { message: message.into(), hint }
}

fn require_json(headers: &HeaderMap) -> Result<(), ControlError> {
    let declared = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
    let media_type = declared.split(';').next().unwrap_or("").trim();
    if media_type.eq_ignore_ascii_case("application/json") {
        Ok(())
    } else {
        Err(ControlError::UnsupportedMediaType)
    }
}
