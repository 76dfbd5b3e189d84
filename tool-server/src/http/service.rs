//! What the server says of itself: alive, ready, capable of what, described how.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use serde_json::json;

use super::App;

/// `GET /livez`.
pub(super) async fn livez() -> Response {
    Json(json!({"status": "alive"})).into_response()
}

/// `GET /readyz`: each self-check with its result; 503 when a required one failed.
pub(super) async fn readyz(State(app): State<Arc<App>>) -> Response {
    let status = if app.report.is_ready() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(app.report.readiness())).into_response()
}

/// `GET /capabilities`.
pub(super) async fn capabilities(State(app): State<Arc<App>>) -> Response {
    Json(app.report.capabilities()).into_response()
}

/// `GET /openapi.json`.
pub(super) async fn openapi(State(app): State<Arc<App>>) -> Response {
    json_bytes(app.openapi.clone())
}

fn json_bytes(body: Bytes) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], body).into_response()
}
