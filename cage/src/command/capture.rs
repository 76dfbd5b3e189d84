//! Captures a command's stdout and stderr while it runs, bounded in memory and on disk.
//!
//! The beginning and the end of each are kept in memory. Once there is more than can be shown, everything
//! goes to a file of the output store in the order it arrives, up to that file's limit; short output needs no
//! file.

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use files::output_store::{OutputStore, SavedOutput, Spill};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use toolkit::Bounds;

use super::excerpt::{self, DisplayedOutput, HeadAndTail};

/// How much is read at once.
const BLOCK: usize = 64 * 1024;

#[derive(Debug)]
pub(super) struct Capture {
    bounds: Bounds,
    stdout: Stream,
    stderr: Stream,
    spill_buffer: SpillBuffer,
    block: Vec<u8>,
}

#[derive(Debug, Default)]
struct Stream {
    pipe: Option<File>,
    kept: HeadAndTail,
}

/// All output in order of arrival: in memory while it is short, then in a file.
#[derive(Debug)]
struct SpillBuffer {
    store: Arc<OutputStore>,
    name: String,
    memory: Vec<u8>,
    spill: Option<Spill>,
    failed: bool,
}

impl Capture {
    pub(super) fn new(bounds: Bounds, store: Arc<OutputStore>, name: &str) -> Self {
        let spill_buffer =
            SpillBuffer { store, name: name.to_owned(), memory: Vec::new(), spill: None, failed: false };
        Self {
            bounds,
            stdout: Stream::default(),
            stderr: Stream::default(),
            spill_buffer,
            block: vec![0; BLOCK],
        }
    }

    pub(super) fn attach(&mut self, stdout: OwnedFd, stderr: OwnedFd) {
        self.stdout.pipe = Some(stdout.into());
        self.stderr.pipe = Some(stderr.into());
    }

    /// Waits at most `poll_interval` for output and reads it; false when both pipes are closed.
    pub(super) fn read(&mut self, poll_interval: Duration) -> bool {
        let ready = {
            let pipes = [&self.stdout.pipe, &self.stderr.pipe];
            let mut watched: Vec<PollFd<'_>> = pipes
                .into_iter()
                .flatten()
                .map(|pipe| PollFd::from_borrowed_fd(pipe.as_fd(), PollFlags::IN))
                .collect();
            if watched.is_empty() {
                return false;
            }
            let poll_interval = Timespec {
                tv_sec: i64::try_from(poll_interval.as_secs()).unwrap_or(0),
                tv_nsec: i64::from(poll_interval.subsec_nanos()),
            };
            let _ = poll(&mut watched, Some(&poll_interval));
            let mut ready = watched.iter().map(|pipe| !pipe.revents().is_empty());
            pipes.map(|pipe| pipe.is_some() && ready.next().unwrap_or(false))
        };
        for (stream, is_ready) in [&mut self.stdout, &mut self.stderr].into_iter().zip(ready) {
            if is_ready {
                stream.read(&mut self.block, self.bounds, &mut self.spill_buffer);
            }
        }
        self.stdout.pipe.is_some() || self.stderr.pipe.is_some()
    }

    /// The text to show, and the file of the complete output if the text is cut.
    pub(super) fn finish(self) -> (DisplayedOutput, SavedOutput) {
        let text = excerpt::displayed_output(&self.stdout.kept, &self.stderr.kept, self.bounds);
        let saved = self.spill_buffer.finish(text.cut_lines || text.cut_bytes);
        (text, saved)
    }
}

impl Stream {
    fn read(&mut self, block: &mut [u8], bounds: Bounds, spill_buffer: &mut SpillBuffer) {
        let Some(pipe) = &mut self.pipe else { return };
        match pipe.read(block) {
            Ok(0) => self.pipe = None,
            Ok(length) => {
                self.kept.add(&block[..length], bounds.bytes);
                spill_buffer.add(&block[..length], bounds.bytes);
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => self.pipe = None,
        }
    }
}

impl HeadAndTail {
    /// Keeps the first and the last `most` bytes.
    fn add(&mut self, block: &[u8], most: usize) {
        self.bytes += u64::try_from(block.len()).unwrap_or(0);
        self.lines += u64::try_from(memchr::memchr_iter(b'\n', block).count()).unwrap_or(0);
        let room = most.saturating_sub(self.head.len()).min(block.len());
        self.head.extend_from_slice(&block[..room]);
        self.tail.extend_from_slice(&block[room..]);
        if self.tail.len() > 2 * most {
            self.tail.drain(..self.tail.len() - most);
        }
    }
}

impl SpillBuffer {
    fn add(&mut self, block: &[u8], most: usize) {
        if let Some(spill) = &mut self.spill {
            self.failed |= spill.write(block).is_err();
        } else {
            self.memory.extend_from_slice(block);
            if self.memory.len() > 4 * most {
                self.spill();
            }
        }
    }

    /// Starts the file with the output so far.
    fn spill(&mut self) {
        let memory = std::mem::take(&mut self.memory);
        match self.store.begin(&self.name) {
            Ok(mut spill) => {
                self.failed |= spill.write(&memory).is_err();
                self.spill = Some(spill);
            }
            Err(error) => {
                tracing::error!(%error, "could not save the complete output of a command");
                self.failed = true;
            }
        }
    }

    fn finish(mut self, was_cut: bool) -> SavedOutput {
        if was_cut && self.spill.is_none() && !self.failed {
            self.spill();
        }
        if self.failed {
            return SavedOutput::lost();
        }
        match self.spill {
            None => SavedOutput::default(),
            Some(spill) => spill.finish(),
        }
    }
}
