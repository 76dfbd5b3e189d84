//! The optimistic lock: a session changes only what it has seen.
//!
//! A session that has read any part of a file remembers the file's fingerprint. A change is allowed while
//! the file still has that fingerprint, so no session overwrites a change that it has not seen, and nothing
//! has to be unlocked. Memory is bounded: the least recently used files and sessions are forgotten, which
//! costs a new read and nothing else.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use protocol::{ErrorCode, SessionId, ToolError};

use crate::locked;

const MAX_SESSIONS: usize = 256;
const MAX_FILES: usize = 1024;

/// How long an unused session is remembered.
const MAX_IDLE: Duration = Duration::from_secs(24 * 3600);

/// What identifies the content of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fingerprint {
    /// The SHA-256 of its content, in lower-case hex.
    Sha256(String),
    /// Of a file that is too large to hash each time: its size and its modification time.
    SizeAndMtime {
        /// Size in bytes.
        size_bytes: u64,
        /// Time of the last modification, in nanoseconds since the Unix epoch.
        mtime_ns: i128,
    },
}

/// What a call has seen of a file, or that the file is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// The file, absolute, with symlinks resolved.
    pub path: PathBuf,
    /// Its fingerprint now; none when it was deleted.
    pub fingerprint: Option<Fingerprint>,
}

/// What the sessions have seen.
#[derive(Debug, Default)]
pub(crate) struct Locks(Mutex<HashMap<SessionId, Session>>);

#[derive(Debug)]
struct Session {
    files: HashMap<PathBuf, (Fingerprint, Instant)>,
    used: Instant,
}

impl Locks {
    pub(crate) fn last_seen(&self, session: &SessionId, path: &Path) -> Option<Fingerprint> {
        Some(locked(&self.0).get(session)?.files.get(path)?.0.clone())
    }

    pub(crate) fn remember(&self, session: &SessionId, seen: Seen) {
        let now = Instant::now();
        let mut sessions = locked(&self.0);
        if !sessions.contains_key(session) {
            sessions.retain(|_, other| now.duration_since(other.used) < MAX_IDLE);
            make_room(&mut sessions, MAX_SESSIONS, |session| session.used);
        }
        let session =
            sessions.entry(session.clone()).or_insert_with(|| Session { files: HashMap::new(), used: now });
        session.used = now;
        match seen.fingerprint {
            None => drop(session.files.remove(&seen.path)),
            Some(fingerprint) => {
                if !session.files.contains_key(&seen.path) {
                    make_room(&mut session.files, MAX_FILES, |(_, used)| *used);
                }
                session.files.insert(seen.path, (fingerprint, now));
            }
        }
    }
}

/// Forgets the least recently used entry when there is no room for another.
fn make_room<K: Clone + Eq + std::hash::Hash, V>(
    entries: &mut HashMap<K, V>,
    most: usize,
    used: impl Fn(&V) -> Instant,
) {
    if entries.len() < most {
        return;
    }
    let oldest = entries.iter().min_by_key(|(_, entry)| used(entry)).map(|(key, _)| key.clone());
    oldest.and_then(|key| entries.remove(&key));
}

/// Allows a change when the file is what the caller expects, or else what the session has seen.
pub(crate) fn judge(
    seen: Option<&Fingerprint>,
    expected_sha256: Option<&str>,
    current: &Fingerprint,
) -> Result<(), ToolError> {
    match (expected_sha256, current) {
        (Some(expected), Fingerprint::Sha256(current)) if expected.eq_ignore_ascii_case(current) => Ok(()),
        (Some(expected), Fingerprint::Sha256(current)) => {
            Err(conflict(format!("The file has SHA-256 {current}, not the expected {expected}.")))
        }
        (Some(_), Fingerprint::SizeAndMtime { .. }) => Err(ToolError::new(
            ErrorCode::FileTooLarge,
            "The file is too large for expected_sha256. Read a part of it instead.",
        )),
        (None, _) => match seen {
            None => Err(ToolError::new(ErrorCode::NotRead, "The file was not read in this session.")),
            Some(seen) if seen == current => Ok(()),
            Some(_) => {
                Err(conflict(format!("The file has changed since it was read; it now has {current}.")))
            }
        },
    }
}

fn conflict(message: String) -> ToolError {
    ToolError::new(ErrorCode::Conflict, message)
}

impl std::fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Sha256(hash) => write!(f, "SHA-256 {hash}"),
            Self::SizeAndMtime { size_bytes, .. } => write!(f, "{size_bytes} bytes"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(text: &str) -> Fingerprint {
        Fingerprint::Sha256(text.to_owned())
    }

    fn code(seen: Option<&Fingerprint>, expected: Option<&str>, current: &Fingerprint) -> Option<ErrorCode> {
        judge(seen, expected, current).err().map(|error| error.code)
    }

    #[test]
    fn a_change_needs_the_seen_or_the_expected_content() {
        assert_eq!(code(Some(&hash("a")), None, &hash("a")), None);
        assert_eq!(code(None, None, &hash("a")), Some(ErrorCode::NotRead));
        assert_eq!(code(Some(&hash("a")), None, &hash("b")), Some(ErrorCode::Conflict));
        assert_eq!(code(Some(&hash("a")), Some("b"), &hash("b")), None, "what is expected takes precedence");
        assert_eq!(code(Some(&hash("b")), Some("a"), &hash("b")), Some(ErrorCode::Conflict));
        let message = judge(Some(&hash("a")), None, &hash("b")).unwrap_err().message;
        assert!(message.ends_with("it now has SHA-256 b."), "{message}");
    }

    #[test]
    fn sessions_are_separate_and_bounded() {
        let locks = Locks::default();
        let session = |number: usize| format!("s{number}").parse::<SessionId>().unwrap();
        let file = |number: usize| PathBuf::from(format!("/f{number}"));
        let seen = |path| Seen { path, fingerprint: Some(hash("a")) };
        for number in 0..=MAX_FILES {
            locks.remember(&session(0), seen(file(number)));
        }
        assert_eq!(locks.last_seen(&session(0), &file(0)), None, "the least recently used is forgotten");
        assert_eq!(locks.last_seen(&session(0), &file(1)), Some(hash("a")));
        assert_eq!(locks.last_seen(&session(1), &file(1)), None, "another session has not seen it");
        for number in 1..=MAX_SESSIONS {
            locks.remember(&session(number), seen(file(0)));
        }
        assert_eq!(locks.last_seen(&session(0), &file(1)), None);
        locks.remember(&session(9), Seen { path: file(0), fingerprint: None });
        assert_eq!(locks.last_seen(&session(9), &file(0)), None);
    }
}
