//! `/mcp`: the Model Context Protocol. A message is checked and read like a call, and its headers say whose
//! calls it makes.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::Method;
use axum::response::Response;
use mcp::Caller;
use protocol::{ErrorCode, ToolError};

use super::call::{read_body, request_of, session_named};
use super::state::AppState;
use super::{Granted, RETRY_AFTER_SECONDS, response};

pub(super) async fn answer(
    State(app): State<Arc<AppState>>,
    Extension(granted): Extension<Granted>,
    request: Request,
) -> Response {
    let (parts, content) = request.into_parts();
    // Other methods open and close a client's session, and have no body.
    let read = match parts.method {
        Method::POST => read_body(&parts.headers, content).await,
        _ => Ok(Vec::new()),
    };
    let caller = (&parts.headers, &granted);
    let read = read.and_then(|body| Ok((request_of(&app.access, "", caller, Vec::new())?, body)));
    let (call, body) = match read {
        Ok(read) => read,
        Err(error) => return response::error_response("", error),
    };
    let caller = Caller::new(call, !session_named(&parts.headers).is_empty());
    match app.mcp.answer(Request::from_parts(parts, ()), body, caller).await {
        Some(answer) => answer.map(Body::new),
        None => response::error_response("", too_many_sessions()),
    }
}

fn too_many_sessions() -> ToolError {
    let message = "Too many sessions of the Model Context Protocol are open.";
    let mut error = ToolError::new(ErrorCode::Overloaded, message);
    error.retry_after_seconds = Some(RETRY_AFTER_SECONDS);
    error.with_hint(
        "End one (DELETE /mcp with its Mcp-Session-Id), or use revision 2026-07-28, which has none.",
    )
}
