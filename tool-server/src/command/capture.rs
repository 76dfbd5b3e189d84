//! Capture: a command's two outputs, read while it runs, bounded in memory and on the disk.
//!
//! The beginning and the end of each are kept in memory. Once there is more than is shown, everything goes
//! into a file of the output store in the order in which it came, up to that file's bound; a command that
//! says little makes no file.

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use toolkit::Bounds;

use super::shown::Text;
use super::shown::{self, Kept};
use crate::output_store::{OutputStore, Spill, Whole};

/// How much is read at once.
const BLOCK: usize = 64 * 1024;

/// Both outputs of a command.
#[derive(Debug)]
pub(super) struct Capture {
    bounds: Bounds,
    stdout: Stream,
    stderr: Stream,
    record: Record,
    block: Vec<u8>,
}

/// One output.
#[derive(Debug, Default)]
struct Stream {
    pipe: Option<File>,
    kept: Kept,
}

/// Everything that came, in its order: in memory while it is short, then in a file.
#[derive(Debug)]
struct Record {
    store: Arc<OutputStore>,
    name: String,
    memory: Vec<u8>,
    spill: Option<Spill>,
    failed: bool,
}

impl Capture {
    pub(super) fn new(bounds: Bounds, store: Arc<OutputStore>, name: &str) -> Self {
        let record = Record { store, name: name.to_owned(), memory: Vec::new(), spill: None, failed: false };
        Self { bounds, stdout: Stream::default(), stderr: Stream::default(), record, block: vec![0; BLOCK] }
    }

    /// Takes the pipes to read.
    pub(super) fn attach(&mut self, stdout: OwnedFd, stderr: OwnedFd) {
        self.stdout.pipe = Some(stdout.into());
        self.stderr.pipe = Some(stderr.into());
    }

    /// Waits for output at most `patience` and reads what there is; false when both pipes have ended.
    pub(super) fn read(&mut self, patience: Duration) -> bool {
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
            let patience = Timespec {
                tv_sec: i64::try_from(patience.as_secs()).unwrap_or(0),
                tv_nsec: i64::from(patience.subsec_nanos()),
            };
            let _ = poll(&mut watched, Some(&patience));
            let mut ready = watched.iter().map(|pipe| !pipe.revents().is_empty());
            pipes.map(|pipe| pipe.is_some() && ready.next().unwrap_or(false))
        };
        for (stream, is_ready) in [&mut self.stdout, &mut self.stderr].into_iter().zip(ready) {
            if is_ready {
                stream.read(&mut self.block, self.bounds, &mut self.record);
            }
        }
        self.stdout.pipe.is_some() || self.stderr.pipe.is_some()
    }

    /// The text to show, and the file of the whole where the text is cut.
    pub(super) fn finish(self) -> (Text, Whole) {
        let text = shown::text(&self.stdout.kept, &self.stderr.kept, self.bounds);
        let whole = self.record.finish(text.cut_lines || text.cut_bytes);
        (text, whole)
    }
}

impl Stream {
    /// Reads one block, which is there.
    fn read(&mut self, block: &mut [u8], bounds: Bounds, record: &mut Record) {
        let Some(pipe) = &mut self.pipe else { return };
        match pipe.read(block) {
            Ok(0) => self.pipe = None,
            Ok(length) => {
                self.kept.add(&block[..length], bounds.bytes);
                record.add(&block[..length], bounds.bytes);
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => self.pipe = None,
        }
    }
}

impl Kept {
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

impl Record {
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

    /// Begins the file with what came so far.
    fn spill(&mut self) {
        let memory = std::mem::take(&mut self.memory);
        match self.store.begin(&self.name) {
            Ok(mut spill) => {
                self.failed |= spill.write(&memory).is_err();
                self.spill = Some(spill);
            }
            Err(error) => {
                tracing::error!(%error, "the whole output of a command could not be kept");
                self.failed = true;
            }
        }
    }

    fn finish(mut self, was_cut: bool) -> Whole {
        if was_cut && self.spill.is_none() && !self.failed {
            self.spill();
        }
        if self.failed {
            return Whole::lost();
        }
        match self.spill {
            None => Whole::default(),
            Some(spill) => spill.finish(),
        }
    }
}
