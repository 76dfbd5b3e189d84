//! Takes back what commands leave too much of: each costs every later command some time.

use std::ffi::OsString;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};

use super::quarantine::{FLOOD, Quarantine};
use super::take_back::LeftBehind;
use super::tree::{Tree, allow_owner};

/// What a command left too much of.
#[derive(Debug, Clone, Copy)]
pub enum Flood {
    /// Names that must be hidden.
    Hidden,
    /// Git directories, which are looked through before and after each command.
    GitDirectories,
}

/// Moves these entries, by root and path, to the quarantine.
pub(super) fn take(
    tree: &Tree,
    quarantine: &Quarantine,
    call: &str,
    (flood, entries): (Flood, &[(usize, PathBuf)]),
) -> Vec<LeftBehind> {
    let what = match flood {
        Flood::Hidden => "names that must be hidden",
        Flood::GitDirectories => "git directories",
    };
    let why = format!("one of {} new {what}, more than commands may leave", entries.len());
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
    quarantine.take(call, &Path::new(FLOOD).join(numbered), parent.as_fd(), name).is_ok()
}
