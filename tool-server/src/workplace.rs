//! The workplace: what the tools of this server share.

use std::path::Path;
use std::sync::Arc;

use crate::change::{Changer, Durability};
use crate::config::{Config, DEFAULT_SEARCH_MAX_ENTRIES};
use crate::roots::Roots;
use crate::search::SearchLimits;

/// What a tool may use; there is no other way to a file.
#[derive(Debug, Clone)]
pub struct Workplace {
    /// The allowed directories.
    pub roots: Arc<Roots>,
    /// The only hand that changes files.
    pub changer: Arc<Changer>,
    /// The largest file that is hashed and edited, in bytes.
    pub max_edit_bytes: u64,
    /// How much a search may take.
    pub search: SearchLimits,
}

impl Workplace {
    /// The workplace of these settings; what an earlier server left half done is tidied up.
    pub fn open(roots: Roots, config: &Config) -> std::io::Result<Self> {
        let pending = config.files.journal_dir().join("pending");
        let workplace =
            Self::with_pending(roots, &pending, config.limits.max_edit_bytes, Durability::Synced)?;
        Ok(Self { search: SearchLimits::new(config.limits.search_max_entries), ..workplace })
    }

    /// The same from its parts.
    pub fn with_pending(
        roots: Roots,
        pending: &Path,
        max_edit_bytes: u64,
        durability: Durability,
    ) -> std::io::Result<Self> {
        let roots = Arc::new(roots);
        let changer = Arc::new(Changer::open(Arc::clone(&roots), pending, max_edit_bytes, durability)?);
        let search = SearchLimits::new(DEFAULT_SEARCH_MAX_ENTRIES);
        Ok(Self { roots, changer, max_edit_bytes, search })
    }
}
