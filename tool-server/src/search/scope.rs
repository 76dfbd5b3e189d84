//! The scope: where a search begins, what it skips, and how its paths are shown: as every tool accepts them,
//! relative to the first root if the searched directory is in it, else absolute.

use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use files::roots::{DeniedPaths, Opened, Roots, names};
use toolkit::Call;
use toolkit::policy::TouchedPath;

use super::ignore_rules::{IgnoreFiles, IgnoreRules};

pub(crate) struct PathDisplay {
    prefix: String,
}

pub(crate) struct SearchScope<'a> {
    denied: &'a DeniedPaths,
    /// Whose rules may keep it from more.
    call: &'a Call,
    /// The path of the root that is searched.
    root: PathBuf,
    /// The path of that root below the operator's root, from which rules about paths hold.
    above: PathBuf,
    /// The searched directory beneath its root; empty, or ending in `/`.
    pub(super) start: Vec<u8>,
    pub(crate) shown: PathDisplay,
    /// The rules of the directories above the searched one.
    pub(super) rules: Option<Arc<IgnoreRules>>,
    pub(crate) include_hidden: bool,
    pub(crate) include_ignored: bool,
    /// How many levels below the searched directory an entry may be.
    pub(crate) max_depth: usize,
}

impl<'a> SearchScope<'a> {
    /// Everything beneath a directory, except hidden, ignored and denied entries, and those against the
    /// call's rules.
    pub(crate) fn of(
        roots: &'a Roots,
        directory: &Opened,
        call: &'a Call,
        include_hidden: bool,
        include_ignored: bool,
    ) -> Self {
        Self {
            denied: roots.denied(),
            call,
            root: directory.root(),
            above: roots.above(directory).to_owned(),
            start: as_directory(&directory.beneath),
            shown: PathDisplay::beneath(roots, &directory.path),
            rules: if include_ignored { None } else { rules_above(roots, directory) },
            include_hidden,
            include_ignored,
            max_depth: usize::MAX,
        }
    }

    /// The part of a path that is below the searched directory.
    pub(super) fn below<'p>(&self, path: &'p [u8]) -> &'p [u8] {
        &path[self.start.len()..]
    }

    /// Whether an entry of a directory that is not denied is denied.
    pub(super) fn denies(&self, path: &[u8], name: &[u8]) -> bool {
        self.denied.may_cover_name(name) && self.denied.covers_entry(&self.in_rules(path))
    }

    /// A path below the root that is searched, as rules about paths see it.
    fn in_rules(&self, path: &[u8]) -> PathBuf {
        self.above.join(OsStr::from_bytes(path))
    }

    /// Whether a rule keeps the call from an entry.
    pub(super) fn is_against_rules(&self, path: &[u8]) -> bool {
        self.call.hides(|| {
            let beneath = Path::new(OsStr::from_bytes(path));
            TouchedPath { path: self.root.join(beneath), beneath: self.in_rules(path) }
        })
    }
}

impl PathDisplay {
    pub(crate) fn beneath(roots: &Roots, directory: &Path) -> Self {
        let from = directory.strip_prefix(roots.first()).unwrap_or(directory);
        Self { prefix: names::to_text(&as_directory(from)) }
    }

    /// A path below the directory as text that every tool accepts.
    pub(crate) fn path(&self, below: &[u8]) -> String {
        let mut shown = self.prefix.clone();
        shown.push_str(&names::to_text(below));
        shown
    }
}

fn as_directory(path: &Path) -> Vec<u8> {
    let mut bytes = path.as_os_str().as_bytes().to_vec();
    if !bytes.is_empty() && !bytes.ends_with(b"/") {
        bytes.push(b'/');
    }
    bytes
}

/// The rules of the directories from the root down to the searched one's parent.
fn rules_above(roots: &Roots, directory: &Opened) -> Option<Arc<IgnoreRules>> {
    let root = directory.root();
    let mut parents: Vec<&Path> = directory.beneath.ancestors().skip(1).collect();
    parents.reverse();
    parents.into_iter().fold(None, |rules, parent| {
        let path = names::to_text(root.join(parent).as_os_str().as_bytes());
        match roots.open_directory(&path) {
            Ok(opened) => {
                let handle = opened.handle.as_fd();
                IgnoreRules::within(rules, handle, IgnoreFiles::probe(handle), as_directory(parent).len())
            }
            // A parent that cannot be opened has no readable rules.
            Err(_) => rules,
        }
    })
}
