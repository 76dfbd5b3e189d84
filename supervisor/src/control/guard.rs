//! Who may send requests: checks the token, the Host and the Origin.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;

use super::Control;
use super::error::ControlError;

pub(crate) async fn require_token(
    State(control): State<Arc<Control>>,
    request: Request,
    next: Next,
) -> Result<Response, ControlError> {
    control.access.check_token(request.headers())?;
    Ok(next.run(request).await)
}

/// Requires one of our own names as Host, and no foreign Origin.
pub(crate) async fn require_own_host(
    State(control): State<Arc<Control>>,
    request: Request,
    next: Next,
) -> Result<Response, ControlError> {
    control.access.check_host(request.headers(), request.uri())?;
    Ok(next.run(request).await)
}
