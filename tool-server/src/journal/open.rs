//! Opening the journal: one writer, and an end that a record can be added to.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use protocol::JournalRecord;
use protocol::journal::FIRST_PREV;
use rustix::fs::{FlockOperation, flock};

use super::Tail;

/// How long a second writer waits for the first to end.
const LOCK_PATIENCE: Duration = Duration::from_secs(3);

/// How often it looks meanwhile.
const LOCK_POLL: Duration = Duration::from_millis(20);

/// How much is read at once when the last line is looked for.
const BLOCK: u64 = 64 * 1024;

/// Why the journal cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The file or its directory cannot be made or opened.
    #[error("the journal {0:?} cannot be opened: {1}")]
    Open(PathBuf, #[source] io::Error),
    /// Another server writes it.
    #[error("the journal {0:?} is being written by another tool server")]
    Locked(PathBuf),
    /// It cannot be written.
    #[error("the journal cannot be written: {0}")]
    Write(#[source] io::Error),
}

/// Opens and locks the file, and cuts a torn last line away: the number of bytes cut.
pub(super) fn open(path: &Path) -> Result<(Tail, u64), JournalError> {
    let file = open_file(path).map_err(|error| JournalError::Open(path.to_owned(), error))?;
    lock(&file, path)?;
    find_end(file).map_err(|error| JournalError::Open(path.to_owned(), error))
}

fn open_file(path: &Path) -> io::Result<File> {
    if let Some(directory) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    }
    OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path)
}

fn lock(file: &File, path: &Path) -> Result<(), JournalError> {
    let give_up = Instant::now() + LOCK_PATIENCE;
    while flock(file, FlockOperation::NonBlockingLockExclusive).is_err() {
        if Instant::now() >= give_up {
            return Err(JournalError::Locked(path.to_owned()));
        }
        thread::sleep(LOCK_POLL);
    }
    Ok(())
}

fn find_end(mut file: File) -> io::Result<(Tail, u64)> {
    let length = file.metadata()?.len();
    let end = last_newline_before(&mut file, length)?.map_or(0, |newline| newline + 1);
    let cut_bytes = length - end;
    if cut_bytes > 0 {
        file.set_len(end)?;
    }
    let last_hash = match end {
        0 => FIRST_PREV.to_owned(),
        _ => {
            let start = last_newline_before(&mut file, end - 1)?.map_or(0, |newline| newline + 1);
            JournalRecord::line_hash(&read_range(&mut file, start, end - 1)?)
        }
    };
    Ok((Tail { file, length: end, last_hash }, cut_bytes))
}

/// The offset of the last newline in the file's first `end` bytes.
fn last_newline_before(file: &mut File, mut end: u64) -> io::Result<Option<u64>> {
    while end > 0 {
        let start = end.saturating_sub(BLOCK);
        let block = read_range(file, start, end)?;
        if let Some(at) = block.iter().rposition(|byte| *byte == b'\n') {
            return Ok(Some(start + u64::try_from(at).unwrap_or(0)));
        }
        end = start;
    }
    Ok(None)
}

fn read_range(file: &mut File, start: u64, end: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(start))?;
    file.take(end - start).read_to_end(&mut bytes)?;
    Ok(bytes)
}
