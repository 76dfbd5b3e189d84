//! The two pipes of a command: waits for output in either, and reads it.

use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::processes::Stream;

/// How much is read at once.
const BLOCK: usize = 64 * 1024;

#[derive(Debug)]
pub(super) struct Pipes {
    pipes: [Option<File>; 2],
    block: Vec<u8>,
}

impl Pipes {
    pub(super) fn of(stdout: OwnedFd, stderr: OwnedFd) -> Self {
        Self { pipes: [Some(stdout.into()), Some(stderr.into())], block: vec![0; BLOCK] }
    }

    /// Waits at most this long for output, and passes on a block of each pipe that has some; false when both
    /// are closed.
    pub(super) fn read(&mut self, wait: Duration, mut take: impl FnMut(Stream, &[u8])) -> bool {
        let ready = {
            let mut watched: Vec<PollFd<'_>> = self
                .pipes
                .iter()
                .flatten()
                .map(|pipe| PollFd::from_borrowed_fd(pipe.as_fd(), PollFlags::IN))
                .collect();
            if watched.is_empty() {
                return false;
            }
            let _ = poll(&mut watched, Timespec::try_from(wait).ok().as_ref());
            let mut ready = watched.iter().map(|pipe| !pipe.revents().is_empty());
            self.pipes.each_ref().map(|pipe| pipe.is_some() && ready.next().unwrap_or(false))
        };
        for ((place, stream), is_ready) in
            self.pipes.iter_mut().zip([Stream::Stdout, Stream::Stderr]).zip(ready)
        {
            let Some(pipe) = place.as_mut().filter(|_| is_ready) else { continue };
            match pipe.read(&mut self.block) {
                Ok(0) => *place = None,
                Ok(length) => take(stream, &self.block[..length]),
                Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => {}
                // The other end of a terminal is closed.
                Err(_) => *place = None,
            }
        }
        self.pipes.iter().any(Option::is_some)
    }
}
