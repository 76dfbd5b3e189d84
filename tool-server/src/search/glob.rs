//! A caller's glob: for names, or with a `/` for paths below the searched directory.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use protocol::ToolError;
use toolkit::arguments::{elide, invalid};

/// How a glob is written.
const HINT: &str = "`*` and `?` match within a name, `**` across directories, `[ab]` and `{a,b}` are \
                    alternatives; to match these characters literally write `[*]`, `[[]` or `[{]`.";

pub(crate) struct PathGlob {
    set: GlobSet,
    is_for_paths: bool,
}

impl PathGlob {
    /// Compiles the glob that was given as this argument. `*` and `?` match no `/`, `**` does.
    pub(crate) fn new(argument: &str, glob: &str) -> Result<Self, ToolError> {
        if glob.is_empty() {
            return Err(invalid(format!(
                "`{argument}` is empty and would match nothing; omit it to match everything."
            )));
        }
        let is_for_paths = glob.contains('/');
        let mut pattern = glob.strip_prefix('/').unwrap_or(glob).to_owned();
        if pattern.ends_with('/') {
            pattern.push_str("**");
        }
        let mut set = GlobSetBuilder::new();
        let set = GlobBuilder::new(&pattern)
            // A name has no `/`; without that rule matching is faster.
            .literal_separator(is_for_paths)
            .build()
            .and_then(|glob| set.add(glob).build())
            .map_err(|error| {
                invalid(format!("`{argument}` {:?} is not a valid glob: {}.", elide(glob, 200), error.kind()))
                    .with_hint(HINT)
            })?;
        Ok(Self { set, is_for_paths })
    }

    /// Whether it matches an entry, given by its path below the searched directory and its name.
    pub(crate) fn matches(&self, path: &[u8], name: &[u8]) -> bool {
        let subject = if self.is_for_paths { path.strip_suffix(b"/").unwrap_or(path) } else { name };
        self.set.is_match(Path::new(OsStr::from_bytes(subject)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(glob: &str, path: &str) -> bool {
        let name = path.trim_end_matches('/').rsplit('/').next().unwrap();
        PathGlob::new("glob", glob).unwrap().matches(path.as_bytes(), name.as_bytes())
    }

    #[test]
    fn a_glob_without_a_slash_is_for_names_and_one_with_a_slash_for_paths() {
        for (glob, path) in [
            ("*.rs", "a/b/c.rs"),
            ("*.{rs,toml}", "a/Cargo.toml"),
            ("src", "a/src/"),
            ("src/*.rs", "src/a.rs"),
            ("/a", "a"),
            ("src/**/*.rs", "src/a/b/c.rs"),
            ("src/**/*.rs", "src/c.rs"),
            ("**/b/*", "a/b/c"),
            ("src/", "src/a/b"),
            ("--pre=*", "--pre=x"),
        ] {
            assert!(matches(glob, path), "{glob} should match {path}");
        }
        for (glob, path) in [
            ("*.rs", "a.rs/b"),
            ("src/*.rs", "src/a/b.rs"),
            ("src/*.rs", "a/src/b.rs"),
            ("/a", "b/a"),
            ("../**", "a"),
        ] {
            assert!(!matches(glob, path), "{glob} should not match {path}");
        }
    }
}
