//! `/effects`: what tools ask of a supervisor on another machine, which fetches the requests here and answers
//! them. Only the approver's token opens it.

use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{Path, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use futures_util::{StreamExt as _, stream};
use protocol::effect::EffectAnswer;
use protocol::{ErrorCode, ToolError};
use toolkit::arguments::invalid;

use super::call::read_body;
use super::files::blocks;
use super::response::{self, ALIVE, KEEP_ALIVE, Refusal};
use super::state::AppState;
use crate::supervisor_link::{FarSupervisor, RequestStream};

/// The requests that wait for an answer, and then those to come.
pub(super) async fn stream(State(app): State<Arc<AppState>>) -> Result<Response, Refusal> {
    let requests = of_supervisor(&app)?.stream();
    // The supervisor knows from the first line on that it is connected.
    let hello = response::hello(b": connected\n\n");
    let parts =
        stream::unfold(requests, |mut requests| async move { Some((part(&mut requests).await?, requests)) });
    Ok(response::event_stream(hello.chain(parts)))
}

async fn part(requests: &mut RequestStream) -> Option<Bytes> {
    match tokio::time::timeout(KEEP_ALIVE, requests.next()).await {
        Ok(new) => {
            let event = |(number, line)| format!("id: {number}\nevent: effect\ndata: {line}\n\n");
            Some(new?.into_iter().map(event).collect::<String>().into())
        }
        Err(_) => Some(ALIVE),
    }
}

/// A file of a request, as it was when its call was let through.
pub(super) async fn file(
    State(app): State<Arc<AppState>>,
    Path((number, index)): Path<(String, String)>,
) -> Result<Response, Refusal> {
    let supervisor = of_supervisor(&app)?;
    let found = number.parse().ok().zip(index.parse().ok());
    let file = found.and_then(|(number, index)| supervisor.file(number, index)).ok_or_else(does_not_wait)?;
    let size = file.metadata().map_err(|error| {
        tracing::error!(%error, "the file of an effect cannot be read");
        ToolError::new(ErrorCode::Internal, "It cannot be read.")
    })?;
    let size = size.len();
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream")),
        (header::CONTENT_LENGTH, HeaderValue::from(size)),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    Ok((headers, Body::from_stream(blocks(0, size, move |at, block| file.read_exact_at(block, at))))
        .into_response())
}

/// The answer to a request.
pub(super) async fn answer(
    State(app): State<Arc<AppState>>,
    Path(number): Path<String>,
    request: Request,
) -> Result<StatusCode, Refusal> {
    let supervisor = of_supervisor(&app)?;
    let (parts, content) = request.into_parts();
    let body = read_body(&parts.headers, content).await?;
    let answer = serde_json::from_slice::<EffectAnswer>(&body)
        .map_err(|error| invalid(format!("The body is no answer to a request: {error}.")))?;
    match number.parse() {
        Ok(number) if supervisor.answer(number, answer) => Ok(StatusCode::NO_CONTENT),
        Ok(_) | Err(_) => Err(does_not_wait().into()),
    }
}

fn does_not_wait() -> ToolError {
    response::not_found("No such request waits for an answer.", "Its call may have ended.")
}

fn of_supervisor(app: &AppState) -> Result<&Arc<FarSupervisor>, ToolError> {
    let hint = "Set AUTONOUS_TOOL_SUPERVISED=true where it is started.";
    let message = "This tool server takes no supervisor of another machine.";
    app.supervisor.as_ref().ok_or_else(|| response::not_found(message, hint))
}
