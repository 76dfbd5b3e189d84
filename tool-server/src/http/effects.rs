//! `/effects`: what tools ask of a supervisor on another machine, which fetches the requests here and answers
//! them. Only the approver's token opens it.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Path, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use protocol::effect::EffectAnswer;
use protocol::{ErrorCode, ToolError};
use tokio::task::spawn_blocking;
use toolkit::arguments::invalid;

use super::call::read_body;
use super::response;
use super::state::AppState;
use crate::supervisor_link::RequestStream;

/// How often a quiet stream says that it lives.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// How much of a file is in memory at once.
const BLOCK_BYTES: u64 = 128 * 1024;

/// The requests that wait for an answer, and then those to come.
pub(super) async fn stream(State(app): State<Arc<AppState>>) -> Response {
    let Some(supervisor) = &app.supervisor else { return none_here() };
    let requests = supervisor.stream();
    // The supervisor knows from the first line on that it is connected.
    let hello = Some(Bytes::from_static(b": connected\n\n"));
    response::event_stream(stream::unfold((hello, requests), |(hello, mut requests)| async move {
        let part = match hello {
            Some(hello) => hello,
            None => part(&mut requests).await?,
        };
        Some((part, (None, requests)))
    }))
}

async fn part(requests: &mut RequestStream) -> Option<Bytes> {
    match tokio::time::timeout(KEEP_ALIVE, requests.next()).await {
        Ok(new) => {
            let event = |(number, line)| format!("id: {number}\nevent: effect\ndata: {line}\n\n");
            Some(new?.into_iter().map(event).collect::<String>().into())
        }
        Err(_) => Some(Bytes::from_static(b":\n\n")),
    }
}

/// A file of a request, as it was when its call was let through.
pub(super) async fn file(
    State(app): State<Arc<AppState>>,
    Path((number, index)): Path<(String, String)>,
) -> Response {
    let Some(supervisor) = &app.supervisor else { return none_here() };
    let found = parsed(&number).zip(index.parse().ok());
    let Some(file) = found.and_then(|(number, index)| supervisor.file(number, index)) else {
        return does_not_wait();
    };
    let size = match file.metadata() {
        Ok(found) => found.len(),
        Err(error) => {
            tracing::error!(%error, "the file of an effect cannot be read");
            return response::error_response("", ToolError::new(ErrorCode::Internal, "It cannot be read."));
        }
    };
    let blocks = stream::try_unfold(0, move |at| {
        let file = Arc::clone(&file);
        async move {
            if at >= size {
                return Ok(None);
            }
            let block = spawn_blocking(move || block(&file, at, size)).await.map_err(io::Error::other)??;
            let next = at + u64::try_from(block.len()).unwrap_or(BLOCK_BYTES);
            Ok::<_, io::Error>(Some((block, next)))
        }
    });
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream")),
        (header::CONTENT_LENGTH, HeaderValue::from(size)),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    (headers, Body::from_stream(blocks)).into_response()
}

fn block(file: &File, at: u64, end: u64) -> io::Result<Bytes> {
    let length = (end - at).min(BLOCK_BYTES);
    let mut block = vec![0; usize::try_from(length).unwrap_or(0)];
    file.read_exact_at(&mut block, at)?;
    Ok(block.into())
}

/// The answer to a request.
pub(super) async fn answer(
    State(app): State<Arc<AppState>>,
    Path(number): Path<String>,
    request: Request,
) -> Response {
    let Some(supervisor) = &app.supervisor else { return none_here() };
    let (parts, content) = request.into_parts();
    let read = read_body(&parts.headers, content).await.and_then(|body| {
        serde_json::from_slice::<EffectAnswer>(&body)
            .map_err(|error| invalid(format!("The body is no answer to a request: {error}.")))
    });
    let answer = match read {
        Ok(answer) => answer,
        Err(error) => return response::error_response("", error),
    };
    match parsed(&number) {
        Some(number) if supervisor.answer(number, answer) => StatusCode::NO_CONTENT.into_response(),
        Some(_) | None => does_not_wait(),
    }
}

fn parsed(number: &str) -> Option<u64> {
    number.parse().ok()
}

fn does_not_wait() -> Response {
    let hint = "Its call may have ended.";
    response::not_found("No such request waits for an answer.", hint)
}

fn none_here() -> Response {
    let hint = "Set AUTONOUS_TOOL_SUPERVISED=true where it is started.";
    response::not_found("This tool server takes no supervisor of another machine.", hint)
}
