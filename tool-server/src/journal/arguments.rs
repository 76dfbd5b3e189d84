//! Arguments that are too large for a record: one file each, named by the SHA-256 of its content, so that the
//! chain of records covers it.
//!
//! A file is on the disk before its record is written. Equal arguments share a file; its change time is
//! renewed with each use, by which `supervisor prune` knows what no remaining record names.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use protocol::hash::sha256;
use protocol::journal::{ARGUMENTS_BYTES, ARGUMENTS_DIRECTORY, CallStarted};
use toolkit::arguments::bounded;

#[derive(Debug)]
pub(super) struct Arguments {
    directory: PathBuf,
    /// Makes the names of unfinished files unique.
    written: AtomicU64,
}

impl Arguments {
    pub(super) fn beside(journal: &Path) -> Self {
        Self { directory: journal.with_file_name(ARGUMENTS_DIRECTORY), written: AtomicU64::new(0) }
    }

    /// Moves large arguments into a file; the record keeps their beginnings and the file's name.
    pub(super) fn take_out(&self, call: &mut CallStarted) -> io::Result<()> {
        let content = serde_json::to_vec(&call.arguments)?;
        if content.len() <= ARGUMENTS_BYTES {
            return Ok(());
        }
        let name = sha256(&content);
        self.write(&name, &content)?;
        call.arguments = bounded(&call.arguments);
        call.arguments_file = Some(name);
        Ok(())
    }

    /// Writes beside the final name and renames, so that a file that exists is whole.
    fn write(&self, name: &str, content: &[u8]) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.directory)?;
        let number = self.written.fetch_add(1, Ordering::Relaxed);
        let unfinished = self.directory.join(format!("{name}.{number}.new"));
        let mut file =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&unfinished)?;
        let written = file.write_all(content).and_then(|()| file.sync_data());
        if let Err(error) = written.and_then(|()| fs::rename(&unfinished, self.directory.join(name))) {
            let _ = fs::remove_file(&unfinished);
            return Err(error);
        }
        File::open(&self.directory)?.sync_all()
    }
}

/// Whether the file that a record names is there and has the content that it was named by.
pub(super) fn is_intact(journal: &Path, name: &str) -> io::Result<bool> {
    Ok(read(journal, name)?.is_some_and(|content| sha256(&content) == name))
}

/// The content of the file that a record names; none if there is no such file.
pub(super) fn read(journal: &Path, name: &str) -> io::Result<Option<Vec<u8>>> {
    let is_a_name = name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_a_name {
        return Ok(None);
    }
    match fs::read(journal.with_file_name(ARGUMENTS_DIRECTORY).join(name)) {
        Ok(content) => Ok(Some(content)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
