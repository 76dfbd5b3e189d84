//! `POST /tools/{name}`: a call, from its headers and body to its envelope. Other routes read the headers and
//! bodies of their requests in the same way.
//!
//! A body is declared as JSON, and limited in size and time. A client that sends too much reads the answer
//! only after it has sent everything; closing the connection early would look like a network failure. So we
//! read the excess and discard it, up to a limit.

use std::borrow::Cow;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::body::{Body, HttpBody as _};
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, header};
use axum::response::Response;
use http_body_util::BodyExt as _;
use http_port::{Access, BodyTimeout, is_body_timeout, preferred_wait};
use protocol::hash::sha256;
use protocol::{ErrorCode, SessionId, ToolError};
use toolkit::arguments::{elide, invalid};

use super::Granted;
use super::state::AppState;
use super::{catalogue, live_calls, response};

const MAX_BODY_BYTES: usize = 8 * 1024 * 1024;

/// How much excess is read and discarded.
pub(super) const MAX_DISCARDED_BYTES: usize = 64 * 1024 * 1024;

/// A body that declares more than this is not read at all.
const MAX_READ_BYTES: u64 = (MAX_BODY_BYTES + MAX_DISCARDED_BYTES) as u64;

/// What a named token is known by begins with it. The server's own token is known by another name, and where
/// there are named tokens no further one is accepted.
const TOKEN_NAMED: &str = "token ";

pub(super) async fn call(
    State(app): State<Arc<AppState>>,
    Path(name): Path<String>,
    Extension(granted): Extension<Granted>,
    request: Request,
) -> Response {
    let (parts, content) = request.into_parts();
    let tag = app.catalogue.of(&app.runner, session_named(&parts.headers), &granted).tag().clone();
    let read = read_body(&parts.headers, content).await;
    let caller = (&parts.headers, &granted);
    let mut response = match read.and_then(|body| request_of(&app.access, &name, caller, body)) {
        Ok(request) if response::wants_stream(&parts.headers) && app.runner.streams(&name) => {
            live_calls::answer(&app.runner, &app.live, request, &parts.headers).await
        }
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
    (headers, Granted(grant)): (&HeaderMap, &Granted),
    body: Vec<u8>,
) -> Result<toolkit::Request, ToolError> {
    // A token is known by its name, so that its keys outlive a new secret.
    let caller = match grant {
        Some(grant) => Some(format!("{TOKEN_NAMED}{}", grant.name()).into()),
        None => access.caller(headers).map(Cow::Borrowed),
    };
    Ok(toolkit::Request {
        session: id(headers, "x-session-id")?.unwrap_or_else(SessionId::default_session),
        task: id(headers, "x-task-id")?,
        parent: id(headers, "x-parent-event-id")?,
        request_id: id::<protocol::EventId>(headers, "x-request-id")?.map(String::from),
        traceparent: id::<protocol::EventId>(headers, "traceparent")?.map(String::from),
        idempotency_key: id::<protocol::EventId>(headers, "idempotency-key")?.map(String::from),
        token_sha256: caller.map(|caller: Cow<'_, str>| sha256(caller.as_bytes())),
        grant: grant.clone(),
        wait: wait_of(headers)?,
        is_scheduled: headers.contains_key(protocol::task::SCHEDULED_TASK),
        is_unattended: headers.contains_key(protocol::task::UNATTENDED_TASK),
        ..toolkit::Request::new(name, body)
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

/// Reads the body of a request, which is JSON.
pub(super) async fn read_body(headers: &HeaderMap, body: Body) -> Result<Vec<u8>, ToolError> {
    let declared = check_declaration(headers);
    if body.size_hint().lower() > MAX_READ_BYTES {
        return Err(too_large());
    }
    let collected = collect(body).await;
    declared.and(collected)
}

/// The same where a request may come without a body.
pub(super) async fn read_optional_body(headers: &HeaderMap, body: Body) -> Result<Vec<u8>, ToolError> {
    if body.is_end_stream() { Ok(Vec::new()) } else { read_body(headers, body).await }
}

fn check_declaration(headers: &HeaderMap) -> Result<(), ToolError> {
    let content_type = headers.get(header::CONTENT_TYPE).map(|value| value.to_str().unwrap_or_default());
    let Some(content_type) = content_type else {
        return Err(unsupported("The request has no Content-Type.".to_owned()));
    };
    let media_type = content_type.split(';').next().unwrap_or_default().trim();
    if !media_type.eq_ignore_ascii_case("application/json") {
        return Err(unsupported(format!("The body is declared as {:?}.", elide(content_type, 100))));
    }
    match headers.get(header::CONTENT_ENCODING) {
        Some(encoding) if encoding != "identity" => {
            Err(unsupported("The body is compressed; compression is not supported.".to_owned()))
        }
        _ => Ok(()),
    }
}

fn unsupported(message: String) -> ToolError {
    ToolError::new(ErrorCode::UnsupportedMediaType, message)
}

async fn collect(mut body: Body) -> Result<Vec<u8>, ToolError> {
    let expected = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    let mut bytes = Vec::with_capacity(expected.min(MAX_BODY_BYTES));
    let mut received: usize = 0;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| cut_short(&error))?;
        let Ok(data) = frame.into_data() else { continue };
        received += data.len();
        if received <= MAX_BODY_BYTES {
            bytes.extend_from_slice(&data);
        } else if received > MAX_BODY_BYTES + MAX_DISCARDED_BYTES {
            break;
        }
    }
    if received > MAX_BODY_BYTES {
        return Err(too_large());
    }
    Ok(bytes)
}

/// Why a body could not be read to its end.
pub(super) fn cut_short(error: &axum::Error) -> ToolError {
    match is_body_timeout(error) {
        Some(timeout) => too_slow(timeout),
        None => invalid("The body ended before it was complete."),
    }
}

fn too_slow(timeout: BodyTimeout) -> ToolError {
    let error = ToolError::new(ErrorCode::Timeout, timeout.to_string());
    ToolError { http_status: Some(408), ..error.with_hint("Send the whole body at once.") }
}

fn too_large() -> ToolError {
    ToolError::new(ErrorCode::PayloadTooLarge, format!("The body has more than {MAX_BODY_BYTES} bytes."))
}
