//! The budget of a search: its time and the number of entries it may visit.
//!
//! When the budget runs out, the search returns what it has found; so the time ends a little before the
//! call's deadline, at which the call would fail without a result. The clock is checked once per directory,
//! once per file and now and then within a file, never once per entry.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use protocol::{ErrorCode, ToolError};
use schemars::JsonSchema;
use serde::Serialize;
use toolkit::Call;

/// One part in ten of the call's time is reserved for the answer.
const KEPT_FOR_THE_ANSWER: u32 = 10;

/// Which limit stopped a search early.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum AbortedReason {
    /// The call ran out of time.
    TimeLimit,
    /// The search visited AUTONOUS_TOOL_SEARCH_MAX_ENTRIES entries.
    CountLimit,
}

/// The budget of one search, shared by its threads.
pub(crate) struct SearchBudget {
    call: Call,
    max_entries: u64,
    entries: AtomicU64,
    aborted: OnceLock<AbortedReason>,
    /// Why all threads must stop at once.
    over: OnceLock<ToolError>,
}

impl SearchBudget {
    pub(crate) fn new(call: &Call, max_entries: u64) -> Self {
        let mut call = call.clone();
        let left = call.deadline.saturating_duration_since(Instant::now());
        call.deadline -= left / KEPT_FOR_THE_ANSWER;
        let (aborted, over) = (OnceLock::new(), OnceLock::new());
        Self { call, max_entries, entries: AtomicU64::new(0), aborted, over }
    }

    /// Whether no further directory may be read. Entries that were read may still be visited.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.aborted.get().is_some() || self.must_stop()
    }

    /// Whether the time was over, or the caller gone, at the last check of the clock.
    pub(crate) fn must_stop(&self) -> bool {
        self.over.get().is_some()
    }

    /// Checks the clock; false when the time is over or the caller gone.
    pub(crate) fn check_clock(&self) -> bool {
        if let Err(error) = self.call.check() {
            if error.code == ErrorCode::Timeout {
                self.abort(AbortedReason::TimeLimit);
            }
            // Another thread may have been first; either reason will do.
            let _ = self.over.set(error);
        }
        !self.must_stop()
    }

    /// Counts one entry; false when it exceeds the limit.
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

    /// Which limit stopped the search, if any; an error when the caller is gone.
    pub(crate) fn into_outcome(self) -> Result<Option<AbortedReason>, ToolError> {
        match self.over.into_inner() {
            Some(error) if error.code != ErrorCode::Timeout => Err(error),
            _ => Ok(self.aborted.into_inner()),
        }
    }
}
