//! The supervisor that has started this process. Each request goes over a stream of its own, which is passed
//! over the one socket that this process has inherited.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use process::fd_passing;
use protocol::effect::{EffectAnswer, EffectRequest, MAX_LINE_BYTES};

use super::{NoAnswer, left_until};

/// How long a request may wait until it is received.
const SEND: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(crate) struct Socket(UnixStream);

impl Socket {
    pub(super) fn new(socket: UnixStream) -> io::Result<Self> {
        socket.set_nonblocking(false)?;
        socket.set_write_timeout(Some(SEND))?;
        Ok(Self(socket))
    }

    /// Asks, and waits at most until the deadline.
    pub(super) fn exchange(
        &self,
        request: &EffectRequest,
        files: &[BorrowedFd<'_>],
        deadline: Instant,
    ) -> Result<EffectAnswer, NoAnswer> {
        let stream = self.send(request, files).map_err(NoAnswer::NotAsked)?;
        receive(stream, deadline).map_err(NoAnswer::NotKnown)
    }

    fn send(&self, request: &EffectRequest, files: &[BorrowedFd<'_>]) -> io::Result<UnixStream> {
        let mut line = serde_json::to_vec(request)?;
        line.push(b'\n');
        if line.len() > MAX_LINE_BYTES {
            return Err(io::Error::other("the request is too long"));
        }
        let (mut ours, theirs) = UnixStream::pair()?;
        let descriptors: Vec<BorrowedFd<'_>> =
            [theirs.as_fd()].into_iter().chain(files.iter().copied()).collect();
        fd_passing::send(&self.0, b'+', &descriptors)?;
        ours.set_write_timeout(Some(SEND))?;
        ours.write_all(&line)?;
        Ok(ours)
    }
}

fn receive(stream: UnixStream, deadline: Instant) -> io::Result<EffectAnswer> {
    stream.set_read_timeout(Some(left_until(deadline)))?;
    let limit = u64::try_from(MAX_LINE_BYTES).unwrap_or(u64::MAX);
    let mut line = Vec::new();
    BufReader::new(stream.take(limit)).read_until(b'\n', &mut line)?;
    if line.pop() != Some(b'\n') {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(serde_json::from_slice(&line)?)
}
