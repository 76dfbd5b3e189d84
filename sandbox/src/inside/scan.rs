//! Scans the roots for denied names and control files, before a command and after it.
//!
//! A scan is bounded, breadth first, follows no link and opens everything below the roots' handles. The
//! difference between the two scans is what the command left for other programs to run. The spawner caches
//! each directory and reads only changed ones again.

use std::collections::{HashMap, VecDeque};
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, Stat, openat2, statat};

use crate::settings::SpawnerSettings;

/// How many entries of the roots are read; about 100 ms with an empty cache.
const MAX_ENTRIES: usize = 100_000;

/// How many created control files are reported.
const MAX_REPORTED: usize = 64;

/// A directory that changed this recently may change again within the same tick of the file system's
/// clock, which its change time would not show.
const CLOCK_TICK: Duration = Duration::from_millis(50);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Hidden from commands.
    Denied,
    /// A git repository's `.git` directory, or the file that points to it.
    Repository,
    /// A control file, or a directory of them.
    Control,
    /// A file in a directory of control files.
    InsideControl,
}

/// Device, inode and change time: tells a file from another one at the same path.
type Identity = (u64, u64, i64, u64);

#[derive(Debug)]
pub(super) struct Match {
    /// The index of its root among the writable ones.
    pub(super) root: usize,
    /// Below the root.
    pub(super) path: PathBuf,
    pub(super) kind: Kind,
    identity: Identity,
}

#[derive(Debug)]
pub(super) struct Scan {
    /// Shallow ones first.
    pub(super) matches: Vec<Match>,
    /// Whether everything was read.
    pub(super) complete: bool,
}

/// The roots' directories as they were last read.
#[derive(Debug, Default)]
pub(super) struct ScanCache {
    directories: HashMap<(usize, PathBuf), Directory>,
}

#[derive(Debug)]
struct Directory {
    /// None if it may have changed unnoticed while it was read.
    identity: Option<Identity>,
    entries: usize,
    subdirectories: Vec<PathBuf>,
    matches: Vec<(PathBuf, Kind)>,
}

impl ScanCache {
    pub(super) fn scan(&mut self, settings: &SpawnerSettings) -> Scan {
        let mut scan = Scan { matches: Vec::new(), complete: true };
        let mut left = MAX_ENTRIES;
        let mut seen = HashMap::with_capacity(self.directories.len());
        let mut queue: VecDeque<(usize, PathBuf)> =
            (0..settings.roots.len()).map(|root| (root, PathBuf::from("."))).collect();
        while let Some((root, path)) = queue.pop_front() {
            let key = (root, path);
            let Some(directory) = self.directory(settings, &key, left) else { continue };
            if directory.entries > left {
                scan.complete = false;
                break;
            }
            left -= directory.entries;
            for (path, kind) in &directory.matches {
                scan.add(&settings.roots[root].handle, root, path, *kind);
            }
            queue.extend(directory.subdirectories.iter().map(|path| (root, path.clone())));
            seen.insert(key, directory);
        }
        self.directories = seen;
        scan
    }

    /// A directory, read again only if it changed; none if it cannot be read.
    fn directory(
        &mut self,
        settings: &SpawnerSettings,
        key: &(usize, PathBuf),
        left: usize,
    ) -> Option<Directory> {
        let (root, path) = key;
        let handle = &settings.roots[*root].handle;
        let identity = identity(&statat(handle, path, AtFlags::SYMLINK_NOFOLLOW).ok()?);
        match self.directories.remove(key) {
            Some(directory) if directory.identity == Some(identity) => Some(directory),
            _ => {
                let mut directory = read(settings, handle, path, left)?;
                directory.identity = has_settled(identity).then_some(identity);
                Some(directory)
            }
        }
    }
}

/// Reads a directory, up to one entry more than `left`.
fn read(settings: &SpawnerSettings, root: &OwnedFd, path: &Path, left: usize) -> Option<Directory> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    let opened = openat2(root.as_fd(), path, flags, Mode::empty(), beneath).ok()?;
    let path = path.strip_prefix(".").unwrap_or(path);
    let inside_control = settings.control_files.covers(path);
    let mut directory =
        Directory { identity: None, entries: 0, subdirectories: Vec::new(), matches: Vec::new() };
    for entry in Dir::read_from(&opened).ok()?.flatten() {
        let name = entry.file_name().to_bytes();
        if name == b"." || name == b".." {
            continue;
        }
        directory.entries += 1;
        if directory.entries > left {
            break;
        }
        let path = path.join(OsStr::from_bytes(name));
        let kind = kind(settings, &path, inside_control);
        if is_directory(entry.file_type(), &opened, name) && worth_entering(&path, kind) {
            directory.subdirectories.push(path.clone());
        }
        directory.matches.extend(kind.map(|kind| (path, kind)));
    }
    Some(directory)
}

/// Whether and why a path matches, by its name and its directory.
fn kind(settings: &SpawnerSettings, path: &Path, inside_control: bool) -> Option<Kind> {
    if (settings.is_denied)(path) {
        Some(Kind::Denied)
    } else if settings.control_files.names_entry(path) {
        Some(Kind::Control)
    } else if inside_control {
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

/// Inside a repository we enter only the submodules' repositories: there are many objects and references.
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

fn identity(stat: &Stat) -> Identity {
    (stat.st_dev, stat.st_ino, stat.st_ctime, stat.st_ctime_nsec)
}

fn has_settled(identity: Identity) -> bool {
    let (_, _, seconds, nanoseconds) = identity;
    let changed = Duration::from_secs(seconds.try_into().unwrap_or(0)) + Duration::from_nanos(nanoseconds);
    SystemTime::now().duration_since(UNIX_EPOCH + changed).is_ok_and(|age| age > CLOCK_TICK)
}

impl Scan {
    fn add(&mut self, handle: &OwnedFd, root: usize, path: &Path, kind: Kind) {
        let Ok(stat) = statat(handle, path, AtFlags::SYMLINK_NOFOLLOW) else { return };
        let whole = identity(&stat);
        // A directory changes with every entry; its entries match by themselves.
        let directory = FileType::from_raw_mode(stat.st_mode).is_dir();
        let identity = if directory { (whole.0, whole.1, 0, 0) } else { whole };
        self.matches.push(Match { root, path: path.to_owned(), kind, identity });
    }

    /// Absolute paths of the control files that this scan found and the one before the command did not.
    ///
    /// A repository that did not exist before is the command's own work, with everything in it.
    pub(super) fn created_since(&self, before: &Self, settings: &SpawnerSettings) -> Vec<OsString> {
        let known: HashMap<(usize, &Path), Identity> =
            before.matches.iter().map(|item| ((item.root, item.path.as_path()), item.identity)).collect();
        let is_new = |item: &Match| known.get(&(item.root, &item.path)) != Some(&item.identity);
        let in_own_repository = |item: &Match| {
            item.path.ancestors().any(|ancestor| {
                ancestor.file_name().is_some_and(is_repository) && !known.contains_key(&(item.root, ancestor))
            })
        };
        let mut created: Vec<PathBuf> = self
            .matches
            .iter()
            .filter(|item| item.kind != Kind::Denied && is_new(item) && !in_own_repository(item))
            .map(|item| settings.roots[item.root].path.join(&item.path))
            .collect();
        created.sort();
        created.dedup_by(|later, earlier| later.starts_with(&*earlier));
        created.truncate(MAX_REPORTED);
        created.into_iter().map(PathBuf::into_os_string).collect()
    }
}
