//! The stream of one request: a line in, a line out.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use protocol::effect::{EffectAnswer, MAX_LINE_BYTES};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::time::timeout;

/// The line is written before the stream is passed, or right after it.
const PATIENCE: Duration = Duration::from_secs(5);

/// A request that waits for its answer.
pub(super) struct Asked {
    pub(super) line: Vec<u8>,
    stream: tokio::net::UnixStream,
}

/// Reads a request's line. What is no stream, half a line and one without an end are errors.
pub(super) async fn read(stream: OwnedFd) -> io::Result<Asked> {
    let stream = UnixStream::from(stream);
    stream.set_nonblocking(true)?;
    let mut stream = tokio::net::UnixStream::from_std(stream)?;
    let limit = u64::try_from(MAX_LINE_BYTES).unwrap_or(u64::MAX);
    let mut line = Vec::new();
    let mut reader = BufReader::new((&mut stream).take(limit));
    timeout(PATIENCE, reader.read_until(b'\n', &mut line)).await??;
    match line.pop() {
        Some(b'\n') => Ok(Asked { line, stream }),
        _ if line.len() + 1 >= MAX_LINE_BYTES => Err(io::Error::other("the line is too long")),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

impl Asked {
    pub(super) async fn answer(&mut self, answer: &EffectAnswer) -> io::Result<()> {
        let mut line = serde_json::to_vec(answer)?;
        line.push(b'\n');
        timeout(PATIENCE, self.stream.write_all(&line)).await?
    }
}
