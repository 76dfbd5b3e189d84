//! Captures a command's stdout and stderr while it runs, bounded in memory and on disk.
//!
//! The beginning and the end of each are kept in memory. Once there is more than can be shown, everything
//! goes to a file of the output store in the order it arrives, up to that file's limit; short output needs no
//! file.

use std::sync::Arc;

use files::output_store::{OutputStore, SavedOutput, Spill};
use toolkit::Bounds;

use super::excerpt::{self, DisplayedOutput, HeadAndTail};
use crate::processes::Stream;

#[derive(Debug)]
pub(super) struct Capture {
    ends: Ends,
    spill_buffer: SpillBuffer,
}

/// The beginning and the end of both outputs, as much as an answer can show.
#[derive(Debug)]
pub(super) struct Ends {
    bounds: Bounds,
    stdout: HeadAndTail,
    stderr: HeadAndTail,
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
        Self { ends: Ends::within(bounds), spill_buffer }
    }

    /// Takes output in the order in which it arrives.
    pub(super) fn add(&mut self, stream: Stream, block: &[u8]) {
        self.ends.add(stream, block);
        self.spill_buffer.add(block, self.ends.bounds.bytes);
    }

    /// The text to show, and the file of the complete output if the text is cut.
    pub(super) fn finish(self) -> (DisplayedOutput, SavedOutput) {
        let text = self.ends.displayed();
        let saved = self.spill_buffer.finish(text.is_cut());
        (text, saved)
    }
}

impl Ends {
    pub(super) fn within(bounds: Bounds) -> Self {
        Self { bounds, stdout: HeadAndTail::default(), stderr: HeadAndTail::default() }
    }

    pub(super) fn add(&mut self, stream: Stream, block: &[u8]) {
        let kept = match stream {
            Stream::Stdout => &mut self.stdout,
            Stream::Stderr => &mut self.stderr,
        };
        kept.add(block, self.bounds.bytes);
    }

    /// Takes back the last bytes of each, in which no line ends.
    pub(super) fn drop_last(&mut self, [stdout, stderr]: [usize; 2]) {
        self.stdout.drop_last(stdout);
        self.stderr.drop_last(stderr);
    }

    pub(super) fn displayed(&self) -> DisplayedOutput {
        excerpt::displayed_output(&self.stdout, &self.stderr, self.bounds)
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

    fn drop_last(&mut self, length: usize) {
        let of_tail = length.min(self.tail.len());
        self.tail.truncate(self.tail.len() - of_tail);
        self.head.truncate(self.head.len().saturating_sub(length - of_tail));
        self.bytes = self.bytes.saturating_sub(u64::try_from(length).unwrap_or(0));
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
