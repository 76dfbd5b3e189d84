//! `GET /livez` and `GET /readyz`.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde_json::{Value, json};

use super::Control;
use crate::health::Report;

/// The process is alive.
pub(crate) async fn livez() -> Json<Value> {
    Json(json!({"status": "alive"}))
}

/// How each part is: 200 if messages get answered, else 503.
pub(crate) async fn readyz(State(control): State<Arc<Control>>) -> (StatusCode, Json<Report>) {
    let report = control.monitor.report().await;
    let status = if report.ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(report))
}
