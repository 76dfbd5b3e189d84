//! The globs of a rule's lists, and the errors about them.

use globset::{Glob, GlobBuilder, GlobSetBuilder};

/// The fault of a list without an entry.
pub(super) fn empty(key: &str) -> String {
    format!("`{key}` is empty, so the rule would never match: add to it, or leave it out")
}

/// The globs of the list `key`; none without the list.
pub(super) fn globs(patterns: Option<&[String]>, key: &str) -> Result<Option<Vec<Glob>>, String> {
    let Some(patterns) = patterns else { return Ok(None) };
    if patterns.is_empty() {
        return Err(empty(key));
    }
    patterns.iter().map(|pattern| glob(pattern, key)).collect::<Result<_, _>>().map(Some)
}

/// A glob of the list `key` that can be used.
pub(super) fn glob(pattern: &str, key: &str) -> Result<Glob, String> {
    let glob = GlobBuilder::new(pattern).literal_separator(true).build();
    let glob = glob.map_err(|error| format!("`{key}` has no valid glob: {error}"))?;
    let tried = GlobSetBuilder::new().add(glob.clone()).build();
    tried.map(|_| glob).map_err(|error| format!("`{key}` cannot be used: {error}"))
}
