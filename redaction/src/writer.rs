//! A writer that redacts logs.
//!
//! It redacts whole lines, because a secret that is cut in two is not found. Lines that are written together
//! are redacted together, so that a private key of many lines is one block.

use std::io::{self, Write};
use std::sync::Arc;

use super::Redactor;

/// Longer lines are redacted in pieces, so that memory stays bounded when a line never ends.
const LONGEST_LINE_BYTES: usize = 1024 * 1024;

/// Redacts whole lines for another writer; an unfinished one is held until it ends or the writer is dropped.
#[derive(Debug)]
pub struct RedactingWriter<W: Write> {
    inner: W,
    redactor: Arc<Redactor>,
    held: Vec<u8>,
}

impl<W: Write> RedactingWriter<W> {
    /// A writer that redacts everything before it reaches `inner`.
    pub fn new(inner: W, redactor: Arc<Redactor>) -> Self {
        Self { inner, redactor, held: Vec::new() }
    }

    /// Writes the first `length` of the held bytes. They are dropped even when writing fails.
    fn write_held(&mut self, length: usize) -> io::Result<()> {
        let lines: Vec<u8> = self.held.drain(..length).collect();
        self.inner.write_all(self.redactor.redact(&String::from_utf8_lossy(&lines)).as_bytes())
    }
}

impl<W: Write> Write for RedactingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.held.extend_from_slice(bytes);
        let whole = self.held.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
        if whole > 0 {
            self.write_held(whole)?;
        } else if self.held.len() > LONGEST_LINE_BYTES {
            self.write_held(self.held.len())?;
        }
        Ok(bytes.len())
    }

    /// Flushes whole lines; the beginning of an unfinished one stays held.
    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl<W: Write> Drop for RedactingWriter<W> {
    fn drop(&mut self) {
        // A log that cannot be written has no other place to report that.
        drop(self.write_held(self.held.len()).and_then(|()| self.inner.flush()));
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
    fn a_line_that_never_ends_does_not_grow_without_bound() {
        let long = "x".repeat(LONGEST_LINE_BYTES + 1);
        assert_eq!(written(&[&long, "y"]).len(), long.len() + 1);
    }
}
