//! Denied paths: names that are never listed, read or written (`AUTONOUS_TOOL_DENY_PATHS`).
//!
//! A pattern without a slash matches a name at any depth; one with a slash matches from the root. A pattern
//! that ends in a slash matches a directory. Everything beneath a denied path is denied.

use std::path::Path;

use globset::{Glob, GlobSet, GlobSetBuilder};

/// The default of AUTONOUS_TOOL_DENY_PATHS.
pub const DEFAULT_DENIED: &str = ".env,.env.*,*.pem,id_rsa*,id_ed25519*,.ssh/,.gnupg/,.aws/,.netrc";

/// The patterns, compiled.
#[derive(Debug, Clone)]
pub struct DeniedPaths {
    patterns: GlobSet,
    names: NameFilter,
}

impl DeniedPaths {
    /// Compiles patterns; an error names the invalid one.
    pub fn new<'a>(patterns: impl IntoIterator<Item = &'a str>) -> Result<Self, globset::Error> {
        let mut set = GlobSetBuilder::new();
        let mut names = NameFilter::default();
        for pattern in patterns {
            let name = pattern.trim_end_matches('/');
            let anywhere = if name.contains('/') {
                name.trim_start_matches('/').to_owned()
            } else {
                format!("**/{name}")
            };
            set.add(Glob::new(&anywhere)?);
            names.admit(name);
        }
        Ok(Self { patterns: set.build()?, names })
    }

    /// Whether an entry of this name can be denied at all: a cheap first check for every entry of a walk.
    pub(crate) fn may_cover_name(&self, name: &[u8]) -> bool {
        self.names.may_match(name)
    }

    /// Whether a path beneath a root is denied, by itself or by a directory above it.
    pub fn covers(&self, beneath: &Path) -> bool {
        !self.patterns.is_empty()
            && beneath
                .ancestors()
                .filter(|ancestor| !ancestor.as_os_str().is_empty())
                .any(|ancestor| self.patterns.is_match(ancestor))
    }

    /// Whether an entry of a directory that is not denied is denied.
    pub(crate) fn covers_entry(&self, beneath: &Path) -> bool {
        !self.patterns.is_empty() && self.patterns.is_match(beneath)
    }
}

/// The fixed beginnings and endings of denied names.
#[derive(Debug, Clone, Default)]
struct NameFilter {
    beginnings: Vec<Vec<u8>>,
    endings: Vec<Vec<u8>>,
    /// Whether a pattern has neither.
    any: bool,
}

impl NameFilter {
    fn admit(&mut self, pattern: &str) {
        let is_literal = |byte: &&u8| byte.is_ascii_alphanumeric() || b"._-".contains(byte);
        let bytes = pattern.as_bytes();
        let beginning = &bytes[..bytes.iter().take_while(is_literal).count()];
        let ending = &bytes[bytes.len() - bytes.iter().rev().take_while(is_literal).count()..];
        // A final star may match a `/` and more, but then the directory before it is denied too.
        if bytes == beginning || bytes.strip_suffix(b"*") == Some(beginning) {
            self.beginnings.push(beginning.to_vec());
        } else if ending.is_empty() {
            self.any = true;
        } else {
            self.endings.push(ending.to_vec());
        }
    }

    fn may_match(&self, name: &[u8]) -> bool {
        self.any
            || self.beginnings.iter().any(|beginning| name.starts_with(beginning))
            || self.endings.iter().any(|ending| name.ends_with(ending))
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
    fn the_defaults_deny_keys_and_secrets() {
        for path in [".env", "a/.env.local", "a/b/server.pem", "id_rsa.pub", ".ssh/config", "home/.aws/x/y"] {
            assert!(denied(DEFAULT_DENIED, path), "{path}");
        }
        for path in ["env", "src/environment.rs", "pem/readme.md", "ssh/config", ""] {
            assert!(!denied(DEFAULT_DENIED, path), "{path}");
        }
    }

    #[test]
    fn the_name_filter_misses_no_denied_entry() {
        let patterns = format!("{DEFAULT_DENIED},private/*.key,a*b,keys/*,x[0-9]");
        for patterns in [patterns.as_str(), DEFAULT_DENIED, "private/*.key,a*b"] {
            let denied = DeniedPaths::new(patterns.split(',')).unwrap();
            for path in ["d/.env", ".env.x", "a/b.pem", "id_rsa", "private/x.key", "d/a-b", "keys/k", "d/x1"]
            {
                let name = path.rsplit('/').next().unwrap();
                let path = Path::new(path);
                assert!(!denied.covers_entry(path) || denied.may_cover_name(name.as_bytes()), "{path:?}");
            }
        }
        let defaults = DeniedPaths::new(DEFAULT_DENIED.split(',')).unwrap();
        assert!(!defaults.may_cover_name(b"index.html") && !defaults.may_cover_name(b".gitignore"));
    }

    #[test]
    fn a_pattern_with_a_slash_matches_from_the_root() {
        assert!(denied("private/*.key", "private/a.key"));
        assert!(!denied("private/*.key", "sub/private/a.key"));
        assert!(!denied("", "private/a.key"));
    }
}
