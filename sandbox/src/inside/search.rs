//! The search of the roots for denied names and control files, before a command and after it.
//!
//! It is bounded, breadth first, follows no link and opens everything beneath the roots' handles. What
//! differs between the two searches is what the command left for other programs to run.

use std::collections::{HashMap, VecDeque};
use std::ffi::OsStr;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, openat2, statat};

use crate::settings::SpawnerSettings;

/// How many entries of the roots are looked at; about 30 ms.
const MAX_ENTRIES: usize = 50_000;

/// How many created control files are named.
const MAX_NAMED: usize = 64;

/// What a found path is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Hidden from commands.
    Denied,
    /// A git repository's own directory (or the file that points to it).
    Repository,
    /// A control file, or a directory of them.
    Control,
    /// A file in a directory of control files.
    InsideControl,
}

/// What distinguishes a file from another one at the same path.
type Identity = (u64, u64, i64, u64);

/// One found path.
#[derive(Debug)]
pub struct Found {
    /// Which of the writable roots.
    pub root: usize,
    /// The path beneath it.
    pub path: PathBuf,
    /// What it is.
    pub kind: Kind,
    identity: Identity,
}

/// What a search brought.
#[derive(Debug)]
pub struct Search {
    /// The paths, shallow ones first.
    pub found: Vec<Found>,
    /// Whether everything was looked at.
    pub complete: bool,
}

/// Searches all writable roots.
pub fn search(settings: &SpawnerSettings) -> Search {
    let mut search = Search { found: Vec::new(), complete: true };
    let mut left = MAX_ENTRIES;
    let mut queue: VecDeque<(usize, PathBuf)> =
        (0..settings.roots.len()).map(|root| (root, PathBuf::new())).collect();
    while let Some((root, directory)) = queue.pop_front() {
        let Ok(opened) = open_directory(&settings.roots[root].handle, &directory) else { continue };
        let Ok(entries) = Dir::read_from(&opened) else { continue };
        for entry in entries.flatten() {
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            if left == 0 {
                search.complete = false;
                return search;
            }
            left -= 1;
            let path = directory.join(OsStr::from_bytes(name));
            let kind = kind(settings, &path);
            if let Some(kind) = kind {
                search.note(root, &opened, path.clone(), kind);
            }
            if is_directory(entry.file_type(), &opened, name) && worth_entering(&path, kind) {
                queue.push_back((root, path));
            }
        }
    }
    search
}

/// What one path is, by its name and by where it lies.
fn kind(settings: &SpawnerSettings, path: &Path) -> Option<Kind> {
    if (settings.is_denied)(path) {
        Some(Kind::Denied)
    } else if settings.control_files.names_entry(path) {
        Some(Kind::Control)
    } else if path.parent().is_some_and(|parent| settings.control_files.covers(parent)) {
        Some(Kind::InsideControl)
    } else if path.file_name().is_some_and(is_repository) {
        Some(Kind::Repository)
    } else {
        None
    }
}

fn is_repository(name: &OsStr) -> bool {
    name.eq_ignore_ascii_case(".git")
}

/// Of a repository only the submodules' repositories are entered: its objects and references are many.
fn worth_entering(path: &Path, kind: Option<Kind>) -> bool {
    let mut parts = path.components().map(std::path::Component::as_os_str);
    match kind {
        Some(Kind::Denied) => false,
        Some(Kind::Repository | Kind::Control | Kind::InsideControl) => true,
        None => match parts.by_ref().find(|part| is_repository(part)) {
            None => true,
            Some(_) => {
                let last = path.file_name().unwrap_or_default();
                parts.next().is_some_and(|part| part == "modules")
                    && !["objects", "refs", "logs"].iter().any(|name| last == *name)
            }
        },
    }
}

fn is_directory(known: FileType, directory: &OwnedFd, name: &[u8]) -> bool {
    match known {
        FileType::Unknown => statat(directory, OsStr::from_bytes(name), AtFlags::SYMLINK_NOFOLLOW)
            .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode).is_dir()),
        known => known.is_dir(),
    }
}

fn open_directory(root: &OwnedFd, path: &Path) -> rustix::io::Result<OwnedFd> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat2(root.as_fd(), path, flags, Mode::empty(), ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS)
}

impl Search {
    fn note(&mut self, root: usize, directory: &OwnedFd, path: PathBuf, kind: Kind) {
        let name = path.file_name().unwrap_or_default();
        let Ok(stat) = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) else { return };
        // A directory's time of change moves with every entry; what lies in it is found by itself.
        let changed = match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => (0, 0),
            _ => (stat.st_ctime, stat.st_ctime_nsec),
        };
        let identity = (stat.st_dev, stat.st_ino, changed.0, changed.1);
        self.found.push(Found { root, path, kind, identity });
    }

    /// The control files that this later search found and the earlier one did not, absolute.
    ///
    /// A repository that was not there before is the command's own work, with all that is in it.
    pub fn created_since(&self, before: &Self, settings: &SpawnerSettings) -> Vec<PathBuf> {
        let known: HashMap<(usize, &Path), Identity> =
            before.found.iter().map(|found| ((found.root, found.path.as_path()), found.identity)).collect();
        let is_new = |found: &Found| known.get(&(found.root, &found.path)) != Some(&found.identity);
        let in_own_repository = |found: &Found| {
            found.path.ancestors().any(|ancestor| {
                ancestor.file_name().is_some_and(is_repository)
                    && !known.contains_key(&(found.root, ancestor))
            })
        };
        let mut created: Vec<PathBuf> = self
            .found
            .iter()
            .filter(|found| found.kind != Kind::Denied && is_new(found) && !in_own_repository(found))
            .map(|found| settings.roots[found.root].path.join(&found.path))
            .collect();
        created.sort();
        created.dedup_by(|later, earlier| later.starts_with(&*earlier));
        created.truncate(MAX_NAMED);
        created
    }
}
