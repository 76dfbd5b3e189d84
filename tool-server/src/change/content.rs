//! What a file is at the moment when a change looks at it.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::sync::OnceLock;
use std::thread::{self, Scope};

use protocol::hash::{in_hex, sha256};
use rustix::fs::{Stat, fstat};
use sha2::{Digest, Sha256};
use toolkit::Fingerprint;

use super::diff::same_at_start;

/// From how many bytes on a content is hashed ahead, on a thread of its own.
const HASHED_AHEAD: usize = 256 * 1024;

/// How many bytes are hashed between two states that are kept.
const BLOCK: usize = 64 * 1024;

/// A file as it was looked at.
#[derive(Debug)]
pub struct Current {
    /// Its content; none when it is too large to be edited.
    pub content: Option<Vec<u8>>,
    /// Its size in bytes.
    pub size_bytes: u64,
    /// What the file system says of it.
    pub stat: Stat,
    hashed: OnceLock<Hashed>,
}

/// What hashing a file led to.
#[derive(Debug)]
struct Hashed {
    fingerprint: Fingerprint,
    /// The state of the hash before each block, for contents that begin in the same way.
    states: Vec<Sha256>,
}

impl Current {
    /// Reads a file up to `max_bytes`; of a larger one only its size and mtime.
    pub(super) fn look(file: &OwnedFd, max_bytes: u64) -> io::Result<Self> {
        let stat = fstat(file)?;
        let content = read_whole(file, max_bytes)?;
        let size_bytes = match &content {
            Some(content) => u64::try_from(content.len()).unwrap_or(u64::MAX),
            None => u64::try_from(stat.st_size).unwrap_or(0),
        };
        Ok(Self { content, size_bytes, stat, hashed: OnceLock::new() })
    }

    /// What to compare it with later. Whoever asks first hashes, and who asks meanwhile waits.
    pub fn fingerprint(&self) -> &Fingerprint {
        &self.hashed().fingerprint
    }

    fn hashed(&self) -> &Hashed {
        self.hashed.get_or_init(|| {
            let Some(content) = &self.content else {
                return Hashed { fingerprint: size_and_mtime(&self.stat), states: Vec::new() };
            };
            let (mut state, mut states) = (Sha256::new(), Vec::new());
            for block in content.chunks(BLOCK) {
                states.push(state.clone());
                state.update(block);
            }
            Hashed { fingerprint: Fingerprint::Sha256(in_hex(&state.finalize())), states }
        })
    }

    /// The SHA-256 of another content, in hex. What both begin with is not hashed again.
    fn sha256_of(&self, other: &[u8]) -> String {
        let shared = self.content.as_deref().map_or(0, |content| same_at_start(content, other));
        let states = &self.hashed().states;
        let Some(block) = states.len().checked_sub(1).map(|last| last.min(shared / BLOCK)) else {
            return sha256(other);
        };
        let mut state = states[block].clone();
        state.update(&other[block * BLOCK..]);
        in_hex(&state.finalize())
    }

    /// Begins the fingerprint of a long content on a thread of its own, beside what comes next.
    pub(super) fn hash_ahead<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>) {
        ahead(scope, self.content.as_deref(), || {
            self.fingerprint();
        });
    }

    /// Whether the file already has this content.
    pub fn is(&self, content: &[u8]) -> bool {
        self.content.as_deref() == Some(content)
    }
}

/// The content that a file is to have.
#[derive(Debug)]
pub(super) struct Next<'a> {
    /// All of it.
    pub(super) content: Cow<'a, [u8]>,
    before: Option<&'a Current>,
    sha256: OnceLock<String>,
}

impl<'a> Next<'a> {
    /// This content, in the place of what was before.
    pub(super) fn new(content: Cow<'a, [u8]>, before: Option<&'a Current>) -> Self {
        Self { content, before, sha256: OnceLock::new() }
    }

    /// Its SHA-256, in hex. Whoever asks first hashes, and who asks meanwhile waits.
    pub(super) fn sha256(&self) -> &str {
        self.sha256.get_or_init(|| match self.before {
            Some(before) => before.sha256_of(&self.content),
            None => sha256(&self.content),
        })
    }

    /// Begins the hash of a long content on a thread of its own, beside what comes next.
    pub(super) fn hash_ahead<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>) {
        ahead(scope, Some(&self.content), || {
            self.sha256();
        });
    }
}

/// Where no thread is to be had, whoever needs the hash makes it then.
fn ahead<'scope>(
    scope: &'scope Scope<'scope, '_>,
    content: Option<&[u8]>,
    hash: impl FnOnce() + Send + 'scope,
) {
    if content.is_some_and(|content| content.len() >= HASHED_AHEAD) {
        let _ = thread::Builder::new().spawn_scoped(scope, hash);
    }
}

/// All of a file from its beginning, or none when it has more than `max_bytes`. The size that the file
/// system claims is only a hint.
pub fn read_whole(file: &OwnedFd, max_bytes: u64) -> io::Result<Option<Vec<u8>>> {
    let claimed = u64::try_from(fstat(file)?.st_size).unwrap_or(0);
    if claimed > max_bytes {
        return Ok(None);
    }
    let mut content = Vec::with_capacity(usize::try_from(claimed + 1).unwrap_or(0));
    let mut file = File::from(file.try_clone()?);
    io::Seek::rewind(&mut file)?;
    file.take(max_bytes + 1).read_to_end(&mut content)?;
    let fits = u64::try_from(content.len()).is_ok_and(|length| length <= max_bytes);
    Ok(fits.then_some(content))
}

/// The fingerprint of a file that is too large to hash.
pub fn size_and_mtime(stat: &Stat) -> Fingerprint {
    Fingerprint::SizeAndMtime {
        size_bytes: u64::try_from(stat.st_size).unwrap_or(0),
        mtime_ns: i128::from(stat.st_mtime) * 1_000_000_000 + i128::from(stat.st_mtime_nsec),
    }
}

/// When a file last changed, in milliseconds since the Unix epoch.
pub fn mtime_ms(stat: &Stat) -> i64 {
    let part = i64::try_from(stat.st_mtime_nsec).unwrap_or(0) / 1_000_000;
    stat.st_mtime.saturating_mul(1000).saturating_add(part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_hash_that_goes_on_from_a_shared_beginning_is_the_hash_of_the_whole() {
        let old: Vec<u8> = (0..3 * BLOCK + 7).map(|index| u8::try_from(index % 251).unwrap_or(0)).collect();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&old).unwrap();
        let current = Current::look(&OwnedFd::from(file), 1 << 30).unwrap();
        let mut edited = old.clone();
        edited[BLOCK + 5] ^= 1;
        let longer = [old.as_slice(), b"more"].concat();
        for other in [&b""[..], b"short", &old[..BLOCK], &old[..BLOCK + 1], &old, &edited, &longer] {
            assert_eq!(current.sha256_of(other), sha256(other), "{} bytes", other.len());
        }
        assert_eq!(current.fingerprint(), &Fingerprint::Sha256(sha256(&old)));
    }

    #[test]
    fn an_empty_file_has_no_beginning_to_share() {
        let current = Current::look(&OwnedFd::from(tempfile::tempfile().unwrap()), 10).unwrap();
        assert_eq!(current.sha256_of(b"new"), sha256(b"new"));
        assert_eq!(current.fingerprint(), &Fingerprint::Sha256(sha256(b"")));
    }
}
