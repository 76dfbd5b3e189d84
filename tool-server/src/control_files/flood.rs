//! Takes back names that must be hidden, where commands leave more of them than hiding may cost.

use std::ffi::OsString;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};

use super::quarantine::{HIDDEN_NAMES, Quarantine};
use super::take_back::LeftBehind;
use super::tree::{Tree, allow_owner};

/// Moves these entries, by root and path, to the quarantine.
pub(super) fn take(
    tree: &Tree,
    quarantine: &Quarantine,
    call: &str,
    entries: &[(usize, PathBuf)],
) -> Vec<LeftBehind> {
    let why = format!("one of {} new names that must be hidden, more than commands may leave", entries.len());
    let take_one = |(number, (root, path)): (usize, &(usize, PathBuf))| LeftBehind {
        path: tree.absolute(*root, path),
        why: why.clone(),
        taken_back: take_entry(tree, quarantine, call, number, *root, path),
    };
    entries.iter().enumerate().map(take_one).collect()
}

fn take_entry(
    tree: &Tree,
    quarantine: &Quarantine,
    call: &str,
    number: usize,
    root: usize,
    path: &Path,
) -> bool {
    let (Some(name), parent) = (path.file_name(), path.parent().unwrap_or(Path::new(""))) else {
        return false;
    };
    let Ok(parent) = tree.open_directory(root, parent) else { return false };
    allow_owner(&parent);
    // All lie in one directory: their own directories may be many, too.
    let mut numbered = OsString::from(format!("{number}-"));
    numbered.push(name);
    quarantine.take(call, &Path::new(HIDDEN_NAMES).join(numbered), parent.as_fd(), name).is_ok()
}
