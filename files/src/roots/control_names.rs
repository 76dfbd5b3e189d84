//! Control files: names where other programs look for code to run.
//!
//! A name matches at any depth and in any letter case, whether or not the file exists; a star at the
//! beginning of a part stands for anything. Names in `.git` also match in the repositories of submodules
//! below `.git/modules`. This module only compares names; it touches no file.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path};

use super::denied::ByteSet;
use super::names::ends_with_any_case;

/// Tells git to read hooks and settings from another directory, so it is protected with `.git/config`.
const COMMON_DIRECTORY: &str = "commondir";

/// What tools for building and for environments read: a project brings it along like its sources, and a clone
/// has it for itself alone.
const OF_PROJECTS: [&[&str]; 12] = [
    &[".cargo", "config"],
    &[".cargo", "config.toml"],
    &[".devcontainer"],
    &[".devcontainer.json"],
    &[".mise.toml"],
    &[".pnpmfile.cjs"],
    &[".pnpmfile.mjs"],
    &[".yarn", "plugins"],
    &[".yarn", "releases"],
    &[".yarnrc"],
    &[".yarnrc.yml"],
    &["mise.toml"],
];

/// Names with one component (`.envrc`) or several (`.git/hooks`).
#[derive(Debug, Clone, Default)]
pub struct ControlFiles {
    names: Vec<Vec<String>>,
    /// The first bytes of the last components, in either case; all of them, if one begins with a star.
    firsts: ByteSet,
    /// The last bytes of those that begin with a star.
    lasts: ByteSet,
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
        let (mut firsts, mut lasts) = (ByteSet::default(), ByteSet::default());
        for last in names.iter().filter_map(|name| name.last()) {
            let bytes = last.as_bytes();
            if bytes.first() == Some(&b'*') { lasts.add(bytes.last()) } else { firsts.add(bytes.first()) }
        }
        Self { names, firsts, lasts }
    }

    /// Whether a path below a root is a project's own setting, which a clone may bring.
    pub fn is_of_project(path: &Path) -> bool {
        let parts = lowercase(path);
        let named = |end: usize| OF_PROJECTS.iter().any(|name| ends_with(&parts[..end], name));
        (1..=parts.len()).any(named)
    }

    /// Whether a path below a root is a control file or is in a directory of them.
    pub fn covers(&self, path: &Path) -> bool {
        let parts = lowercase(path);
        (1..=parts.len()).any(|end| self.ends_with_name(&parts[..end]))
    }

    /// Whether a path below a root is itself such a name.
    pub fn names_entry(&self, path: &Path) -> bool {
        // The last component alone rules out most entries.
        self.may_be_name(path.file_name().unwrap_or_default().as_bytes())
            && self.ends_with_name(&lowercase(path))
    }

    /// Whether an entry of this name can be one at all: a cheap first check.
    pub fn may_be_name(&self, name: &[u8]) -> bool {
        let is_last = |parts: &Vec<String>| parts.last().is_some_and(|part| matches(part, name));
        (self.firsts.has(name.first()) || self.lasts.has(name.last())) && self.names.iter().any(is_last)
    }

    fn ends_with_name(&self, parts: &[String]) -> bool {
        self.names.iter().any(|name| ends_with(parts, name) || in_submodule(parts, name))
    }
}

/// Whether a component is what a name's component stands for.
fn matches(pattern: &str, name: &[u8]) -> bool {
    match pattern.strip_prefix('*') {
        None => name.eq_ignore_ascii_case(pattern.as_bytes()),
        Some(ending) => ends_with_any_case(name, ending.as_bytes()),
    }
}

fn ends_with<P: AsRef<str>>(parts: &[String], name: &[P]) -> bool {
    let start = parts.len().checked_sub(name.len());
    start.is_some_and(|start| {
        parts[start..].iter().zip(name).all(|(part, pattern)| matches(pattern.as_ref(), part.as_bytes()))
    })
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
        let control_files =
            ControlFiles::new([".git/hooks", ".git/config", ".envrc", ".vscode", "*.code-workspace"]);
        let covered = "\
            .envrc a/b/.ENVRC .git/hooks/pre-commit sub/.GIT/Hooks .git/config x/.vscode/tasks.json \
            .git/commondir .git/modules/lib/hooks/post-checkout .git/modules/a/modules/b/config \
            a/My.Code-Workspace .code-workspace";
        let ordinary = "\
            envrc git/hooks .git/HEAD hooks config .git/modules/config .vscodex code-workspace";
        for path in covered.split_whitespace() {
            assert!(control_files.covers(Path::new(path)), "{path}");
        }
        for path in ordinary.split_whitespace().chain([""]) {
            assert!(!control_files.covers(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn what_a_project_brings_is_told_from_what_a_person_sets() {
        for path in
            ["a/.cargo/config.toml", ".YARNRC.yml", "x/.yarn/releases/yarn.cjs", ".devcontainer/a/b.json"]
        {
            assert!(ControlFiles::is_of_project(Path::new(path)), "{path}");
        }
        for path in [".envrc", ".vscode/tasks.json", "cargo/config.toml", ".git/config", ".cargo/x"] {
            assert!(!ControlFiles::is_of_project(Path::new(path)), "{path}");
        }
    }
}
