//! `GET /metrics`: what the supervisor counts, for Prometheus.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;

use super::Control;
use super::waiting::waiting;
use crate::metrics::Sizes;

pub(crate) async fn get_metrics(State(control): State<Arc<Control>>) -> Response {
    let (report, waiting) = tokio::join!(control.monitor.report(), waiting(&control.monitor));
    let sizes = Sizes::of(&control.monitor.database_path(), &control.journal);
    control.meters.answer(&report, waiting.as_ref(), sizes)
}
