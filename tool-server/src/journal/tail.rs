//! The end of the journal's file, where the next record goes.

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

use protocol::JournalRecord;

use super::archives;

#[derive(Debug)]
pub(super) struct Tail {
    pub(super) path: PathBuf,
    pub(super) file: File,
    pub(super) length: u64,
    pub(super) max_bytes: u64,
    pub(super) last_hash: String,
    pub(super) _lock: File,
}

impl Tail {
    /// Writes a record, in a new file where this one is full.
    pub(super) fn append(&mut self, record: &JournalRecord) -> io::Result<()> {
        let mut line = serde_json::to_vec(record)?;
        let hash = JournalRecord::line_hash(&line);
        line.push(b'\n');
        let length = u64::try_from(line.len()).unwrap_or(u64::MAX);
        self.rotate_if_full(length);
        if let Err(error) = self.file.write_all(&line) {
            // Half a line must not stay: the next record would be glued to it.
            self.file.set_len(self.length)?;
            return Err(error);
        }
        self.length += length;
        self.last_hash = hash;
        Ok(())
    }

    /// Archives a full file. If that fails, the file keeps growing: a record matters more than a size limit.
    fn rotate_if_full(&mut self, needed: u64) {
        if self.length == 0 || self.length.saturating_add(needed) <= self.max_bytes {
            return;
        }
        match self.file.sync_data().and_then(|()| archives::rotate(&self.path)) {
            Ok(file) => (self.file, self.length) = (file, 0),
            Err(error) => tracing::error!(%error, "cannot archive the full journal; it keeps growing"),
        }
    }
}
