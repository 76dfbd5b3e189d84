//! What the policy depends on besides the command line.

use std::collections::BTreeSet;
use std::path::PathBuf;

/// The settings of the command policy.
#[derive(Debug, Clone, Default)]
pub struct PolicySettings {
    /// Whether commands have network access.
    pub network: bool,
    /// More words to refuse, from `AUTONOUS_TOOL_BASH_DENYLIST`.
    pub extra_denied: Vec<String>,
    /// The allowed roots, absolute and clean; relative paths start at the first.
    pub roots: Vec<PathBuf>,
    /// Tools that are switched off, so that no hint names one of them.
    pub disabled_tools: BTreeSet<String>,
}
