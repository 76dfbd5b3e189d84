//! Control files: names where other programs look for code to run.
//!
//! A name matches at any depth and in any letter case, whether or not the file exists. Names in `.git` also
//! match in the repositories of submodules below `.git/modules`. This module only compares names; it
//! touches no file.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path};

/// Tells git to read hooks and settings from another directory, so it is protected with `.git/config`.
const COMMON_DIRECTORY: &str = "commondir";

/// Names with one component (`.envrc`) or several (`.git/hooks`).
#[derive(Debug, Clone, Default)]
pub struct ControlFiles {
    names: Vec<Vec<String>>,
}

impl ControlFiles {
    /// Control files with these names, which are paths relative to any directory.
    pub fn new<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let split = |name: &str| -> Vec<String> {
            name.split('/').filter(|part| !part.is_empty()).map(str::to_lowercase).collect()
        };
        let mut names: Vec<_> = names.into_iter().map(split).filter(|name| !name.is_empty()).collect();
        if names.iter().any(|name| *name == [".git", "config"]) {
            names.push(split(&format!(".git/{COMMON_DIRECTORY}")));
        }
        Self { names }
    }

    /// Whether a path below a root is a control file or is in a directory of them.
    pub fn covers(&self, path: &Path) -> bool {
        let parts = lowercase(path);
        (1..=parts.len()).any(|end| self.ends_with_name(&parts[..end]))
    }

    /// Whether a path below a root is itself such a name.
    pub(crate) fn names_entry(&self, path: &Path) -> bool {
        // The last component alone rules out most entries.
        self.may_be_name(path.file_name().unwrap_or_default().as_bytes())
            && self.ends_with_name(&lowercase(path))
    }

    /// Whether an entry of this name can be one at all: a cheap first check.
    pub(crate) fn may_be_name(&self, name: &[u8]) -> bool {
        let is_last =
            |parts: &Vec<String>| parts.last().is_some_and(|part| name.eq_ignore_ascii_case(part.as_bytes()));
        self.names.iter().any(is_last)
    }

    fn ends_with_name(&self, parts: &[String]) -> bool {
        self.names.iter().any(|name| parts.ends_with(name) || in_submodule(parts, name))
    }
}

/// Whether the path ends in the name of a submodule's repository: `.git/modules/<any>/hooks`.
fn in_submodule(parts: &[String], name: &[String]) -> bool {
    let [first, rest @ ..] = name else { return false };
    first == ".git"
        && !rest.is_empty()
        && parts.strip_suffix(rest).is_some_and(|before| {
            before.windows(2).any(|pair| pair[0] == ".git" && pair[1] == "modules") && before.len() > 2
        })
}

fn lowercase(path: &Path) -> Vec<String> {
    path.components()
        .filter_map(|component| match component {
            Component::Normal(name) => Some(name.to_string_lossy().to_lowercase()),
            Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_match_at_any_depth_in_any_case_and_cover_everything_below() {
        let control_files = ControlFiles::new([".git/hooks", ".git/config", ".envrc", ".vscode"]);
        let covered = [
            ".envrc",
            "a/b/.ENVRC",
            ".git/hooks/pre-commit",
            "sub/.GIT/Hooks",
            ".git/config",
            "x/.vscode/tasks.json",
            ".git/commondir",
            ".git/modules/lib/hooks/post-checkout",
            ".git/modules/a/modules/b/config",
        ];
        let ordinary =
            ["", "envrc", "git/hooks", ".git/HEAD", "hooks", "config", ".git/modules/config", ".vscodex"];
        for (paths, expected) in [(&covered[..], true), (&ordinary, false)] {
            for path in paths {
                assert_eq!(control_files.covers(Path::new(path)), expected, "{path}");
            }
        }
    }
}
