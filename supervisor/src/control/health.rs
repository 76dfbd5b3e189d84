//! `GET /livez` and `GET /readyz`.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde_json::{Value, json};

use super::Control;
use crate::journal::tampering;

/// The process is alive.
pub(crate) async fn livez() -> Json<Value> {
    Json(json!({"status": "alive"}))
}

/// Whether a message would be handled now: 503 until both children are ready, and while the database does not
/// accept changes or the journal was tampered with, with the reason.
pub(crate) async fn readyz(State(control): State<Arc<Control>>) -> (StatusCode, Json<Value>) {
    let journal = control.store.write(|tx| tampering::open_finding(tx)).await;
    let trouble = control.store.trouble().await;
    let database = journal.is_ok() && trouble.is_none();
    let tampered = journal.ok().flatten();
    let ready = database && tampered.is_none() && control.children.all_ready();
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let children = json!({
        "tool-server": *control.children.tool_server.borrow(),
        "agent-worker": *control.children.worker.borrow(),
    });
    let mut body = json!({"ready": ready, "database": database, "children": children});
    if let Some(trouble) = trouble {
        body["database_trouble"] = trouble.into();
    }
    if let Some(tampered) = tampered {
        body["journal_trouble"] = tampered.error.into();
    }
    (status, Json(body))
}
