//! What a caller may have meant by a path that does not exist: up to three names that differ in letter case
//! or spelling, or lie in another directory.
//!
//! Denied and hidden names are never named, links are not followed, and the work is bounded: a caller must
//! learn no more from an error than from a listing, and wait no longer.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use protocol::{ErrorCode, ToolError};
use rustix::fs::{Dir, FileType, OFlags};

use super::child::open_child_directory;
use super::names;
use super::open::{Roots, lexically_clean};
use super::resolve;

const MAX_NAMES: usize = 3;

/// How many entries and directories are looked at, all directories together.
const MAX_ENTRIES: usize = 2000;
const MAX_DIRECTORIES: usize = 200;

/// Longer names, in bytes, are compared by letter case alone: a distance takes the square of the length.
const MAX_COMPARED_BYTES: usize = 64;

/// How unlike a name is; the smaller, the nearer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Difference {
    LetterCase,
    Directory,
    /// This many letters are wrong.
    Spelling(usize),
}

impl Roots {
    /// The same error; that of a path where nothing exists names what may be meant.
    pub(super) fn with_near_names(
        &self,
        asked: &str,
        root: usize,
        beneath: &Path,
        mut error: ToolError,
    ) -> ToolError {
        if error.code == ErrorCode::NotFound {
            let base = if asked.starts_with('/') { self.roots[root].path.as_path() } else { Path::new("") };
            let near: Vec<String> = self
                .near(root, &lexically_clean(beneath))
                .into_iter()
                .map(|path| names::quoted(&names::path_to_text(&base.join(path))))
                .collect();
            match near.as_slice() {
                [] => {}
                [one] => error.message.push_str(&format!(" Did you mean {one}?")),
                [first @ .., last] => {
                    error.message.push_str(&format!(" Did you mean {} or {last}?", first.join(", ")));
                }
            }
        }
        error
    }

    /// The nearest paths beneath a root, the nearest first.
    fn near(&self, root: usize, wanted: &Path) -> Vec<PathBuf> {
        let mut search = Search { roots: self, root, entries: 0, found: Vec::new() };
        search.look_beside(wanted);
        if let Some(name) = wanted.file_name() {
            search.look_everywhere(name, wanted);
        }
        let mut found = search.found;
        found.sort();
        let mut paths: Vec<PathBuf> = Vec::new();
        for (_, path) in found {
            if paths.len() < MAX_NAMES && !paths.contains(&path) {
                paths.push(path);
            }
        }
        paths
    }
}

struct Search<'a> {
    roots: &'a Roots,
    root: usize,
    entries: usize,
    /// Paths beneath the root, without links.
    found: Vec<(Difference, PathBuf)>,
}

impl Search<'_> {
    /// Compares the first name of the path that does not exist with the names beside it.
    fn look_beside(&mut self, wanted: &Path) {
        let mut ancestors: Vec<&Path> = wanted.ancestors().skip(1).collect();
        let Some((directory, at)) = ancestors.drain(..).find_map(|at| Some((self.open(at)?, at))) else {
            return;
        };
        let Ok(rest) = wanted.strip_prefix(at) else { return };
        let mut rest = rest.components();
        let Some(missing) = rest.next() else { return };
        let below = rest.as_path();
        let Some(opened) = self.roots.identify(directory) else { return };
        for (name, _) in self.list(&opened.handle, &opened.beneath) {
            let Some(difference) = compare(missing.as_os_str(), &name) else { continue };
            let path = at.join(&name).join(below);
            if below.as_os_str().is_empty() || self.exists(&path) {
                self.found.push((difference, path.components().collect()));
            }
        }
    }

    /// Looks for the last name of the path in the other directories of the root, the highest first.
    fn look_everywhere(&mut self, name: &OsStr, wanted: &Path) {
        let Some(top) = self.open(Path::new("")) else { return };
        let mut waiting = VecDeque::from([(top, PathBuf::new())]);
        let mut opened = 0;
        while let Some((directory, at)) = waiting.pop_front() {
            for (entry, file_type) in self.list(&directory, &at) {
                let path = at.join(&entry);
                if path != wanted && entry.eq_ignore_ascii_case(name) {
                    self.found.push((Difference::Directory, path.clone()));
                }
                if file_type == FileType::Directory
                    && opened < MAX_DIRECTORIES
                    && let Ok(child) = open_child_directory(directory.as_fd(), &entry)
                {
                    opened += 1;
                    waiting.push_back((child, path));
                }
            }
        }
    }

    /// The entries of a directory that a listing shows, within the rest of the bound.
    fn list(&mut self, directory: &OwnedFd, beneath: &Path) -> Vec<(OsString, FileType)> {
        let Ok(entries) = Dir::read_from(directory) else { return Vec::new() };
        let room = MAX_ENTRIES - self.entries;
        let entries = entries.take(room).map_while(Result::ok).map(|entry| {
            self.entries += 1;
            (OsString::from_vec(entry.file_name().to_bytes().to_vec()), entry.file_type())
        });
        let mut shown: Vec<(OsString, FileType)> = entries.collect();
        shown.retain(|(name, _)| {
            !name.as_bytes().starts_with(b".") && !self.is_denied(self.root, &beneath.join(name))
        });
        // The order of a directory is not fixed; an answer should be.
        shown.sort_by(|(one, _), (other, _)| one.cmp(other));
        shown
    }

    /// A directory that a listing could show.
    fn open(&self, beneath: &Path) -> Option<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let handle = resolve::open_beneath(&self.roots.roots, self.root, beneath, flags).ok()?;
        self.is_shown(beneath, handle)
    }

    fn exists(&self, beneath: &Path) -> bool {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let handle = resolve::open_beneath(&self.roots.roots, self.root, beneath, flags).ok();
        handle.and_then(|handle| self.is_shown(beneath, handle)).is_some()
    }

    /// The same handle, unless it is of a hidden or denied path, by its own name or through a link.
    fn is_shown(&self, beneath: &Path, handle: OwnedFd) -> Option<OwnedFd> {
        let opened = self.roots.identify(handle)?;
        let is_hidden = |path: &Path| path.iter().any(|name| name.as_bytes().starts_with(b"."));
        let refused = |root, path: &Path| is_hidden(path) || self.is_denied(root, path);
        let is_refused = refused(self.root, beneath) || refused(opened.at, &opened.beneath);
        (!is_refused).then_some(opened.handle)
    }

    fn is_denied(&self, root: usize, beneath: &Path) -> bool {
        self.roots.rules.denied.covers(&self.roots.in_rules(root, beneath))
    }
}

/// How a name differs from the wanted one; none if it is another name.
fn compare(wanted: &OsStr, name: &OsStr) -> Option<Difference> {
    if name.eq_ignore_ascii_case(wanted) {
        return Some(Difference::LetterCase);
    }
    let (wanted, name) = (wanted.to_str()?.to_lowercase(), name.to_str()?.to_lowercase());
    if wanted == name {
        return Some(Difference::LetterCase);
    }
    let most = (wanted.chars().count() / 3).min(3);
    if wanted.len().max(name.len()) > MAX_COMPARED_BYTES || wanted.len().abs_diff(name.len()) > 4 * most {
        return None;
    }
    let distance = strsim::osa_distance(&wanted, &name);
    (distance <= most).then_some(Difference::Spelling(distance))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_near_by_case_or_by_a_few_letters() {
        let compare = |wanted: &str, name: &str| compare(OsStr::new(wanted), OsStr::new(name));
        for (wanted, name, expected) in [
            ("README.md", "readme.md", Some(Difference::LetterCase)),
            ("ÄPFEL.txt", "äpfel.txt", Some(Difference::LetterCase)),
            ("mian.rs", "main.rs", Some(Difference::Spelling(1))),
            ("config.yml", "config.yaml", Some(Difference::Spelling(1))),
            ("a.rs", "b.rs", Some(Difference::Spelling(1))),
            ("ab", "xy", None),
            ("main.rs", "lib.rs", None),
            ("main.rs", "main_window_of_the_application.rs", None),
        ] {
            assert_eq!(compare(wanted, name), expected, "{wanted} {name}");
        }
        let long = "x".repeat(200);
        assert_eq!(compare(&long, &format!("{long}y")), None);
        assert_eq!(compare(&long, &long.to_uppercase()), Some(Difference::LetterCase));
    }
}
