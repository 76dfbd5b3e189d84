//! What the server says about itself: alive, ready, its layers, its tools.

use std::sync::Arc;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use cage::obstacle::Obstacle;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Granted;
use super::call::session_named;
use super::response::{Refusal, query_of};
use super::state::AppState;

/// The body of `/livez`.
#[derive(Serialize, JsonSchema)]
pub(super) struct Liveness {
    /// Always `alive`.
    status: &'static str,
}

pub(super) async fn livez() -> Response {
    Json(Liveness { status: "alive" }).into_response()
}

/// `GET /readyz`: each check of the start, and how what can fail meanwhile is now; 503 when a required one
/// failed.
pub(super) async fn readyz(State(app): State<Arc<AppState>>) -> Response {
    let readiness = app.report.readiness(app.vitals.checks(), obstacle(&app).await);
    let status = if readiness.ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(readiness)).into_response()
}

pub(super) async fn capabilities(State(app): State<Arc<AppState>>) -> Response {
    Json(app.report.capabilities_now(obstacle(&app).await)).into_response()
}

/// What in the roots keeps commands from running. Once there was something, it is looked for again.
async fn obstacle(app: &AppState) -> Option<Obstacle> {
    let commands = Arc::clone(&app.commands);
    tokio::task::spawn_blocking(move || commands.obstacle()).await.ok().flatten()
}

pub(super) async fn openapi(State(app): State<Arc<AppState>>) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], app.openapi.clone()).into_response()
}

/// `GET /metrics`: what the server counts, for Prometheus.
pub(super) async fn metrics(State(app): State<Arc<AppState>>) -> Response {
    app.meters.answer((&app.runner, app.approvals.as_deref()), &app.commands, &app.journal, &app.vitals)
}

/// What may follow `GET /tools?`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CatalogueQuery {
    format: Option<String>,
}

/// `GET /tools`: what the session that the request names can call, or 304 when the caller has it already.
pub(super) async fn catalogue(
    State(app): State<Arc<AppState>>,
    query: Result<Query<CatalogueQuery>, QueryRejection>,
    Extension(granted): Extension<Granted>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let catalogue = app.catalogue.of(&app.runner, session_named(&headers), &granted);
    let CatalogueQuery { format } = query_of(query, "The only parameter is `format`.")?;
    let document = catalogue.in_format(format.as_deref())?;
    let tag = &document.tag;
    if headers.get(header::IF_NONE_MATCH) == Some(tag) {
        return Ok((StatusCode::NOT_MODIFIED, [(header::ETAG, tag)]).into_response());
    }
    let headers =
        [(header::ETAG, tag.clone()), (header::CONTENT_TYPE, HeaderValue::from_static("application/json"))];
    Ok((headers, document.body.clone()).into_response())
}
