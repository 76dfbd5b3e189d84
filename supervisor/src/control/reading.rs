//! What the token that only reads may ask at the control port. Whatever is not listed here needs the control
//! token.

use axum::extract::{MatchedPath, Request};
use axum::http::Method;
use http_port::presented_token;

use super::Control;
use super::error::ControlError;

/// The routes whose `GET` changes nothing and shows no token, code or secret. `/chats` shows codes that pair.
const READABLE: [&str; 9] = [
    "/status", "/metrics", "/nodes", "/messages/{task_id}", "/messages/{task_id}/words",
    "/outbox/{outbox_id}", "/approvals", "/approvals/{id}", "/approvals/stream",
];

/// Lets in requests with the control token, and those that only read with the token for that.
pub(super) fn admit(control: &Control, request: &Request) -> Result<(), ControlError> {
    let refused = match control.access.check_token(request.headers()) {
        Ok(()) => return Ok(()),
        Err(refused) => refused,
    };
    let presented = control.read_token.as_ref().zip(presented_token(request.headers()));
    match presented {
        Some((token, presented)) if token.matches(presented) && only_reads(request) => Ok(()),
        Some((token, presented)) if token.matches(presented) => Err(ControlError::OnlyReads),
        Some(_) | None => Err(refused.into()),
    }
}

/// A query of an approval can ask for what its question hides.
fn only_reads(request: &Request) -> bool {
    let path = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
    let reveals = request.uri().query().is_some_and(|query| query.contains("reveal"));
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    reads && !reveals && path.is_some_and(|path| READABLE.contains(&path))
}
