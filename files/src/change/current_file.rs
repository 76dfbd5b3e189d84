//! A file as a change finds it and as it leaves it, each hashed at most once.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::sync::{Arc, OnceLock};
use std::thread::Scope;

use rustix::fs::{Stat, fstat};
use toolkit::Fingerprint;

use super::content_hash::{ContentHash, HashCache, hash_in_background};
use super::diff::same_at_start;

/// A file as it was when it was read.
#[derive(Debug)]
pub struct CurrentFile {
    /// Its content; none when it is too large to be edited.
    pub content: Option<Vec<u8>>,
    pub(crate) size_bytes: u64,
    pub(crate) stat: Stat,
    fingerprint: OnceLock<Fingerprint>,
    hashed: OnceLock<Arc<ContentHash>>,
}

impl CurrentFile {
    /// Reads a file up to `max_bytes`; of a larger one only its size and mtime.
    pub(super) fn read(file: &OwnedFd, max_bytes: u64, cache: &HashCache) -> io::Result<Self> {
        let stat = fstat(file)?;
        let content = read_whole(file, max_bytes)?;
        let size_bytes = match &content {
            Some(content) => u64::try_from(content.len()).unwrap_or(u64::MAX),
            None => size_bytes(&stat),
        };
        let known = content.as_deref().and_then(|content| cache.get(content));
        let hashed = known.map_or_else(OnceLock::new, OnceLock::from);
        Ok(Self { content, size_bytes, stat, fingerprint: OnceLock::new(), hashed })
    }

    /// What to compare the file with later. The first caller hashes; others wait for it.
    pub(crate) fn fingerprint(&self) -> &Fingerprint {
        self.fingerprint.get_or_init(|| match &self.content {
            Some(content) => Fingerprint::Sha256(self.hash(content).sha256.clone()),
            None => size_and_mtime(&self.stat),
        })
    }

    fn hash(&self, content: &[u8]) -> &ContentHash {
        self.hashed.get_or_init(|| Arc::new(ContentHash::of(content)))
    }

    /// Starts hashing a long content on its own thread.
    pub(super) fn hash_ahead<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>) {
        if let (Some(content), None) = (&self.content, self.hashed.get()) {
            hash_in_background(scope, content, || {
                self.hash(content);
            });
        }
    }

    /// Whether this is its content.
    pub fn is(&self, content: &[u8]) -> bool {
        self.content.as_deref() == Some(content)
    }
}

#[derive(Debug)]
pub(super) struct NewFile<'a> {
    pub(super) content: Cow<'a, [u8]>,
    before: Option<&'a CurrentFile>,
    hashed: OnceLock<Arc<ContentHash>>,
}

impl<'a> NewFile<'a> {
    pub(super) fn new(content: Cow<'a, [u8]>, before: Option<&'a CurrentFile>) -> Self {
        Self { content, before, hashed: OnceLock::new() }
    }

    /// Its hash. The first caller hashes; others wait for it.
    pub(super) fn hash(&self) -> &Arc<ContentHash> {
        self.hashed.get_or_init(|| {
            let before = self.before.and_then(|before| Some((before, before.content.as_deref()?)));
            Arc::new(match before {
                Some((before, old)) => {
                    before.hash(old).of_content_sharing(&self.content, same_at_start(old, &self.content))
                }
                None => ContentHash::of(&self.content),
            })
        })
    }

    pub(super) fn hash_ahead<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>) {
        hash_in_background(scope, &self.content, || {
            self.hash();
        });
    }
}

/// Reads a whole file, or nothing when it has more than `max_bytes`. The size in its metadata is only a hint.
pub fn read_whole(file: &OwnedFd, max_bytes: u64) -> io::Result<Option<Vec<u8>>> {
    let claimed = size_bytes(&fstat(file)?);
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

pub(super) fn sha256_of(fingerprint: &Fingerprint) -> Option<String> {
    match fingerprint {
        Fingerprint::Sha256(hash) => Some(hash.clone()),
        Fingerprint::SizeAndMtime { .. } => None,
    }
}

/// The fingerprint of a file that is too large to hash.
pub fn size_and_mtime(stat: &Stat) -> Fingerprint {
    Fingerprint::SizeAndMtime {
        size_bytes: size_bytes(stat),
        mtime_ns: i128::from(stat.st_mtime) * 1_000_000_000 + i128::from(stat.st_mtime_nsec),
    }
}

/// How long a file is; for a directory, what the file system reports.
pub fn size_bytes(stat: &Stat) -> u64 {
    u64::try_from(stat.st_size).unwrap_or(0)
}

/// When a file last changed, in milliseconds since the Unix epoch.
pub fn mtime_ms(stat: &Stat) -> i64 {
    let part = i64::try_from(stat.st_mtime_nsec).unwrap_or(0) / 1_000_000;
    stat.st_mtime.saturating_mul(1000).saturating_add(part)
}
