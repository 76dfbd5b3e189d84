//! Reads files through the tool server: the supervisor itself has no roots.

use std::time::Instant;

use futures_util::StreamExt as _;
use protocol::{Envelope, ErrorCode, ToolError};
use reqwest::{Method, Response};
use toolkit::Call;

use super::sending::wait;
use crate::tool_files::ToolFiles;

/// The bytes of a file as it is now for the call's session, at most `max_bytes` of them.
pub(crate) fn read(
    files: &ToolFiles,
    call: &Call,
    path: &str,
    max_bytes: usize,
) -> Result<Vec<u8>, ToolError> {
    wait(async {
        let left = call.deadline.saturating_duration_since(Instant::now());
        tokio::time::timeout(left, download(files, call, path, max_bytes)).await.unwrap_or_else(|_| {
            Err(ToolError::new(ErrorCode::Timeout, "The file was not read before the call's deadline."))
        })
    })
}

async fn download(
    files: &ToolFiles,
    call: &Call,
    path: &str,
    max_bytes: usize,
) -> Result<Vec<u8>, ToolError> {
    let mut request = files.request(Method::GET, path, &call.session);
    request = request.header("X-Parent-Event-Id", call.id.as_str());
    if let Some(task) = &call.task {
        request = request.header("X-Task-Id", task.as_str());
    }
    let response = request.send().await.map_err(|error| unreachable_server(&error))?;
    if !response.status().is_success() {
        return Err(refused(response).await);
    }
    let size = response.content_length().and_then(|size| usize::try_from(size).ok());
    if size.is_some_and(|size| size > max_bytes) {
        return Err(too_large(size, max_bytes));
    }
    let mut bytes = Vec::with_capacity(size.unwrap_or_default());
    let mut parts = response.bytes_stream();
    while let Some(part) = parts.next().await {
        bytes.extend_from_slice(&part.map_err(|error| unreachable_server(&error))?);
        if bytes.len() > max_bytes {
            return Err(too_large(None, max_bytes));
        }
    }
    Ok(bytes)
}

/// The tool server's own error, which already says what to do.
async fn refused(response: Response) -> ToolError {
    let status = response.status();
    let envelope = response.json::<Envelope>().await.ok();
    envelope.and_then(|envelope| envelope.meta.error).unwrap_or_else(|| {
        ToolError::new(ErrorCode::IoError, format!("The tool server answered with HTTP {status}."))
    })
}

fn too_large(size: Option<usize>, max_bytes: usize) -> ToolError {
    let size = size.map_or("more".to_owned(), |size| size.to_string());
    let message = format!("The file has {size} bytes; at most {max_bytes} can be sent.");
    ToolError::new(ErrorCode::FileTooLarge, message).with_hint("Compress it, or split it: `split -b 19M`.")
}

fn unreachable_server(error: &dyn std::error::Error) -> ToolError {
    tracing::warn!(%error, "could not read a file through the tool server");
    let message = "The tool server could not be asked for the file; nothing was sent.";
    ToolError::new(ErrorCode::IoError, message).with_hint("Call again in a moment.")
}
