//! The bytes of a transfer, between the connection and the disk, a block at a time.

use std::io;
use std::sync::Arc;

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream::{Stream, try_unfold};
use http_body_util::BodyExt as _;
use rustix::fs::fstat;
use rustix::io::{Errno, pread};
use tokio::sync::mpsc;

use super::range::Part as FilePart;
use crate::http::call::{MAX_DISCARDED_BYTES, cut_short};
use crate::transfers::{OpenFile, Part};

/// How much of a file is in memory at once.
const BLOCK_BYTES: u64 = 128 * 1024;

/// Passes a request's body on. What its reader leaves is read and discarded up to a limit, because a
/// client that sends reads the answer only afterwards.
pub(super) async fn receive(mut body: Body, parts: mpsc::Sender<Part>) {
    let mut discarded = 0;
    loop {
        let part = match body.frame().await {
            None => Part::End,
            Some(Err(error)) => Part::Failed(cut_short(&error)),
            Some(Ok(frame)) => match frame.into_data() {
                Ok(data) => Part::Data(data),
                Err(_) => continue,
            },
        };
        let length = match &part {
            Part::Data(data) => data.len(),
            Part::End | Part::Failed(_) => {
                let _ = parts.send(part).await;
                return;
            }
        };
        if parts.send(part).await.is_err() {
            discarded += length;
            if discarded > MAX_DISCARDED_BYTES {
                return;
            }
        }
    }
}

/// A part of a file. A file that changes meanwhile ends the connection early: what was sent is not what the
/// tag says.
pub(super) fn send(file: OpenFile, part: FilePart) -> impl Stream<Item = io::Result<Bytes>> + Send {
    let (file, end) = (Arc::new(file), part.first + part.length);
    try_unfold(part.first, move |at| {
        let file = Arc::clone(&file);
        async move {
            if at == end {
                return Ok(None);
            }
            let read = tokio::task::spawn_blocking(move || block(&file, at, end));
            let block = read.await.map_err(io::Error::other)??;
            let next = at + u64::try_from(block.len()).unwrap_or(0);
            Ok(Some((block, next)))
        }
    })
}

fn block(file: &OpenFile, at: u64, end: u64) -> io::Result<Bytes> {
    let length = (end - at).min(BLOCK_BYTES);
    let mut block = vec![0; usize::try_from(length).unwrap_or(0)];
    let mut filled = 0;
    while filled < block.len() {
        match pread(&file.file, &mut block[filled..], at + u64::try_from(filled).unwrap_or(0)) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => filled += read,
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    let (now, then) = (fstat(&file.file)?, &file.stat);
    // A file that was replaced meanwhile is still whole here; its ctime differs, and nothing else.
    let key = |stat: &rustix::fs::Stat| (stat.st_size, stat.st_mtime, stat.st_mtime_nsec);
    if at + length == end && key(&now) != key(then) {
        return Err(io::Error::other("the file has changed while it was sent"));
    }
    Ok(Bytes::from(block))
}
