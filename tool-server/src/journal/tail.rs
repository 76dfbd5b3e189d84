//! The end of the journal's file, where the next record goes.
//!
//! Calls wait for each other here, so a record is written as text and hashed before, as far as that goes.

use std::fs::{self, File, Metadata};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use protocol::JournalRecord;
use protocol::hash::in_hex;
use protocol::journal::FIRST_PREV;
use sha2::{Digest as _, Sha256};

use super::archives;

#[derive(Debug)]
pub(super) struct Tail {
    pub(super) path: PathBuf,
    pub(super) file: File,
    /// The file's device and inode.
    pub(super) identity: (u64, u64),
    pub(super) length: u64,
    pub(super) max_bytes: u64,
    pub(super) last_hash: String,
    pub(super) _lock: File,
}

/// A record's line up to the hash of the line before, which is known only when its turn comes.
pub(super) struct Line {
    text: Vec<u8>,
    hashed: Sha256,
}

impl Line {
    /// The line of a record whose `prev` is [`FIRST_PREV`].
    pub(super) fn of(record: &JournalRecord) -> io::Result<Self> {
        let mut text = serde_json::to_vec(record)?;
        let end = format!("{FIRST_PREV}\"}}");
        let begun = text.strip_suffix(end.as_bytes()).map(<[u8]>::len);
        text.truncate(begun.ok_or_else(|| io::Error::other("a record does not end with its `prev`"))?);
        Ok(Self { hashed: Sha256::new_with_prefix(&text), text })
    }

    /// The whole line with its newline, and its hash.
    fn after(mut self, prev: &str) -> (Vec<u8>, String) {
        let end = format!("{prev}\"}}\n");
        self.hashed.update(&end.as_bytes()[..end.len() - 1]);
        self.text.extend_from_slice(end.as_bytes());
        (self.text, in_hex(&self.hashed.finalize()))
    }
}

impl Tail {
    /// Writes a record, in a new file where this one is full. `named` is what its path named a moment ago.
    pub(super) fn append(&mut self, line: Line, named: &io::Result<Metadata>) -> io::Result<()> {
        let (line, hash) = line.after(&self.last_hash);
        let length = u64::try_from(line.len()).unwrap_or(u64::MAX);
        if !self.is_at(named) {
            self.reopen_if_gone()?;
        }
        self.rotate_if_full(length);
        if let Err(error) = self.file.write_all(&line) {
            // Half a line must not stay: the next record would be glued to it.
            if self.file.metadata()?.len() > self.length {
                self.file.set_len(self.length)?;
            }
            return Err(error);
        }
        self.length += length;
        self.last_hash = hash;
        Ok(())
    }

    /// Continues in a new file when somebody removed or replaced this one: no reader finds the records of one
    /// that has no name. The supervisor notices that the older ones are gone.
    fn reopen_if_gone(&mut self) -> io::Result<()> {
        let named = fs::metadata(&self.path);
        if self.is_at(&named) {
            return Ok(());
        }
        if let Err(error) = named
            && error.kind() != io::ErrorKind::NotFound
        {
            return Err(error);
        }
        tracing::error!("the journal's file was removed or replaced; its records go on in a new one");
        let file = archives::open_own(&self.path)?;
        (self.identity, self.length) = identity_and_length(&file)?;
        self.file = file;
        Ok(())
    }

    fn is_at(&self, named: &io::Result<Metadata>) -> bool {
        named.as_ref().is_ok_and(|named| (named.dev(), named.ino()) == self.identity)
    }

    /// Archives a full file. If that fails, the file keeps growing: a record matters more than a size limit.
    fn rotate_if_full(&mut self, needed: u64) {
        if self.length == 0 || self.length.saturating_add(needed) <= self.max_bytes {
            return;
        }
        let next = self.file.sync_data().and_then(|()| archives::rotate(&self.path));
        match next.and_then(|file| Ok((identity_and_length(&file)?, file))) {
            Ok(((identity, length), file)) => {
                (self.file, self.identity, self.length) = (file, identity, length);
            }
            Err(error) => tracing::error!(%error, "cannot archive the full journal; it keeps growing"),
        }
    }
}

pub(super) fn identity_and_length(file: &File) -> io::Result<((u64, u64), u64)> {
    let metadata = file.metadata()?;
    Ok(((metadata.dev(), metadata.ino()), metadata.len()))
}

#[cfg(test)]
mod tests {
    use protocol::journal::RecordBody;
    use protocol::{EventId, SessionId};

    use super::*;

    #[test]
    fn a_line_that_was_begun_early_is_the_records_own_with_its_hash() {
        let prev = "ab".repeat(32);
        let mut record = JournalRecord {
            body: RecordBody::Repaired { cut_bytes: 1 },
            id: EventId::new(),
            parent_id: None,
            task_id: None,
            session_id: SessionId::default_session(),
            time_ms: 1,
            prev: FIRST_PREV.to_owned(),
        };
        let (line, hash) = Line::of(&record).unwrap().after(&prev);
        record.prev = prev;
        let whole = serde_json::to_vec(&record).unwrap();
        assert_eq!(line, [&whole[..], b"\n"].concat());
        assert_eq!(hash, JournalRecord::line_hash(&whole));
        assert!(Line::of(&record).is_err(), "only the first `prev` leaves room for another");
    }
}
