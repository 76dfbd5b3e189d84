//! Hashing long contents: what two of them begin with once, and what is known not at all.
//!
//! A SHA-256 of a megabyte takes longer than everything else that an edit does. So a hash keeps its states
//! on the way, from which the hash of an edited content goes on, and the content that was put into a file
//! last is kept: whoever edits that file again has its bytes compared, which is ten times faster and as
//! strict.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, Scope};

use protocol::hash::in_hex;
use sha2::{Digest, Sha256};

/// From how many bytes on a content is long: hashed on a thread of its own, and worth keeping.
const LONG: usize = 256 * 1024;

/// The longest content that is kept.
const MAX_KEPT: usize = 2 * 1024 * 1024;

/// How many bytes are hashed between two states that are kept.
const BLOCK: usize = 64 * 1024;

/// The hash of a content.
#[derive(Debug)]
pub(super) struct ContentHash {
    /// In hex.
    pub(super) sha256: String,
    /// The state before each block; there is always a first.
    states: Vec<Sha256>,
}

impl ContentHash {
    /// The hash of a content.
    pub(super) fn of(content: &[u8]) -> Self {
        Self::resume(vec![Sha256::new()], content)
    }

    /// The hash of a content that shares its first `shared` bytes with the one that this is the hash of.
    pub(super) fn of_content_sharing(&self, content: &[u8], shared: usize) -> Self {
        let block = (shared / BLOCK).min(self.states.len() - 1);
        Self::resume(self.states[..=block].to_vec(), &content[block * BLOCK..])
    }

    /// Goes on from the last of the states.
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

/// The content that was put into a file last, with its hash.
#[derive(Debug, Default)]
pub(super) struct HashCache(Mutex<Option<Arc<CachedContent>>>);

#[derive(Debug)]
struct CachedContent {
    content: Vec<u8>,
    hashed: Arc<ContentHash>,
}

impl HashCache {
    /// The hash of a content, if it is the one that is kept, byte for byte.
    pub(super) fn get(&self, content: &[u8]) -> Option<Arc<ContentHash>> {
        let cached = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()?;
        (cached.content == content).then(|| Arc::clone(&cached.hashed))
    }

    /// Keeps a content in place of the one before; a short one is hashed as fast as it is compared.
    pub(super) fn put(&self, content: Vec<u8>, hashed: Arc<ContentHash>) {
        if (LONG..=MAX_KEPT).contains(&content.len()) {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) =
                Some(Arc::new(CachedContent { content, hashed }));
        }
    }
}

/// Begins to hash a long content on a thread of its own, beside what comes next. Where no thread is to be
/// had, whoever needs the hash makes it then.
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
    fn a_hash_that_goes_on_from_a_shared_beginning_is_the_hash_of_the_whole() {
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
    fn a_kept_hash_is_given_for_the_very_same_bytes_alone() {
        let last = HashCache::default();
        let content = bytes(LONG);
        last.put(content.clone(), Arc::new(ContentHash::of(&content)));
        assert_eq!(last.get(&content).map(|hashed| hashed.sha256.clone()), Some(sha256(&content)));
        let mut other = content.clone();
        other[LONG - 1] ^= 1;
        assert!(last.get(&other).is_none() && last.get(&content[1..]).is_none());
        last.put(bytes(10), Arc::new(ContentHash::of(b"")));
        assert!(last.get(&content).is_some(), "a short content does not take the place");
    }
}
