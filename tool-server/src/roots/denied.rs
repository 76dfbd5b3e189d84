//! Denied paths: names that are never listed, read or written (`AUTONOUS_TOOL_DENY_PATHS`).
//!
//! A pattern without a slash holds for a name at any depth; one with a slash holds from the root on. A
//! pattern that ends in a slash holds for a directory. Whatever lies beneath a denied path is denied.

use std::path::Path;

use globset::{Glob, GlobSet, GlobSetBuilder};

/// What is denied where the variable says nothing else.
pub const DEFAULT_DENIED: &str = ".env,.env.*,*.pem,id_rsa*,id_ed25519*,.ssh/,.gnupg/,.aws/,.netrc";

/// The patterns, compiled.
#[derive(Debug, Clone)]
pub struct DeniedPaths {
    patterns: GlobSet,
}

impl DeniedPaths {
    /// Compiles patterns; an error names the one that is no glob.
    pub fn new<'a>(patterns: impl IntoIterator<Item = &'a str>) -> Result<Self, globset::Error> {
        let mut set = GlobSetBuilder::new();
        for pattern in patterns {
            let name = pattern.trim_end_matches('/');
            let anywhere = if name.contains('/') {
                name.trim_start_matches('/').to_owned()
            } else {
                format!("**/{name}")
            };
            set.add(Glob::new(&anywhere)?);
        }
        Ok(Self { patterns: set.build()? })
    }

    /// Whether a path beneath a root is denied, by itself or by a directory that it lies in.
    pub fn covers(&self, beneath: &Path) -> bool {
        !self.patterns.is_empty()
            && beneath
                .ancestors()
                .filter(|ancestor| !ancestor.as_os_str().is_empty())
                .any(|ancestor| self.patterns.is_match(ancestor))
    }

    /// Whether an entry is denied whose directory is known not to be.
    pub fn covers_entry(&self, beneath: &Path) -> bool {
        !self.patterns.is_empty() && self.patterns.is_match(beneath)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn denied(patterns: &str, path: &str) -> bool {
        DeniedPaths::new(patterns.split(',').filter(|pattern| !pattern.is_empty()))
            .unwrap()
            .covers(Path::new(path))
    }

    #[test]
    fn the_defaults_keep_keys_and_secrets() {
        for path in [".env", "a/.env.local", "a/b/server.pem", "id_rsa.pub", ".ssh/config", "home/.aws/x/y"] {
            assert!(denied(DEFAULT_DENIED, path), "{path}");
        }
        for path in ["env", "src/environment.rs", "pem/readme.md", "ssh/config", ""] {
            assert!(!denied(DEFAULT_DENIED, path), "{path}");
        }
    }

    #[test]
    fn a_pattern_with_a_slash_holds_from_the_root_on() {
        assert!(denied("private/*.key", "private/a.key"));
        assert!(!denied("private/*.key", "sub/private/a.key"));
        assert!(!denied("", "private/a.key"));
    }
}
