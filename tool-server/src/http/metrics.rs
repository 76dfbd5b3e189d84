//! `GET /metrics`: what the server counts, for Prometheus.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;

use super::state::AppState;

pub(super) async fn metrics(State(app): State<Arc<AppState>>) -> Response {
    app.figures.answer()
}
