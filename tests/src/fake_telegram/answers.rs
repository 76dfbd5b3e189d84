//! The answers of the Bot API: a result or a refusal.

use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};

pub(super) fn result(result: &Value) -> Response {
    axum::Json(json!({"ok": true, "result": result})).into_response()
}

/// Like Telegram, omits `parameters` if there are none.
pub(super) fn refusal(status: u16, description: &str, parameters: Option<Value>) -> Response {
    let mut body = json!({"ok": false, "error_code": status, "description": description});
    if let Some(parameters) = parameters {
        body["parameters"] = parameters;
    }
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, axum::Json(body)).into_response()
}
