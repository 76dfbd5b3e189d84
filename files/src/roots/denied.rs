//! Denied paths: names that are never listed, read or written (`AUTONOUS_TOOL_DENY_PATHS`).
//!
//! Letter case does not matter. A pattern without a slash matches a name at any depth; one with a slash
//! matches from the root, unless it begins with `**/`. A pattern that ends in a slash matches a directory.
//! Everything beneath a denied path is denied. A file that holds certificates or public keys alone can be
//! read in spite of its name.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use settings::table::TOOL_DENY_PATHS;

use super::certificates::may_be_certificate;
use super::names::{ends_with_any_case, starts_with_any_case};

/// The default of AUTONOUS_TOOL_DENY_PATHS.
pub const DEFAULT_DENIED: &str = TOOL_DENY_PATHS.default_text();

/// The patterns, compiled.
#[derive(Debug, Clone)]
pub struct DeniedPaths {
    patterns: GlobSet,
    /// How many directories above a match each pattern names, in the order of the patterns.
    parents: Vec<usize>,
    names: NameFilter,
    /// A name that a pattern without a slash matches.
    example: Option<String>,
}

impl DeniedPaths {
    /// Compiles patterns; an error names the invalid one.
    pub fn new<'a>(patterns: impl IntoIterator<Item = &'a str>) -> Result<Self, globset::Error> {
        let mut set = GlobSetBuilder::new();
        let mut parents = Vec::new();
        let mut names = NameFilter::default();
        let mut example = None;
        for pattern in patterns {
            let name = pattern.trim_end_matches('/');
            let from_root = name.trim_start_matches('/');
            let glob = if name.contains('/') { from_root.to_owned() } else { format!("**/{name}") };
            set.add(GlobBuilder::new(&glob).case_insensitive(true).build()?);
            parents.push(named_parents(&glob));
            example = example.or_else(|| example_of(name));
            names.admit(name.rsplit('/').next().unwrap_or(name));
        }
        Ok(Self { patterns: set.build()?, parents, names, example })
    }

    /// Whether an entry of this name can be denied at all: a cheap first check for every entry of a walk.
    pub fn may_cover_name(&self, name: &[u8]) -> bool {
        self.names.may_match(name)
    }

    /// A name that is denied in every directory, if the patterns have one that is easily found.
    pub fn example(&self) -> Option<&str> {
        self.example.as_deref()
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
    pub fn covers_entry(&self, beneath: &Path) -> bool {
        !self.patterns.is_empty() && self.patterns.is_match(beneath)
    }

    /// Whether a path is denied by its own name alone, which a certificate may have.
    pub(crate) fn covers_as_certificate(&self, beneath: &Path) -> bool {
        let name = beneath.file_name().unwrap_or_default();
        may_be_certificate(name.as_bytes())
            && self.covers_entry(beneath)
            && !beneath.parent().is_some_and(|parent| self.covers(parent))
    }

    /// How many directories above a denied entry must keep their names for it to be denied.
    pub fn naming_parents(&self, beneath: &Path) -> usize {
        let above = beneath.components().count().saturating_sub(1);
        let by_each = self.patterns.matches(beneath).into_iter().map(|pattern| self.parents[pattern]);
        by_each.min().unwrap_or(0).min(above)
    }
}

/// A name that a pattern without a slash matches, if nothing but stars is special in it.
fn example_of(pattern: &str) -> Option<String> {
    let name = pattern.replace('*', "x");
    (!name.is_empty() && name.bytes().all(|byte| is_literal(&byte))).then_some(name)
}

/// How many directories a pattern names above its last part; all of them, if it matches from the root.
fn named_parents(glob: &str) -> usize {
    let plain = |part: &str| part.bytes().all(|byte| is_literal(&byte));
    match glob.strip_prefix("**/").map(|rest| rest.rsplit_once('/')) {
        Some(None) => 0,
        Some(Some((parents, _))) if parents.split('/').all(plain) => parents.split('/').count(),
        Some(Some(_)) | None => usize::MAX,
    }
}

fn is_literal(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || b"._-".contains(byte)
}

/// The fixed beginnings and endings of denied names.
#[derive(Debug, Clone, Default)]
struct NameFilter {
    beginnings: Vec<Vec<u8>>,
    endings: Vec<Vec<u8>>,
    /// The first bytes of the beginnings and the last bytes of the endings, in either case.
    firsts: ByteSet,
    lasts: ByteSet,
    /// Whether a pattern has neither.
    any: bool,
}

impl NameFilter {
    /// Takes the last part of a pattern.
    fn admit(&mut self, part: &str) {
        let bytes = part.as_bytes();
        let beginning = &bytes[..bytes.iter().take_while(|byte| is_literal(byte)).count()];
        let ending = &bytes[bytes.len() - bytes.iter().rev().take_while(|byte| is_literal(byte)).count()..];
        // A final star may match a `/` and more, but then the directory before it is denied too.
        if !beginning.is_empty() && (bytes == beginning || bytes.strip_suffix(b"*") == Some(beginning)) {
            self.firsts.add(beginning.first());
            self.beginnings.push(beginning.to_vec());
        } else if ending.is_empty() {
            self.any = true;
        } else {
            self.lasts.add(ending.last());
            self.endings.push(ending.to_vec());
        }
    }

    fn may_match(&self, name: &[u8]) -> bool {
        self.any
            || (self.firsts.has(name.first())
                && self.beginnings.iter().any(|beginning| starts_with_any_case(name, beginning)))
            || (self.lasts.has(name.last())
                && self.endings.iter().any(|ending| ends_with_any_case(name, ending)))
    }
}

/// A set of bytes, in either case of letters.
#[derive(Debug, Clone, Default)]
pub(super) struct ByteSet([u64; 4]);

impl ByteSet {
    pub(super) fn add(&mut self, byte: Option<&u8>) {
        for byte in byte.into_iter().flat_map(|byte| [byte.to_ascii_lowercase(), byte.to_ascii_uppercase()]) {
            self.0[usize::from(byte >> 6)] |= 1 << (byte & 63);
        }
    }

    pub(super) fn has(&self, byte: Option<&u8>) -> bool {
        byte.is_some_and(|byte| self.0[usize::from(byte >> 6)] >> (byte & 63) & 1 == 1)
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
        let secret = "\
            .env a/.env.local a/b/server.pem id_rsa.pub .ssh/config home/.aws/x/y id_ecdsa id_dsa_work \
            tls/server.key a.p12 b.PFX .git-credentials web/.npmrc .pypirc .pgpass .kube/config \
            .docker/config.json home/a/.docker/config.json .config/gh/hosts.yml \
            home/.config/gcloud/credentials.db .ENV a/.Env.Local Server.PEM ID_RSA .SSH/config \
            home/.Config/GH/hosts.yml";
        for path in secret.split_whitespace() {
            assert!(denied(DEFAULT_DENIED, path), "{path}");
        }
    }

    #[test]
    fn the_defaults_deny_no_ordinary_name() {
        let ordinary = "\
            env src/environment.rs pem/readme.md ssh/config docker/config.json .docker/x.json config.json \
            gh/hosts.yml .config/nvim/init.lua keys.rs monkey";
        for path in ordinary.split_whitespace().chain([""]) {
            assert!(!denied(DEFAULT_DENIED, path), "{path}");
        }
    }

    #[test]
    fn the_name_filter_misses_no_denied_entry() {
        let patterns = format!("{DEFAULT_DENIED},private/*.key,a*b,keys/*,x[0-9]");
        for patterns in [patterns.as_str(), DEFAULT_DENIED, "private/*.key,a*b"] {
            let denied = DeniedPaths::new(patterns.split(',')).unwrap();
            let paths = "\
                d/.env .env.x a/b.pem id_rsa private/x.key d/a-b keys/k d/x1 D/.ENV B.PEM \
                h/.docker/config.json .docker/CONFIG.JSON .config/gh";
            for path in paths.split_whitespace() {
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

    #[test]
    fn an_example_is_denied_in_every_directory() {
        for (patterns, expected) in [(DEFAULT_DENIED, ".env"), ("private/*.key,[ab],*.pem", "x.pem")] {
            let denied = DeniedPaths::new(patterns.split(',')).unwrap();
            assert_eq!(denied.example(), Some(expected));
            assert!(denied.covers_entry(&Path::new("a/b").join(expected)), "{patterns}");
        }
        assert_eq!(DeniedPaths::new(["private/*.key"]).unwrap().example(), None);
    }

    #[test]
    fn the_directories_that_a_pattern_names_are_counted() {
        let check = |patterns: &str, path: &str, expected: usize| {
            let denied = DeniedPaths::new(patterns.split(',')).unwrap();
            assert_eq!(denied.naming_parents(Path::new(path)), expected, "{path}");
        };
        check(DEFAULT_DENIED, "a/b/.env", 0);
        check(DEFAULT_DENIED, "home/me/.docker/config.json", 1);
        check(DEFAULT_DENIED, "home/me/.config/gh", 1);
        check("private/*.key", "private/a/b.key", 2);
        check("*.key,private/*.key", "private/a/b.key", 0);
        check("**/a*/b", "x/y/ab/b", 3);
    }
}
