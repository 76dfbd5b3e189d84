//! Refuses requests that the port must not let in ([`http_port::Access`]), with the envelope.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http_port::{Access, Refused};
use protocol::{ErrorCode, ToolError};

use super::response;

/// Refuses requests for other hosts and from foreign pages, on every route.
pub(super) async fn require_own_host(
    State(access): State<Arc<Access>>,
    request: Request,
    next: Next,
) -> Response {
    let checked = access.check_host(request.headers(), request.uri());
    let_in(checked, request, next).await
}

pub(super) async fn require_token(
    State(access): State<Arc<Access>>,
    request: Request,
    next: Next,
) -> Response {
    let checked = access.check_token(request.headers());
    let_in(checked, request, next).await
}

async fn let_in(checked: Result<(), Refused>, request: Request, next: Next) -> Response {
    let Err(refused) = checked else { return next.run(request).await };
    let code = match refused {
        Refused::HostCount | Refused::Host(_) | Refused::Origin(_) => ErrorCode::OriginRefused,
        Refused::TokenCount | Refused::Token => ErrorCode::Unauthorized,
    };
    let error = ToolError::new(code, refused.to_string());
    response::error_response(response::tool_in(request.uri().path()), error)
}
