//! `POST /tools/{name}`: a call of a channel's tool, as a worker makes it, for people.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use http_port::preferred_wait;
use protocol::{Envelope, EventId, SessionId, TaskId};
use toolkit::Request;

use super::Control;
use super::body::{self, Body, invalid};
use super::error::ControlError;
use crate::store::inbox;

const HINT: &str = "Send the arguments as a JSON object, and the chat in the header X-Session-Id, such as \
                    telegram:4711.";

const WAIT_HINT: &str = "Write `Prefer: wait=60`, or leave it out.";

const KEY_HINT: &str = "Send letters, digits and hyphens, or leave it out.";

const TASK_HINT: &str = "Send the ID of a task that exists in X-Task-Id, or leave it out.";

pub(crate) async fn post_tool(
    State(control): State<Arc<Control>>,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<(StatusCode, Json<Envelope>), ControlError> {
    let arguments: Box<serde_json::value::RawValue> = body::parse(&headers, body, HINT)?;
    let named = headers.get("x-session-id").and_then(|value| value.to_str().ok());
    let session: Option<SessionId> = named.and_then(|session| session.parse().ok());
    let session = session.ok_or_else(|| invalid("the header X-Session-Id names no session", HINT))?;
    let wait = preferred_wait(&headers).map_err(|wait| {
        invalid(format!("the header Prefer has no seconds to wait: wait{wait}"), WAIT_HINT)
    })?;
    let task = task_of(&control, &headers).await?;
    let idempotency_key = key_of(&headers)?;
    let request = Request { session, wait, task, idempotency_key, ..Request::new(name, arguments.get()) };
    let envelope = control.channel_tools.call(request).await;
    let status = StatusCode::from_u16(envelope.http_status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    Ok((status, Json(envelope)))
}

fn key_of(headers: &HeaderMap) -> Result<Option<String>, ControlError> {
    let Some(value) = headers.get("idempotency-key") else { return Ok(None) };
    // As the tool server takes it.
    let key: Option<EventId> = value.to_str().ok().and_then(|key| key.parse().ok());
    let key = key.ok_or_else(|| invalid("the header Idempotency-Key is no valid ID", KEY_HINT))?;
    Ok(Some(key.into()))
}

/// The task that the call is made for, such as the one that a person sends a call of again.
async fn task_of(control: &Control, headers: &HeaderMap) -> Result<Option<TaskId>, ControlError> {
    let Some(value) = headers.get("x-task-id") else { return Ok(None) };
    let unknown = || invalid("the header X-Task-Id names no task", TASK_HINT);
    let task: TaskId = value.to_str().ok().and_then(|id| id.parse().ok()).ok_or_else(unknown)?;
    let id = task.clone();
    let exists = control.store.write(move |tx| inbox::status(tx, &id)).await?;
    if exists.is_some() { Ok(Some(task)) } else { Err(unknown()) }
}
