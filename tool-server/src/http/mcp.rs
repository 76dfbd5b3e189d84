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
use super::response::Refusal;
use super::state::AppState;
use super::{Granted, RETRY_AFTER_SECONDS};

pub(super) async fn answer(
    State(app): State<Arc<AppState>>,
    Extension(granted): Extension<Granted>,
    request: Request,
) -> Result<Response, Refusal> {
    let (parts, content) = request.into_parts();
    // Other methods open and close a client's session, and have no body.
    let body = match parts.method {
        Method::POST => read_body(&parts.headers, content).await?,
        _ => Vec::new(),
    };
    let call = request_of(&app.access, "", (&parts.headers, &granted), Vec::new())?;
    let caller = Caller::new(call, !session_named(&parts.headers).is_empty());
    let answer = app.mcp.answer(Request::from_parts(parts, ()), body, caller).await;
    Ok(answer.ok_or_else(too_many_sessions)?.map(Body::new))
}

fn too_many_sessions() -> ToolError {
    let message = "Too many sessions of the Model Context Protocol are open.";
    let hint = "End one (DELETE /mcp with its Mcp-Session-Id), or use revision 2026-07-28, which has none.";
    ToolError::new(ErrorCode::Overloaded, message).with_hint(hint).with_retry_after(RETRY_AFTER_SECONDS)
}
