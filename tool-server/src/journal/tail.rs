//! The end of the journal's file, where the next record goes.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use protocol::JournalRecord;

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

impl Tail {
    /// Writes a record, in a new file where this one is full.
    pub(super) fn append(&mut self, record: &JournalRecord) -> io::Result<()> {
        let mut line = serde_json::to_vec(record)?;
        let hash = JournalRecord::line_hash(&line);
        line.push(b'\n');
        let length = u64::try_from(line.len()).unwrap_or(u64::MAX);
        self.reopen_if_gone()?;
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

    /// Goes on in a new file when somebody removed or replaced this one: nobody could find the records of one
    /// that has no name. The supervisor notices that the older ones are gone.
    fn reopen_if_gone(&mut self) -> io::Result<()> {
        match fs::metadata(&self.path) {
            Ok(named) if (named.dev(), named.ino()) == self.identity => return Ok(()),
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(_) | Err(_) => {}
        }
        tracing::error!("the journal's file was removed or replaced; its records go on in a new one");
        let file = archives::open_own(&self.path)?;
        (self.identity, self.length) = identity_and_length(&file)?;
        self.file = file;
        Ok(())
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
