//! Refuses requests that the port must not let in ([`http_port::Access`]), with the envelope.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http_port::{Access, Refused};
use protocol::{ErrorCode, ToolError};

use super::response;

/// Refuses requests for other hosts and from foreign pages, on every route.
#[expect(clippy::result_large_err, reason = "the error is the answer")]
pub(super) fn check_host(access: &Access, request: &Request) -> Result<(), Response> {
    let checked = access.check_host(request.headers(), request.uri());
    checked.map_err(|refused| refusal(&refused, request))
}

pub(super) async fn require_token(
    State(access): State<Arc<Access>>,
    request: Request,
    next: Next,
) -> Response {
    // Where callers need no token, an approver's is still none of a caller.
    if access.is_approver(request.headers()) {
        return refusal(&Refused::Token, &request);
    }
    match access.check_token(request.headers()) {
        Ok(()) => next.run(request).await,
        Err(refused) => refusal(&refused, &request),
    }
}

/// Lets in callers with the approver's token alone.
pub(super) async fn require_approver(
    State(access): State<Arc<Access>>,
    request: Request,
    next: Next,
) -> Response {
    if access.is_approver(request.headers()) {
        return next.run(request).await;
    }
    let message = "Only the approver's token opens this route.";
    let hint = "Send it as `Authorization: Bearer <token>`; `supervisor token approver` prints it, and \
                AUTONOUS_TOOL_APPROVER_TOKEN sets it for a tool server alone.";
    response::error_response("", ToolError::new(ErrorCode::Unauthorized, message).with_hint(hint))
}

/// The same for routes that an approver may use as well.
pub(super) async fn require_token_or_approver(
    State(access): State<Arc<Access>>,
    request: Request,
    next: Next,
) -> Response {
    if access.is_approver(request.headers()) {
        return next.run(request).await;
    }
    require_token(State(access), request, next).await
}

fn refusal(refused: &Refused, request: &Request) -> Response {
    let code = match refused {
        Refused::HostCount | Refused::Host(_) | Refused::Origin(_) => ErrorCode::OriginRefused,
        Refused::TokenCount | Refused::Token => ErrorCode::Unauthorized,
    };
    let error = ToolError::new(code, refused.to_string());
    response::error_response(response::tool_in(request.uri().path()), error)
}
