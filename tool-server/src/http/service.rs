//! What the server says about itself: alive, ready, its layers, its tools.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::state::AppState;

pub(super) async fn livez() -> Response {
    Json(json!({"status": "alive"})).into_response()
}

/// `GET /readyz`: the result of each self-check; 503 when a required one failed.
pub(super) async fn readyz(State(app): State<Arc<AppState>>) -> Response {
    let status = if app.report.is_ready() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(app.report.readiness())).into_response()
}

pub(super) async fn capabilities(State(app): State<Arc<AppState>>) -> Response {
    Json(app.report.capabilities()).into_response()
}

pub(super) async fn openapi(State(app): State<Arc<AppState>>) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], app.openapi.clone()).into_response()
}

/// `GET /tools`, or 304 when the caller has this catalogue already.
pub(super) async fn catalogue(State(app): State<Arc<AppState>>, headers: HeaderMap) -> Response {
    let tag = app.catalogue.tag();
    if headers.get(header::IF_NONE_MATCH) == Some(tag) {
        return (StatusCode::NOT_MODIFIED, [(header::ETAG, tag)]).into_response();
    }
    let headers =
        [(header::ETAG, tag.to_str().unwrap_or_default()), (header::CONTENT_TYPE, "application/json")];
    (headers, app.catalogue.body()).into_response()
}
