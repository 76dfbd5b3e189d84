//! `POST /changes/{call_id}/undo`: reverts the file change of a call.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Path, Request, State};
use axum::response::Response;
use protocol::{ErrorCode, EventId, ToolError};
use serde::Deserialize;
use serde_json::json;
use toolkit::Tool;
use toolkit::arguments::{elide, invalid};

use super::call::{read_optional_body, request_of};
use super::state::AppState;
use super::{Granted, response};
use crate::transfers::{Undo, UndoRight};

/// The body of a request; an empty one stands for `{}`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct UndoBody {
    #[serde(default)]
    dry_run: bool,
    #[serde(default)]
    accept_undone: bool,
}

pub(super) async fn undo(
    State(app): State<Arc<AppState>>,
    Path(call_id): Path<String>,
    Extension(granted): Extension<Granted>,
    request: Request,
) -> Response {
    let (parts, content) = request.into_parts();
    let read = read_optional_body(&parts.headers, content).await;
    let arguments = read.and_then(|body| arguments(&call_id, &body));
    let caller = (&parts.headers, &granted);
    let request = arguments.and_then(|body| request_of(&app.access, Undo::NAME, caller, body));
    let mut envelope = match request {
        Ok(mut request) => {
            // In the events an undo stands below what it undoes.
            request.parent = request.parent.or_else(|| call_id.parse().ok());
            let is_approver = app.access.is_approver(&parts.headers);
            let right = if is_approver { UndoRight::Everybodys } else { UndoRight::Own };
            let attachment = Some(Arc::new(right) as _);
            app.runner.run(toolkit::Request { attachment, ..request }).await
        }
        Err(error) => return response::error_response(Undo::NAME, error),
    };
    envelope.meta.error = envelope.meta.error.map(with_status);
    response::envelope_response(envelope)
}

fn arguments(call_id: &str, body: &[u8]) -> Result<Vec<u8>, ToolError> {
    let call_id: EventId = call_id.parse().map_err(|error| {
        invalid(format!("{:?} is not the ID of a call: {error}.", elide(call_id, 100)))
            .with_hint("Use `meta.call_id` of the answer to the call that made the change.")
    })?;
    let UndoBody { dry_run, accept_undone } = if body.is_empty() {
        UndoBody::default()
    } else {
        serde_json::from_slice(body).map_err(|error| {
            invalid(format!("The body is not understood: {error}."))
                .with_hint("Send no body, or {\"dry_run\": true}.")
        })?
    };
    Ok(json!({"call_id": call_id, "dry_run": dry_run, "accept_undone": accept_undone})
        .to_string()
        .into_bytes())
}

/// That there is nothing to undo is the route's answer, not a tool's result.
fn with_status(error: ToolError) -> ToolError {
    match error.code {
        ErrorCode::NotFound => ToolError { http_status: Some(404), ..error },
        _ => error,
    }
}
