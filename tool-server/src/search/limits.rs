//! How much one search may take.

use std::num::NonZero;

/// The most threads of one search; more gain little, for searches of several callers run side by side.
const MAX_THREADS: usize = 12;

/// How much one search may take.
#[derive(Debug, Clone, Copy)]
pub struct SearchLimits {
    /// The most entries that it looks at: `AUTONOUS_TOOL_SEARCH_MAX_ENTRIES`.
    pub max_entries: u64,
    /// How many threads walk and search.
    pub threads: NonZero<usize>,
}

impl SearchLimits {
    /// So many entries, and a thread for each core.
    pub fn new(max_entries: u64) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        Self { max_entries, threads: NonZero::new(cores.min(MAX_THREADS)).unwrap_or(NonZero::<usize>::MIN) }
    }
}
