//! `POST /tools/{name}`: a call, from its headers and body to its envelope.

use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Path, Request, State};
use axum::http::HeaderMap;
use axum::response::Response;
use http_port::{Access, preferred_wait};
use protocol::hash::sha256;
use protocol::{SessionId, ToolError};
use toolkit::arguments::{elide, invalid};

use super::state::AppState;
use super::{body, catalogue, response};

pub(super) async fn call(
    State(app): State<Arc<AppState>>,
    Path(name): Path<String>,
    request: Request,
) -> Response {
    let (parts, content) = request.into_parts();
    let tag = app.catalogue.of(session_named(&parts.headers)).tag().clone();
    let read = body::read(&parts.headers, content).await;
    let mut response = match read.and_then(|body| request_of(&app.access, &name, &parts.headers, body)) {
        Ok(request) => response::envelope_response(app.runner.run(request).await),
        Err(error) => response::error_response(&name, error),
    };
    response.headers_mut().insert(catalogue::TAG_HEADER, tag);
    response
}

/// The session that a request names, as it is written.
pub(super) fn session_named(headers: &HeaderMap) -> &str {
    headers.get("x-session-id").and_then(|name| name.to_str().ok()).unwrap_or_default()
}

/// A call with the IDs in the headers.
pub(super) fn request_of(
    access: &Access,
    name: &str,
    headers: &HeaderMap,
    body: Vec<u8>,
) -> Result<toolkit::Request, ToolError> {
    Ok(toolkit::Request {
        tool: name.to_owned(),
        body,
        session: id(headers, "x-session-id")?.unwrap_or_else(SessionId::default_session),
        task: id(headers, "x-task-id")?,
        parent: id(headers, "x-parent-event-id")?,
        request_id: id::<protocol::EventId>(headers, "x-request-id")?.map(String::from),
        traceparent: id::<protocol::EventId>(headers, "traceparent")?.map(String::from),
        idempotency_key: id::<protocol::EventId>(headers, "idempotency-key")?.map(String::from),
        token_sha256: access.caller(headers).map(|caller| sha256(caller.as_bytes())),
        wait: wait_of(headers)?,
        is_scheduled: headers.contains_key(protocol::task::SCHEDULED_TASK),
        attachment: None,
    })
}

fn wait_of(headers: &HeaderMap) -> Result<Duration, ToolError> {
    preferred_wait(headers).map_err(|wait| {
        let what = elide(&wait, 60);
        invalid(format!("Header Prefer has a wait that is no number of seconds: wait{what}."))
            .with_hint("Write `Prefer: wait=60`, or leave it out.")
    })
}

fn id<T: FromStr<Err = protocol::ids::InvalidId>>(
    headers: &HeaderMap,
    name: &str,
) -> Result<Option<T>, ToolError> {
    let Some(value) = headers.get(name) else { return Ok(None) };
    let parsed = value.to_str().map_err(|_| protocol::ids::InvalidId).and_then(str::parse);
    parsed.map(Some).map_err(|error| {
        invalid(format!("Header {name} is not a valid ID: {error}."))
            .with_hint("Correct the header or leave it out.")
    })
}
