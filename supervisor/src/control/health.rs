//! `GET /livez` and `GET /readyz`.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde_json::{Value, json};

use super::Control;
use crate::store::kv;

/// The process answers.
pub async fn livez() -> Json<Value> {
    Json(json!({"status": "alive"}))
}

/// Whether a message that comes now is worked on: 503 until both children are ready.
pub async fn readyz(State(control): State<Arc<Control>>) -> (StatusCode, Json<Value>) {
    let database = control.store.write(|tx| kv::get(tx, kv::JOURNAL_POSITION)).await.is_ok();
    let ready = database && control.children.all_ready();
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let children = json!({
        "tool-server": *control.children.tool_server.borrow(),
        "agent-worker": *control.children.worker.borrow(),
    });
    (status, Json(json!({"ready": ready, "database": database, "children": children})))
}
