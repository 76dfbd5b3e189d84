//! Who may send requests: checks the token, the Host and the Origin.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::Method;
use axum::http::header::AUTHORIZATION;
use axum::middleware::Next;
use axum::response::Response;
use tower::ServiceExt as _;

use super::error::ControlError;
use super::{Control, reading};

pub(crate) async fn require_token(
    State(control): State<Arc<Control>>,
    request: Request,
    next: Next,
) -> Result<Response, ControlError> {
    reading::admit(&control, &request)?;
    Ok(next.run(request).await)
}

/// The same for routes that programs and browsers share: a `GET` without a token is that of a browser.
pub(crate) async fn require_token_or_browser(
    State((control, browsers)): State<(Arc<Control>, Option<Router>)>,
    request: Request,
    next: Next,
) -> Result<Response, ControlError> {
    let is_browser = request.method() == Method::GET && !request.headers().contains_key(AUTHORIZATION);
    if let Some(browsers) = browsers.filter(|_| is_browser) {
        return Ok(browsers.oneshot(request).await.unwrap_or_else(|never| match never {}));
    }
    reading::admit(&control, &request)?;
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
