//! A call's body: declared as JSON, limited in size and time.
//!
//! A client that sends too much reads the answer only after it has sent everything; closing the connection
//! early would look like a network failure. So we read the excess and discard it, up to a limit.

use axum::body::{Body, HttpBody as _};
use axum::http::{HeaderMap, header};
use http_body_util::BodyExt as _;
use http_port::{BodyTimeout, is_body_timeout};
use protocol::{ErrorCode, ToolError};
use toolkit::arguments::{elide, invalid};

const MAX_BODY_BYTES: usize = 8 * 1024 * 1024;

/// How much excess is read and discarded.
pub(super) const MAX_DISCARDED_BYTES: usize = 64 * 1024 * 1024;

/// A body that declares more than this is not read at all.
const MAX_READ_BYTES: u64 = (MAX_BODY_BYTES + MAX_DISCARDED_BYTES) as u64;

pub(super) async fn read(headers: &HeaderMap, body: Body) -> Result<Vec<u8>, ToolError> {
    let declared = check_declaration(headers);
    if body.size_hint().lower() > MAX_READ_BYTES {
        return Err(too_large());
    }
    let collected = collect(body).await;
    declared.and(collected)
}

/// The same where a request may come without a body.
pub(super) async fn read_optional(headers: &HeaderMap, body: Body) -> Result<Vec<u8>, ToolError> {
    if body.is_end_stream() { Ok(Vec::new()) } else { read(headers, body).await }
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
