//! The files of an effect: what an open descriptor shows, or the tool server on another machine sends, goes
//! into the database, part by part, if it is what the request says. What was stored does not change any more.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use bytes::Bytes;
use channel::content::StoredFile;
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use protocol::effect::{MAX_FILE_BYTES, MAX_FILES, MAX_FILES_BYTES, OutgoingFile};
use protocol::hash::in_hex;
use protocol::{ErrorCode, ToolError};
use reqwest::{Method, StatusCode};
use sha2::{Digest as _, Sha256};
use store::{Store, outgoing_files};
use toolkit::arguments::invalid;

use crate::file_copy::{empty, not_stored, too_large};
use crate::journal::read_piece;
use crate::tool_client::ToolClient;

const PART_BYTES: usize = 512 * 1024;

/// Passes if a request sends as many files as one call may, and no more bytes.
pub(super) fn require_bounds(files: &[OutgoingFile]) -> Result<(), ToolError> {
    if files.is_empty() || files.len() > MAX_FILES {
        return Err(invalid(format!("A call sends 1 to {MAX_FILES} files.")));
    }
    match files.iter().fold(0, |sum: u64, file| sum.saturating_add(file.size_bytes)) {
        sum if sum > MAX_FILES_BYTES => {
            let message = format!("The files have {sum} bytes together; a call sends {MAX_FILES_BYTES}.");
            Err(ToolError::new(ErrorCode::FileTooLarge, message))
        }
        _ => Ok(()),
    }
}

/// The files of a request.
pub(crate) enum Files {
    /// Open, on this machine.
    Here(Vec<OwnedFd>),
    /// Below a path of the tool server on another machine, numbered from 0.
    Elsewhere { client: ToolClient, path: String },
}

/// Where a file's bytes come from.
enum Source {
    Here(Arc<File>),
    Elsewhere(BoxStream<'static, reqwest::Result<Bytes>>),
}

/// Stores the files of a request, in order. An error leaves nothing.
pub(super) async fn store_all(
    store: &Store,
    mut files: Files,
    named: &[OutgoingFile],
) -> Result<Vec<StoredFile>, ToolError> {
    let mut stored = Vec::new();
    for (index, named) in named.iter().enumerate() {
        match store_one(store, &mut files, index, named).await {
            Ok(file) => stored.push(file),
            Err(error) => {
                forget(store, stored).await;
                return Err(error);
            }
        }
    }
    Ok(stored)
}

async fn store_one(
    store: &Store,
    files: &mut Files,
    index: usize,
    named: &OutgoingFile,
) -> Result<StoredFile, ToolError> {
    let source = files.open(index, named).await?;
    let id = store.write(outgoing_files::begin).await.map_err(not_stored)?;
    let copied = copy(store, source, &id, named).await;
    if copied.is_err() {
        forget(store, [StoredFile { id, size_bytes: 0 }]).await;
    }
    copied
}

/// Deletes stored files that are not sent.
pub(super) async fn forget(store: &Store, files: impl IntoIterator<Item = StoredFile>) {
    for StoredFile { id, .. } in files {
        if let Err(error) = store.write(move |tx| outgoing_files::delete(tx, &id)).await {
            tracing::warn!(%error, "a file stays in the database until the next start");
        }
    }
}

impl Files {
    async fn open(&mut self, index: usize, named: &OutgoingFile) -> Result<Source, ToolError> {
        match self {
            Self::Here(files) if files.is_empty() => Err(without_its_file()),
            Self::Here(files) => Ok(Source::Here(Arc::new(regular(files.remove(0), named)?))),
            Self::Elsewhere { client, path } => {
                let answer = client.request(Method::GET, &format!("{path}/{index}")).send().await;
                let answer = answer.map_err(|error| unreadable(io::Error::other(error.without_url())))?;
                if answer.status() != StatusCode::OK {
                    return Err(without_its_file());
                }
                require_size(answer.content_length().unwrap_or(named.size_bytes), named)?;
                Ok(Source::Elsewhere(answer.bytes_stream().boxed()))
            }
        }
    }
}

fn without_its_file() -> ToolError {
    refused("came without its file")
}

fn refused(why: &str) -> ToolError {
    ToolError::new(ErrorCode::NotARegularFile, format!("The request {why}."))
}

fn regular(file: OwnedFd, named: &OutgoingFile) -> Result<File, ToolError> {
    let file = File::from(file);
    let metadata = file.metadata().map_err(unreadable)?;
    if !metadata.is_file() {
        return Err(refused("came with a descriptor of something that is no regular file"));
    }
    require_size(metadata.len(), named).map(|()| file)
}

fn require_size(size: u64, named: &OutgoingFile) -> Result<(), ToolError> {
    match size {
        0 => Err(empty()),
        size if size > MAX_FILE_BYTES => Err(too_large(size)),
        size if size != named.size_bytes => Err(changed()),
        _ => Ok(()),
    }
}

async fn copy(
    store: &Store,
    mut source: Source,
    id: &str,
    named: &OutgoingFile,
) -> Result<StoredFile, ToolError> {
    let (mut hash, mut number, mut offset, mut stored) = (Sha256::new(), 0, 0_u64, None);
    loop {
        let part = source.part(offset).await.map_err(unreadable)?;
        if part.is_empty() {
            break;
        }
        offset += u64::try_from(part.len()).unwrap_or(u64::MAX);
        if offset > named.size_bytes {
            return Err(changed());
        }
        hash.update(&part);
        let id = id.to_owned();
        let added = store.write(move |tx| outgoing_files::add_part(tx, &id, number, &part));
        stored = Some(added.await.map_err(not_stored)?);
        number += 1;
    }
    match stored {
        Some(stored) if in_hex(&hash.finalize()) == named.sha256 => Ok(stored),
        Some(_) | None => Err(changed()),
    }
}

impl Source {
    /// The next part, which begins there; none at the end.
    async fn part(&mut self, offset: u64) -> io::Result<Vec<u8>> {
        match self {
            Self::Here(file) => {
                let file = Arc::clone(file);
                // The tool server reads at the same position, so this reads at one of its own.
                let read = tokio::task::spawn_blocking(move || read_piece(&file, offset, PART_BYTES)).await;
                read.unwrap_or_else(|error| Err(io::Error::other(error)))
            }
            Self::Elsewhere(pieces) => {
                let mut part = Vec::new();
                while part.len() < PART_BYTES {
                    let Some(piece) = pieces.next().await else { break };
                    part.extend_from_slice(&piece.map_err(|error| io::Error::other(error.without_url()))?);
                }
                Ok(part)
            }
        }
    }
}

fn changed() -> ToolError {
    let message = "The file is not what the call named any more, so it is not sent.";
    ToolError::new(ErrorCode::Conflict, message).with_hint("Send the same call again.")
}

fn unreadable(error: io::Error) -> ToolError {
    tracing::warn!(%error, "the file of an effect cannot be read");
    ToolError::new(ErrorCode::IoError, "The file cannot be read, so it is not sent.")
}
