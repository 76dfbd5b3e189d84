//! From an envelope to a response: the status of its code, as JSON or as plain text for a model.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::Query;
use axum::extract::rejection::QueryRejection;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::Stream;
use protocol::text_form::text_form;
use protocol::{Envelope, ErrorCode, ToolError};
use toolkit::arguments::{elide, invalid};

/// The response that carries an envelope; [`Wanted::write`] adds the body.
pub(super) fn envelope_response(envelope: Envelope) -> Response {
    let status = StatusCode::from_u16(envelope.http_status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = status.into_response();
    if let Some(error) = &envelope.meta.error {
        if let Some(seconds) = error.retry_after_seconds {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if error.code == ErrorCode::Unauthorized {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
    }
    response.extensions_mut().insert(PendingEnvelope(Box::new(envelope)));
    response
}

/// The response to a request that never became a call.
pub(super) fn error_response(tool: &str, error: ToolError) -> Response {
    tracing::info!(tool, code = %error.code, message = error.message, "a request was refused");
    envelope_response(toolkit::runner::refusal(tool, error))
}

/// Why a request that is no call is not answered otherwise.
pub(super) struct Refusal(ToolError);

impl From<ToolError> for Refusal {
    fn from(error: ToolError) -> Self {
        Self(error)
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        error_response("", self.0)
    }
}

/// The error about something that is not there, with a status that says so.
pub(super) fn not_found(message: impl Into<String>, hint: &str) -> ToolError {
    let error = ToolError::new(ErrorCode::NotFound, message).with_hint(hint);
    ToolError { http_status: Some(404), ..error }
}

/// What follows the `?` of a request; `hint` says what may.
pub(super) fn query_of<T>(query: Result<Query<T>, QueryRejection>, hint: &str) -> Result<T, ToolError> {
    query.map(|Query(query)| query).map_err(|rejection| {
        let what = elide(&rejection.body_text(), 200);
        invalid(format!("The query is not understood: {what}.")).with_hint(hint)
    })
}

/// How often a quiet stream says that it lives.
pub(super) const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// What it says then.
pub(super) const ALIVE: Bytes = Bytes::from_static(b":\n\n");

/// What a stream of events begins with.
pub(super) fn hello(line: &'static [u8]) -> impl Stream<Item = Bytes> + Send + 'static {
    futures_util::stream::iter([Bytes::from_static(line)])
}

/// Server-sent events, as they come. Nothing on the way keeps them.
pub(super) fn event_stream(parts: impl Stream<Item = Bytes> + Send + 'static) -> Response {
    let headers = [
        (header::CONTENT_TYPE, EVENT_STREAM),
        (header::CACHE_CONTROL, "no-store"),
        (header::HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    let parts = futures_util::StreamExt::map(parts, Ok::<_, Infallible>);
    (StatusCode::OK, headers, Body::from_stream(parts)).into_response()
}

/// The tool that a path names, or an empty string.
pub(super) fn tool_in(path: &str) -> &str {
    path.strip_prefix("/tools/").unwrap_or_default()
}

#[derive(Clone)]
struct PendingEnvelope(Box<Envelope>);

/// What the caller asked for.
pub(super) struct Wanted {
    as_text: bool,
    request_id: Option<HeaderValue>,
}

impl Wanted {
    pub(super) fn by(headers: &HeaderMap) -> Self {
        Self { as_text: wants_text(headers), request_id: headers.get("x-request-id").cloned() }
    }

    /// Writes an envelope in the caller's form, and returns the caller's request ID.
    pub(super) fn write(self, response: &mut Response) {
        if let Some(PendingEnvelope(envelope)) = response.extensions_mut().remove::<PendingEnvelope>() {
            let (media_type, body) = if self.as_text {
                ("text/plain; charset=utf-8", text_form(&envelope).into_bytes())
            } else {
                ("application/json", json(&envelope))
            };
            *response.body_mut() = body.into();
            response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
        }
        if let Some(request_id) = self.request_id {
            response.headers_mut().insert("x-request-id", request_id);
        }
    }
}

/// Has room from the beginning, so that a long answer is not copied while it grows.
fn json(envelope: &Envelope) -> Vec<u8> {
    let mut body = Vec::with_capacity(2 * envelope.stdout.len() + 2048);
    if serde_json::to_writer(&mut body, envelope).is_err() {
        body.clear();
    }
    body
}

/// Whether the caller lists plain text before JSON and before `*/*`.
fn wants_text(headers: &HeaderMap) -> bool {
    matches!(wanted_first(headers), Some("text/plain" | "text/*"))
}

/// Whether the caller lists a stream of events before JSON and before plain text.
pub(super) fn wants_stream(headers: &HeaderMap) -> bool {
    wanted_first(headers) == Some(EVENT_STREAM)
}

const EVENT_STREAM: &str = "text/event-stream";

/// The first media type that we have.
fn wanted_first(headers: &HeaderMap) -> Option<&str> {
    let accepted = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let mut listed = accepted.split(',').map(|entry| entry.split(';').next().unwrap_or_default().trim());
    listed.find(|media_type| {
        let is_ours =
            ["text/plain", "text/*", "application/json", "application/*", "*/*"].contains(media_type);
        is_ours || *media_type == EVENT_STREAM
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_is_sent_when_it_is_listed_first() {
        let check = |accept: &'static str, text: bool| {
            let headers = HeaderMap::from_iter([(header::ACCEPT, HeaderValue::from_static(accept))]);
            assert_eq!(wants_text(&headers), text, "{accept}");
        };
        check("text/plain", true);
        check("text/plain;q=0.9, application/json", true);
        check("application/json, text/plain", false);
        check("*/*", false);
        check("text/html, text/plain", true);
        check("", false);
        check("text/event-stream, text/plain", false);
    }
}
