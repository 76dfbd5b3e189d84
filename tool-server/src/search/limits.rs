//! The limits of a search.

use std::num::NonZero;

/// How deep a walk goes; each level holds an open directory.
pub(crate) const MAX_DEPTH: usize = 400;

/// The longest line that is held in memory. A file with a longer one is searched up to it.
pub(super) const MAX_LINE_BYTES: usize = 8 << 20;

/// The most threads of one search; more gain little, for several searches may run at once.
const MAX_THREADS: usize = 12;

/// The limits of one search.
#[derive(Debug, Clone, Copy)]
pub struct SearchLimits {
    /// The most entries that it visits: `AUTONOUS_TOOL_SEARCH_MAX_ENTRIES`.
    pub(crate) max_entries: u64,
    pub(crate) threads: NonZero<usize>,
}

impl SearchLimits {
    /// This many entries, and a thread per core.
    pub fn new(max_entries: u64) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        Self { max_entries, threads: NonZero::new(cores.min(MAX_THREADS)).unwrap_or(NonZero::<usize>::MIN) }
    }
}
