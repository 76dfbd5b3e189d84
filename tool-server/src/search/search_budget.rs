//! The fuses of a search: its time and the number of entries that it may look at.
//!
//! A blown fuse ends the search with what it has found, so it blows a little before the call's deadline,
//! at which the call would be answered without any result. The clock is looked at once a directory,
//! once a file that is read and now and then within it, never once an entry.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use protocol::{ErrorCode, ToolError};
use schemars::JsonSchema;
use serde::Serialize;
use toolkit::Call;

/// Of the call's time, the part that is kept for the answer.
const KEPT_FOR_THE_ANSWER: u32 = 10;

/// Which fuse ended a search before it had seen everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum AbortedReason {
    /// The time of the call was used up.
    TimeLimit,
    /// AUTONOUS_TOOL_SEARCH_MAX_ENTRIES entries were looked at.
    CountLimit,
}

/// The fuses of one search, shared by its threads.
pub(crate) struct SearchBudget {
    call: Call,
    max_entries: u64,
    entries: AtomicU64,
    aborted: OnceLock<AbortedReason>,
    /// Why everything has to end at once.
    over: OnceLock<ToolError>,
}

impl SearchBudget {
    /// The fuses of a search that begins now.
    pub(crate) fn new(call: &Call, max_entries: u64) -> Self {
        let mut call = call.clone();
        let left = call.deadline.saturating_duration_since(Instant::now());
        call.deadline -= left / KEPT_FOR_THE_ANSWER;
        let (aborted, over) = (OnceLock::new(), OnceLock::new());
        Self { call, max_entries, entries: AtomicU64::new(0), aborted, over }
    }

    /// Whether no further directory may be read. What was read may still be looked at.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.aborted.get().is_some() || self.must_stop()
    }

    /// Whether the time was over, or the caller gone, when the clock was last looked at.
    pub(crate) fn must_stop(&self) -> bool {
        self.over.get().is_some()
    }

    /// Looks at the clock; false when the time is over or the caller gone.
    pub(crate) fn check_clock(&self) -> bool {
        if let Err(error) = self.call.check() {
            if error.code == ErrorCode::Timeout {
                self.abort(AbortedReason::TimeLimit);
            }
            // Another thread may have been first; its reason is as good.
            let _ = self.over.set(error);
        }
        !self.must_stop()
    }

    /// Counts one entry; false when it is one too many.
    pub(crate) fn take_entry(&self) -> bool {
        let admits = self.entries.fetch_add(1, Ordering::Relaxed) < self.max_entries;
        if !admits {
            self.abort(AbortedReason::CountLimit);
        }
        admits
    }

    fn abort(&self, reason: AbortedReason) {
        let _ = self.aborted.set(reason);
    }

    /// Which fuse ended the search, if one did; the error of a caller who went away.
    pub(crate) fn into_outcome(self) -> Result<Option<AbortedReason>, ToolError> {
        match self.over.into_inner() {
            Some(error) if error.code != ErrorCode::Timeout => Err(error),
            _ => Ok(self.aborted.into_inner()),
        }
    }
}
