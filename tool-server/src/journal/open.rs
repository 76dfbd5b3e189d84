//! Opening the journal: take the lock, cut off a torn last line, find the last hash.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use protocol::JournalRecord;
use protocol::journal::FIRST_PREV;
use rustix::fs::{FlockOperation, flock};

use super::archives::{archives, open_own};
use super::tail::{Tail, identity_and_length};

/// How long a second server waits for the first to exit.
const LOCK_PATIENCE: Duration = Duration::from_secs(3);

/// How often it checks the lock meanwhile.
const LOCK_POLL: Duration = Duration::from_millis(20);

/// The block size of the search for the last line.
const BLOCK: u64 = 64 * 1024;

/// Why the journal cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The file or its directory cannot be created or opened.
    #[error("cannot open the journal {0:?}")]
    Open(PathBuf, #[source] io::Error),
    /// Another server has it open.
    #[error("another tool server is using the journal {0:?}")]
    Locked(PathBuf),
    /// It cannot be written.
    #[error("cannot write the journal")]
    Write(#[source] io::Error),
}

/// Takes the journal's lock, opens its file and cuts off a torn last line; returns the number of bytes cut.
pub(super) fn open(path: &Path, max_bytes: u64) -> Result<(Tail, u64), JournalError> {
    let failed = |error| JournalError::Open(path.to_owned(), error);
    let lock_file = open_lock(path).map_err(failed)?;
    lock(&lock_file, path)?;
    let mut file = open_own(path).map_err(failed)?;
    let (length, cut_bytes) = cut_torn_line(&mut file).map_err(failed)?;
    let last_hash = last_hash(path, &mut file, length).map_err(failed)?;
    let (identity, _) = identity_and_length(&file).map_err(failed)?;
    let tail = Tail { path: path.to_owned(), file, identity, length, max_bytes, last_hash, _lock: lock_file };
    Ok((tail, cut_bytes))
}

/// The lock has its own file, because the journal's is archived when it is full.
fn open_lock(path: &Path) -> io::Result<File> {
    if let Some(directory) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    }
    let mut lock = path.as_os_str().to_owned();
    lock.push(".lock");
    OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(PathBuf::from(lock))
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

fn cut_torn_line(file: &mut File) -> io::Result<(u64, u64)> {
    let length = file.metadata()?.len();
    let end = last_newline_before(file, length)?.map_or(0, |newline| newline + 1);
    if end < length {
        file.set_len(end)?;
    }
    Ok((end, length - end))
}

/// The hash that the next record carries. An empty file continues the newest archive.
fn last_hash(path: &Path, file: &mut File, length: u64) -> io::Result<String> {
    if length > 0 {
        return hash_of_last_line(file, length);
    }
    match archives(path)?.last_key_value() {
        None => Ok(FIRST_PREV.to_owned()),
        Some((_, archive)) => {
            let mut archive = File::open(archive)?;
            let length = archive.metadata()?.len();
            hash_of_last_line(&mut archive, length)
        }
    }
}

fn hash_of_last_line(file: &mut File, length: u64) -> io::Result<String> {
    let start = last_newline_before(file, length.saturating_sub(1))?.map_or(0, |newline| newline + 1);
    Ok(JournalRecord::line_hash(&read_range(file, start, length.saturating_sub(1))?))
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
