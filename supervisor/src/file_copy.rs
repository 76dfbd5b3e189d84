//! Copies a file of the tool server into the database, from which it is sent: part by part, so that it is
//! never in memory as a whole.

use channel::content::StoredFile;
use futures_util::StreamExt as _;
use protocol::effect::MAX_FILE_BYTES;
use protocol::{ErrorCode, ToolError};
use reqwest::RequestBuilder;
use store::{Store, StoreError, outgoing_files};

use crate::tool_files::{GetError, in_words, opened};

/// A part has at least this size, but for the last.
const PART_BYTES: usize = 512 * 1024;

/// Stores what a request to the tool server's `/files` answers. It has 1 to [`MAX_FILE_BYTES`] bytes.
pub(crate) async fn copy(request: RequestBuilder, store: &Store) -> Result<StoredFile, ToolError> {
    let response = opened(request).await.map_err(not_opened)?;
    match response.content_length() {
        Some(0) => return Err(empty()),
        Some(size) if size > MAX_FILE_BYTES => return Err(too_large(size)),
        Some(_) | None => {}
    }
    let id = store.write(outgoing_files::begin).await.map_err(not_stored)?;
    let copied = copy_parts(response, store, &id).await;
    if copied.is_err()
        && let Err(error) = store.write(move |tx| outgoing_files::delete(tx, &id)).await
    {
        tracing::warn!(%error, "part of a file stays in the database until the next start");
    }
    copied
}

async fn copy_parts(response: reqwest::Response, store: &Store, id: &str) -> Result<StoredFile, ToolError> {
    let (mut pieces, mut part, mut number, mut size) = (response.bytes_stream(), Vec::new(), 0, 0);
    let mut stored = None;
    loop {
        let piece = pieces.next().await.transpose().map_err(|error| not_opened(GetError::NoAnswer(error)))?;
        let is_last = piece.is_none();
        let piece = piece.unwrap_or_default();
        size += u64::try_from(piece.len()).unwrap_or(u64::MAX);
        if size > MAX_FILE_BYTES {
            return Err(too_large(size));
        }
        part.extend_from_slice(&piece);
        if part.len() >= PART_BYTES || (is_last && !part.is_empty()) {
            let (id, bytes) = (id.to_owned(), std::mem::take(&mut part));
            let added = store.write(move |tx| outgoing_files::add_part(tx, &id, number, &bytes));
            stored = Some(added.await.map_err(not_stored)?);
            number += 1;
        }
        if is_last {
            return stored.ok_or_else(empty);
        }
    }
}

fn not_opened(error: GetError) -> ToolError {
    match error {
        // The tool server's own error, which already says what to do.
        GetError::Refused(error) => *error,
        GetError::NoAnswer(error) => {
            tracing::warn!(error = in_words(error), "could not read a file through the tool server");
            let message = "The tool server could not be asked for the file; nothing was sent.";
            ToolError::new(ErrorCode::IoError, message).with_hint("Please try again in a moment.")
        }
    }
}

pub(crate) fn empty() -> ToolError {
    ToolError::new(ErrorCode::InvalidArgument, "The file is empty, and an empty file cannot be sent.")
}

pub(crate) fn too_large(size: u64) -> ToolError {
    let most = MAX_FILE_BYTES / 1_000_000;
    let message =
        format!("The file has {size} bytes or more, which is larger than the {most} MB that can be sent.");
    ToolError::new(ErrorCode::FileTooLarge, message).with_hint("Compress it, or split it: `split -b 47M`.")
}

pub(crate) fn not_stored(error: StoreError) -> ToolError {
    tracing::error!(%error, "could not store a file that is to be sent");
    let message = "It could not be stored, so it is not sent.";
    ToolError::new(ErrorCode::IoError, message).with_hint("Ask the operator to look at the supervisor's log.")
}
