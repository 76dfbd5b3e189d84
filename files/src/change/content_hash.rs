//! Hashes of long contents, reused where contents share a beginning or are known already.
//!
//! The SHA-256 of a megabyte takes longer than the rest of an edit. So a hash keeps intermediate states,
//! from which the hash of an edited content resumes, and the content written last is cached with its hash:
//! a further edit of that file compares bytes, which is ten times faster and as strict.

use std::sync::{Arc, Mutex};
use std::thread::{self, Scope};

use protocol::hash::in_hex;
use sha2::{Digest, Sha256};
use toolkit::locked;

/// From this size on, a content is hashed on its own thread and worth caching.
const LONG: usize = 256 * 1024;

/// The longest content that is cached.
const MAX_KEPT: usize = 2 * 1024 * 1024;

/// How many bytes are hashed between two states that are kept.
const BLOCK: usize = 64 * 1024;

#[derive(Debug)]
pub(super) struct ContentHash {
    /// In hex.
    pub(super) sha256: String,
    /// The state before each block; there is always a first.
    states: Vec<Sha256>,
}

impl ContentHash {
    pub(super) fn of(content: &[u8]) -> Self {
        Self::resume(vec![Sha256::new()], content)
    }

    /// The hash of a content that shares its first `shared` bytes with this one.
    pub(super) fn of_content_sharing(&self, content: &[u8], shared: usize) -> Self {
        let block = (shared / BLOCK).min(self.states.len() - 1);
        Self::resume(self.states[..=block].to_vec(), &content[block * BLOCK..])
    }

    /// Resumes from the last of the states.
    fn resume(mut states: Vec<Sha256>, rest: &[u8]) -> Self {
        let mut state = states.last().cloned().unwrap_or_default();
        for (number, block) in rest.chunks(BLOCK).enumerate() {
            if number > 0 {
                states.push(state.clone());
            }
            state.update(block);
        }
        Self { sha256: in_hex(&state.finalize()), states }
    }
}

/// The content that was written last, with its hash.
#[derive(Debug, Default)]
pub(super) struct HashCache(Mutex<Option<Arc<CachedContent>>>);

#[derive(Debug)]
struct CachedContent {
    content: Vec<u8>,
    hashed: Arc<ContentHash>,
}

impl HashCache {
    /// The hash of a content, if exactly this content is cached.
    pub(super) fn get(&self, content: &[u8]) -> Option<Arc<ContentHash>> {
        let cached = locked(&self.0).clone()?;
        (cached.content == content).then(|| Arc::clone(&cached.hashed))
    }

    /// Caches a content in place of the one before, unless it is so short that hashing is as fast.
    pub(super) fn put(&self, content: Vec<u8>, hashed: Arc<ContentHash>) {
        if (LONG..=MAX_KEPT).contains(&content.len()) {
            *locked(&self.0) = Some(Arc::new(CachedContent { content, hashed }));
        }
    }
}

/// Hashes a long content on its own thread; if there is none, the first caller that needs the hash makes it.
pub(super) fn hash_in_background<'scope>(
    scope: &'scope Scope<'scope, '_>,
    content: &[u8],
    hash: impl FnOnce() + Send + 'scope,
) {
    if content.len() >= LONG {
        let _ = thread::Builder::new().spawn_scoped(scope, hash);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::hash::sha256;

    fn bytes(length: usize) -> Vec<u8> {
        (0..length).map(|index| u8::try_from(index % 251).unwrap_or(0)).collect()
    }

    #[test]
    fn a_resumed_hash_is_the_hash_of_the_whole() {
        for length in [0, 1, BLOCK, 3 * BLOCK + 7] {
            let old = bytes(length);
            let hashed = ContentHash::of(&old);
            assert_eq!(hashed.sha256, sha256(&old));
            for shared in [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, length] {
                let shared = shared.min(length);
                for tail in [&b""[..], b"more", &bytes(2 * BLOCK)] {
                    let new = [&old[..shared], tail].concat();
                    let similar = hashed.of_content_sharing(&new, shared);
                    assert_eq!(similar.sha256, sha256(&new), "{shared} of {length}");
                    assert_eq!(similar.of_content_sharing(&new, new.len()).sha256, similar.sha256);
                }
            }
        }
    }

    #[test]
    fn a_cached_hash_is_used_for_the_same_bytes_only() {
        let cache = HashCache::default();
        let content = bytes(LONG);
        cache.put(content.clone(), Arc::new(ContentHash::of(&content)));
        assert_eq!(cache.get(&content).map(|hashed| hashed.sha256.clone()), Some(sha256(&content)));
        let mut other = content.clone();
        other[LONG - 1] ^= 1;
        assert!(cache.get(&other).is_none() && cache.get(&content[1..]).is_none());
        cache.put(bytes(10), Arc::new(ContentHash::of(b"")));
        assert!(cache.get(&content).is_some(), "a short content does not evict it");
    }
}
