//! A writer that redacts what goes through it, for logs.
//!
//! Whole lines are redacted, never a part of one, because a secret that was cut in two is not found. What is
//! written at once is looked at together, so that a private key of many lines is one block.

use std::io::{self, Write};
use std::sync::Arc;

use super::Redactor;

/// A line that is longer is redacted in pieces: memory stays bounded even if no line ever ends.
const LONGEST_LINE_BYTES: usize = 1024 * 1024;

/// Redacts lines on their way to another writer. An unfinished line waits for its end or for the drop.
#[derive(Debug)]
pub struct RedactingWriter<W: Write> {
    inner: W,
    redactor: Arc<Redactor>,
    waiting: Vec<u8>,
}

impl<W: Write> RedactingWriter<W> {
    /// A writer that redacts before `inner` gets to see anything.
    pub fn new(inner: W, redactor: Arc<Redactor>) -> Self {
        Self { inner, redactor, waiting: Vec::new() }
    }

    /// Passes on the first `length` of the waiting bytes. They leave the queue even when writing fails.
    fn pass_on(&mut self, length: usize) -> io::Result<()> {
        let lines: Vec<u8> = self.waiting.drain(..length).collect();
        self.inner.write_all(self.redactor.redact(&String::from_utf8_lossy(&lines)).as_bytes())
    }
}

impl<W: Write> Write for RedactingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.waiting.extend_from_slice(bytes);
        let whole = self.waiting.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
        if whole > 0 {
            self.pass_on(whole)?;
        } else if self.waiting.len() > LONGEST_LINE_BYTES {
            self.pass_on(self.waiting.len())?;
        }
        Ok(bytes.len())
    }

    /// Flushes whole lines; the rest of a line is not passed on before its end is known.
    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl<W: Write> Drop for RedactingWriter<W> {
    fn drop(&mut self) {
        // Nobody is left to tell: a log that cannot be written has no other place to say so.
        drop(self.pass_on(self.waiting.len()).and_then(|()| self.inner.flush()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(pieces: &[&str]) -> String {
        let mut sink = Vec::new();
        let redactor = Arc::new(Redactor::new(["own-secret-of-ours"]));
        let mut writer = RedactingWriter::new(&mut sink, redactor);
        for piece in pieces {
            writer.write_all(piece.as_bytes()).unwrap();
            writer.flush().unwrap();
        }
        drop(writer);
        String::from_utf8(sink).unwrap()
    }

    #[test]
    fn a_secret_that_arrives_in_pieces_is_redacted() {
        assert_eq!(written(&["a own-sec", "ret-of-ours b\nc"]), "a ***REDACTED*** b\nc");
        assert_eq!(written(&["own-secret", "-of-ours"]), "***REDACTED***");
    }

    #[test]
    fn a_line_without_an_end_does_not_grow_for_ever() {
        let long = "x".repeat(LONGEST_LINE_BYTES + 1);
        assert_eq!(written(&[&long, "y"]).len(), long.len() + 1);
    }
}
