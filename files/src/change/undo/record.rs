//! The record of a change that can be undone.

use protocol::{EventId, SessionId};
use serde::{Deserialize, Serialize};
use toolkit::Fingerprint;

/// A change, and whose it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ChangeRecord {
    pub(crate) call_id: EventId,
    pub(crate) session_id: SessionId,
    /// The digest of the token that the call presented.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) token_sha256: Option<String>,
    pub(crate) time_ms: i64,
    /// Absolute, with links resolved, escaped as tools show it.
    pub(crate) path: String,
    /// The directory of the store that kept it: when that is another now, the roots beside it have moved
    /// along.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) kept_in: Option<String>,
    #[serde(flatten)]
    pub(crate) change: Change,
}

/// What was done. To undo it is to do the opposite.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub(crate) enum Change {
    FileCreated {
        sha256: String,
        /// How many of the directories above it were made for it.
        directories: usize,
    },
    FileReplaced {
        before: KeptContent,
        sha256: String,
    },
    FileAppended(AppendedFile),
    FileRemoved {
        before: KeptContent,
    },
    LinkCreated {
        /// Escaped as tools show it.
        target: String,
    },
    LinkRemoved {
        target: String,
    },
    DirectoryCreated,
    DirectoryRemoved {
        mode: u32,
    },
}

/// The content of a file, as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KeptContent {
    pub(crate) sha256: String,
    pub(crate) bytes: u64,
}

/// A file that was appended to has its old content still, at its beginning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AppendedFile {
    pub(crate) bytes_before: u64,
    pub(crate) bytes: u64,
    /// None of a file that is too large to hash; then its time is known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) sha256: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) mtime_ns: Option<i64>,
}

impl AppendedFile {
    pub(crate) fn new(bytes_before: u64, bytes: u64, fingerprint: &Fingerprint) -> Self {
        let (sha256, mtime_ns) = match fingerprint {
            Fingerprint::Sha256(sha256) => (Some(sha256.clone()), None),
            Fingerprint::SizeAndMtime { mtime_ns, .. } => (None, i64::try_from(*mtime_ns).ok()),
        };
        Self { bytes_before, bytes, sha256, mtime_ns }
    }
}

impl Change {
    /// The kept content that undoing it needs.
    pub(crate) fn kept(&self) -> Option<&KeptContent> {
        match self {
            Self::FileReplaced { before, .. } | Self::FileRemoved { before } => Some(before),
            Self::FileCreated { .. }
            | Self::FileAppended(_)
            | Self::LinkCreated { .. }
            | Self::LinkRemoved { .. }
            | Self::DirectoryCreated
            | Self::DirectoryRemoved { .. } => None,
        }
    }
}
