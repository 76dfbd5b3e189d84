//! HTTP: the routes, and the checks before them.
//!
//! Host and Origin → token → the route. Every failure on the way is answered with the envelope, like a
//! tool's own failure, so that a caller needs to understand one shape only.

pub mod api_document;
mod approval_document;
mod approvals;
mod call;
mod catalogue;
mod change_document;
mod changes;
mod docs;
mod effect_document;
mod effects;
mod file_document;
mod files;
mod journal;
mod journal_document;
mod live_calls;
mod live_stream;
mod llms_txt;
mod mcp;
mod response;
mod service;
mod state;

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use http_port::{Access, Refused, Routes};
use protocol::{ErrorCode, ToolError};
use toolkit::Grant;
use toolkit::arguments::elide;
use tower_http::catch_panic::CatchPanicLayer;

pub use catalogue::Catalogues;
pub use live_calls::LiveCalls;
pub use state::AppState;

/// What the token of a request may do; none of the server's own. Each request with a token has it, so that a
/// route that forgot to ask for it cannot be reached.
#[derive(Debug, Clone)]
pub(crate) struct Granted(pub(crate) Option<Arc<Grant>>);

/// When a client may try again that found no room.
const RETRY_AFTER_SECONDS: u64 = 1;

/// All routes of the server, and its answer to too many open connections.
pub fn routes(app: &Arc<AppState>) -> Routes {
    let when_full = Router::new().route("/livez", get(service::livez)).fallback(no_room);
    let (all, when_full) = (guarded(all(app), app), guarded(when_full, app));
    Routes { all, when_full, metrics: Some(app.meters.of_port()) }
}

fn all(app: &Arc<AppState>) -> Router<Arc<AppState>> {
    let with_token = Router::new()
        .route("/tools/{name}", post(call::call))
        .route("/tools", get(service::catalogue))
        .route("/mcp", post(mcp::answer).get(mcp::answer).delete(mcp::answer))
        .route("/files", get(files::download).put(files::upload))
        .route("/capabilities", get(service::capabilities))
        .route_layer(from_fn_with_state(Arc::clone(app), require_token));
    let with_either_token = Router::new()
        .route("/changes/{call_id}/undo", post(changes::undo))
        .route_layer(from_fn_with_state(Arc::clone(app), require_token_or_approver));
    let for_approvers = Router::new()
        .route("/approvals", get(approvals::list))
        .route("/approvals/stream", get(approvals::stream))
        .route("/approvals/{id}", get(approvals::one).post(approvals::decide))
        .route("/journal", get(journal::stream))
        .route("/journal/arguments/{name}", get(journal::arguments))
        .route("/journal/outputs/{name}", get(journal::output))
        .route("/effects", get(effects::stream))
        .route("/effects/{number}", post(effects::answer))
        .route("/effects/{number}/files/{index}", get(effects::file))
        .route_layer(from_fn_with_state(Arc::clone(&app.access), require_approver));
    let without_token = Router::new()
        .route("/livez", get(service::livez))
        .route("/readyz", get(service::readyz))
        .route("/openapi.json", get(service::openapi))
        .route("/llms.txt", get(llms_txt::llms_txt))
        .route("/docs", get(docs::redirect))
        .route("/docs/", get(docs::index))
        .route("/docs/{*file}", get(docs::file));
    with_token
        .merge(metrics(app))
        .merge(with_either_token)
        .merge(for_approvers)
        .merge(without_token)
        .fallback(no_route)
        .method_not_allowed_fallback(wrong_method)
}

/// What the server counts tells of all its callers, so a named token does not open it.
fn metrics(app: &Arc<AppState>) -> Router<Arc<AppState>> {
    let route = Router::new().route("/metrics", get(service::metrics));
    if app.has_public_metrics {
        return route;
    }
    route.route_layer(from_fn_with_state(Arc::clone(&app.access), require_own_token))
}

/// Adds what holds for every answer. It is one layer, because each costs every call.
fn guarded(routes: Router<Arc<AppState>>, app: &Arc<AppState>) -> Router {
    routes
        .layer(CatchPanicLayer::custom(|_| {
            let error =
                ToolError::new(ErrorCode::Internal, "Internal error; the server's log has the cause.");
            response::error_response("", error).into_response()
        }))
        .layer(from_fn_with_state(Arc::clone(&app.access), around))
        .with_state(Arc::clone(app))
}

/// Lets in only requests for our own host, and writes every answer in the form that was asked for.
async fn around(State(access): State<Arc<Access>>, request: Request, next: Next) -> Response {
    let wanted = response::Wanted::by(request.headers());
    // Requests for other hosts and from foreign pages are refused on every route.
    let mut answer = match access.check_host(request.headers(), request.uri()) {
        Ok(()) => next.run(request).await,
        Err(refused) => refusal(&refused, &request),
    };
    wanted.write(&mut answer);
    answer.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    answer
}

async fn require_token(State(app): State<Arc<AppState>>, mut request: Request, next: Next) -> Response {
    // Where callers need no token, an approver's is still none of a caller.
    if app.access.is_approver(request.headers()) {
        return refusal(&Refused::Token, &request);
    }
    let granted = match app.access.check_token(request.headers()) {
        Ok(()) => Granted(None),
        Err(refused) => match app.tokens.as_ref().map(|tokens| tokens.grant(request.headers())) {
            None | Some(Ok(None)) => return refusal(&refused, &request),
            Some(Ok(grant)) => Granted(grant),
            Some(Err(error)) => {
                return response::error_response(response::tool_in(request.uri().path()), error);
            }
        },
    };
    request.extensions_mut().insert(granted);
    next.run(request).await
}

/// Lets in callers with the server's own token alone, if it has one.
async fn require_own_token(State(access): State<Arc<Access>>, request: Request, next: Next) -> Response {
    match access.check_token(request.headers()) {
        Ok(()) => next.run(request).await,
        Err(refused) => refusal(&refused, &request),
    }
}

/// Lets in callers with the approver's token alone.
async fn require_approver(State(access): State<Arc<Access>>, request: Request, next: Next) -> Response {
    if access.is_approver(request.headers()) {
        return next.run(request).await;
    }
    let message = "Only the approver's token opens this route.";
    let hint = "Send it as `Authorization: Bearer <token>`; `supervisor token approver` prints it, and \
                AUTONOUS_TOOL_APPROVER_TOKEN sets it for a tool server alone.";
    response::error_response("", ToolError::new(ErrorCode::Unauthorized, message).with_hint(hint))
}

/// The same for routes that an approver may use as well.
async fn require_token_or_approver(
    State(app): State<Arc<AppState>>,
    mut request: Request,
    next: Next,
) -> Response {
    if app.access.is_approver(request.headers()) {
        request.extensions_mut().insert(Granted(None));
        return next.run(request).await;
    }
    require_token(State(app), request, next).await
}

fn refusal(refused: &Refused, request: &Request) -> Response {
    let code = match refused {
        Refused::HostCount | Refused::Host(_) | Refused::Origin(_) => ErrorCode::OriginRefused,
        Refused::TokenCount | Refused::Token => ErrorCode::Unauthorized,
    };
    let error = ToolError::new(code, refused.to_string());
    response::error_response(response::tool_in(request.uri().path()), error)
}

async fn no_route(request: Request) -> Response {
    let path = elide(request.uri().path(), 100);
    let error = ToolError::new(ErrorCode::UnknownTool, format!("No such route: {path}.")).with_hint(
        "Call a tool with POST /tools/{name}. GET /tools lists the tools; GET /docs/ and GET /llms.txt \
         describe them.",
    );
    response::error_response("", error)
}

/// Every connection is at work, so none could be closed for this one.
async fn no_room(request: Request) -> Response {
    let error = ToolError::new(ErrorCode::Overloaded, "Too many open connections.")
        .with_retry_after(RETRY_AFTER_SECONDS);
    response::error_response(response::tool_in(request.uri().path()), error)
}

async fn wrong_method(request: Request) -> Response {
    let (method, path) = (request.method(), request.uri().path());
    let error = ToolError::new(ErrorCode::MethodNotAllowed, format!("{path} does not support {method}."));
    response::error_response(response::tool_in(path), error)
}
