//! `POST /tools/{name}`: a call, which is passed on to the tool server, whose answer it gets.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderName, header};
use axum::response::Response;

use super::Control;
use super::approvals::pass_on;
use super::error::ControlError;
use crate::tool_files::in_words;

/// The headers that say how to make the call, and for which session and task.
const PASSED_ON: [HeaderName; 9] = [
    header::CONTENT_TYPE,
    header::ACCEPT,
    HeaderName::from_static("prefer"),
    HeaderName::from_static("x-session-id"),
    HeaderName::from_static("x-task-id"),
    HeaderName::from_static("x-parent-event-id"),
    HeaderName::from_static("x-request-id"),
    HeaderName::from_static("traceparent"),
    HeaderName::from_static("idempotency-key"),
];

pub(crate) async fn post_tool(
    State(control): State<Arc<Control>>,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, ControlError> {
    let kept = |name: HeaderName| Some((name.clone(), headers.get(&name)?.clone()));
    let kept: HeaderMap = PASSED_ON.into_iter().filter_map(kept).collect();
    let request = control.tool_server.tool(&name).ok_or(ControlError::NoSuchRoute)?;
    let answer = request.headers(kept).body(body).send().await.map_err(|error| {
        tracing::warn!(error = in_words(error), "the tool server gave no answer to a call");
        ControlError::NoToolServer
    })?;
    Ok(pass_on(answer))
}
