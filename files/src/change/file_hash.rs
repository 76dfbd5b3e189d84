//! The SHA-256 of a whole file, read block by block, so that the size of a file costs time and no memory.

use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Mutex;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use protocol::ToolError;
use protocol::hash::in_hex;
use rustix::fs::Stat;
use rustix::io::{Errno, pread};
use sha2::{Digest, Sha256};
use toolkit::{Call, locked};

use super::attributes::same_metadata;
use super::error::io_error;

/// How much is read at once.
const BLOCK_BYTES: usize = 128 * 1024;

/// How many hashes are remembered: a client that fetches a file in parts asks for the same one each time.
const MAX_KEPT: usize = 64;

/// Two changes within one tick of the file system's clock look like one; a hash younger than this is not
/// kept.
const SETTLED_AFTER: Duration = Duration::from_secs(2);

/// The hash of a file in hex, and how many bytes it is of; fails at the call's deadline.
pub fn hash_file(file: &OwnedFd, path: &str, call: &Call) -> Result<(String, u64), ToolError> {
    let mut over = None;
    let hashed = sha256_of_file(file, || {
        call.check().map_err(|error| {
            over = Some(error);
            io::ErrorKind::TimedOut.into()
        })
    });
    hashed.map_err(|error| over.unwrap_or_else(|| io_error(path, "read", &error)))
}

/// The same; `check` is asked before each block.
pub(super) fn sha256_of_file(
    file: &OwnedFd,
    mut check: impl FnMut() -> io::Result<()>,
) -> io::Result<(String, u64)> {
    let mut state = Sha256::new();
    let (mut block, mut at) = (vec![0; BLOCK_BYTES], 0);
    loop {
        check()?;
        match read_at(file, &mut block, at)? {
            0 => return Ok((in_hex(&state.finalize()), at)),
            read => {
                state.update(&block[..read]);
                at += u64::try_from(read).unwrap_or(0);
            }
        }
    }
}

/// Reads once; retries if a signal interrupts it.
pub(super) fn read_at(file: &OwnedFd, block: &mut [u8], at: u64) -> io::Result<usize> {
    loop {
        match pread(file, &mut *block, at) {
            Err(Errno::INTR) => {}
            settled => return Ok(settled?),
        }
    }
}

/// The hashes of the files that were read last.
#[derive(Debug, Default)]
pub struct FileHashes(Mutex<VecDeque<(Stat, String)>>);

impl FileHashes {
    /// The hash of a file whose metadata is this, if that has not changed since it was hashed.
    pub fn get(&self, stat: &Stat) -> Option<String> {
        let kept = locked(&self.0);
        kept.iter().find(|(then, _)| same_metadata(then, stat)).map(|(_, hash)| hash.clone())
    }

    /// Remembers the hash of a file that had this metadata before it was read, and has it still.
    pub fn put(&self, stat: &Stat, hash: &str, now: SystemTime) {
        let changed = Duration::from_secs(u64::try_from(stat.st_ctime).unwrap_or(0));
        let age = now.duration_since(UNIX_EPOCH + changed).unwrap_or_default();
        if age < SETTLED_AFTER || self.get(stat).is_some() {
            return;
        }
        let mut kept = locked(&self.0);
        if kept.len() == MAX_KEPT {
            kept.pop_front();
        }
        kept.push_back((*stat, hash.to_owned()));
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use rustix::fs::fstat;

    use super::*;

    #[test]
    fn a_hash_is_that_of_the_whole_file_and_kept_only_once_the_file_has_settled() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("f");
        let content = vec![7_u8; 3 * BLOCK_BYTES + 1];
        fs::write(&path, &content).unwrap();
        let file = OwnedFd::from(fs::File::open(&path).unwrap());
        let call = Call::own(Duration::from_secs(30));
        let (hash, bytes) = hash_file(&file, "f", &call).unwrap();
        assert_eq!((hash.as_str(), bytes), (protocol::hash::sha256(&content).as_str(), 3 * 131_072 + 1));
        let (hashes, stat, now) = (FileHashes::default(), fstat(&file).unwrap(), SystemTime::now());
        hashes.put(&stat, &hash, now);
        assert_eq!(hashes.get(&stat), None, "it may change within the same tick");
        hashes.put(&stat, &hash, now + 2 * SETTLED_AFTER);
        assert_eq!(hashes.get(&stat), Some(hash));
        fs::write(&path, "other").unwrap();
        assert_eq!(hashes.get(&fstat(&file).unwrap()), None);
    }

    #[test]
    fn hashing_ends_at_the_deadline() {
        let file = OwnedFd::from(tempfile::tempfile().unwrap());
        let error = hash_file(&file, "f", &Call::own(Duration::ZERO)).unwrap_err();
        assert_eq!(error.code, protocol::ErrorCode::Timeout);
    }
}
