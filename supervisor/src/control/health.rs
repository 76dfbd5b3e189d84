//! `GET /livez` and `GET /readyz`.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde_json::{Value, json};

use super::Control;
use crate::store::kv;

/// The process is alive.
pub(crate) async fn livez() -> Json<Value> {
    Json(json!({"status": "alive"}))
}

/// Whether a message would be handled now: 503 until both children are ready, and while the database does not
/// accept changes, with the reason.
pub(crate) async fn readyz(State(control): State<Arc<Control>>) -> (StatusCode, Json<Value>) {
    let answers = control.store.write(|tx| kv::get(tx, kv::JOURNAL_POSITION)).await.is_ok();
    let trouble = control.store.trouble().await;
    let database = answers && trouble.is_none();
    let ready = database && control.children.all_ready();
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let children = json!({
        "tool-server": *control.children.tool_server.borrow(),
        "agent-worker": *control.children.worker.borrow(),
    });
    let mut body = json!({"ready": ready, "database": database, "children": children});
    if let Some(trouble) = trouble {
        body["database_trouble"] = trouble.into();
    }
    (status, Json(body))
}
