//! The bytes of a transfer, between the connection and the disk, a block at a time.

use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream::{Stream, try_unfold};
use http_body_util::BodyExt as _;
use rustix::fs::fstat;
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;

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

/// The bytes of a file from a place to another; `read` fills a block from a place on, on a thread that may
/// block.
pub(in crate::http) fn blocks(
    first: u64,
    end: u64,
    read: impl Fn(u64, &mut [u8]) -> io::Result<()> + Send + Sync + 'static,
) -> impl Stream<Item = io::Result<Bytes>> + Send {
    let read = Arc::new(read);
    try_unfold(first, move |at| {
        let read = Arc::clone(&read);
        async move {
            if at >= end {
                return Ok(None);
            }
            let length = (end - at).min(BLOCK_BYTES);
            let mut block = vec![0; usize::try_from(length).unwrap_or(0)];
            let read = spawn_blocking(move || read(at, &mut block).map(|()| block));
            Ok(Some((read.await.map_err(io::Error::other)??.into(), at + length)))
        }
    })
}

/// A part of a file. A file that changes meanwhile ends the connection early: what was sent is not what the
/// tag says.
pub(super) fn send(file: OpenFile, part: FilePart) -> impl Stream<Item = io::Result<Bytes>> + Send {
    let end = part.first + part.length;
    blocks(part.first, end, move |at, block| {
        file.file.read_exact_at(block, at)?;
        let (now, then) = (fstat(&file.file)?, &file.stat);
        // A file that was replaced meanwhile is still whole here; its ctime differs, and nothing else.
        let key = |stat: &rustix::fs::Stat| (stat.st_size, stat.st_mtime, stat.st_mtime_nsec);
        let is_last = end - at == u64::try_from(block.len()).unwrap_or(u64::MAX);
        if is_last && key(&now) != key(then) {
            return Err(io::Error::other("the file has changed while it was sent"));
        }
        Ok(())
    })
}
