//! The search of the roots for denied names and control files, before a command and after it.
//!
//! It is bounded, breadth first, follows no link and opens everything beneath the roots' handles. What
//! differs between the two searches is what the command left for other programs to run. The spawner
//! remembers what it read of each directory and reads again only those that changed.

use std::collections::{HashMap, VecDeque};
use std::ffi::OsStr;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, Stat, openat2, statat};

use crate::settings::SpawnerSettings;

/// How many entries of the roots are looked at; about 100 ms when none is known yet.
const MAX_ENTRIES: usize = 100_000;

/// How many created control files are named.
const MAX_NAMED: usize = 64;

/// A directory that changed this recently may change again within the same tick of the file system's
/// clock, which would not show.
const UNSETTLED: Duration = Duration::from_millis(50);

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

/// What is known of the roots' directories.
#[derive(Debug, Default)]
pub struct Index {
    known: HashMap<(usize, PathBuf), Known>,
}

/// One directory as it was read.
#[derive(Debug)]
struct Known {
    /// None when it may have changed unseen while it was read.
    identity: Option<Identity>,
    entries: usize,
    directories: Vec<PathBuf>,
    found: Vec<(PathBuf, Kind)>,
}

impl Index {
    /// Searches all writable roots.
    pub fn search(&mut self, settings: &SpawnerSettings) -> Search {
        let mut search = Search { found: Vec::new(), complete: true };
        let mut left = MAX_ENTRIES;
        let mut still_known = HashMap::with_capacity(self.known.len());
        let mut queue: VecDeque<(usize, PathBuf)> =
            (0..settings.roots.len()).map(|root| (root, PathBuf::from("."))).collect();
        while let Some((root, path)) = queue.pop_front() {
            let key = (root, path);
            let Some(directory) = self.directory(settings, &key, left) else { continue };
            if directory.entries > left {
                search.complete = false;
                break;
            }
            left -= directory.entries;
            for (path, kind) in &directory.found {
                search.note(&settings.roots[root].handle, root, path, *kind);
            }
            queue.extend(directory.directories.iter().map(|path| (root, path.clone())));
            still_known.insert(key, directory);
        }
        self.known = still_known;
        search
    }

    /// What is in a directory, read again only if it changed; none when it cannot be read.
    fn directory(
        &mut self,
        settings: &SpawnerSettings,
        key: &(usize, PathBuf),
        left: usize,
    ) -> Option<Known> {
        let (root, path) = key;
        let handle = &settings.roots[*root].handle;
        let identity = identity(&statat(handle, path, AtFlags::SYMLINK_NOFOLLOW).ok()?);
        match self.known.remove(key) {
            Some(known) if known.identity == Some(identity) => Some(known),
            _ => {
                let mut known = read(settings, handle, path, left)?;
                known.identity = has_settled(identity).then_some(identity);
                Some(known)
            }
        }
    }
}

/// Reads a directory, up to one entry more than is `left`.
fn read(settings: &SpawnerSettings, root: &OwnedFd, path: &Path, left: usize) -> Option<Known> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    let opened = openat2(root.as_fd(), path, flags, Mode::empty(), beneath).ok()?;
    let path = path.strip_prefix(".").unwrap_or(path);
    let inside_control = settings.control_files.covers(path);
    let mut known = Known { identity: None, entries: 0, directories: Vec::new(), found: Vec::new() };
    for entry in Dir::read_from(&opened).ok()?.flatten() {
        let name = entry.file_name().to_bytes();
        if name == b"." || name == b".." {
            continue;
        }
        known.entries += 1;
        if known.entries > left {
            break;
        }
        let path = path.join(OsStr::from_bytes(name));
        let kind = kind(settings, &path, inside_control);
        if is_directory(entry.file_type(), &opened, name) && worth_entering(&path, kind) {
            known.directories.push(path.clone());
        }
        known.found.extend(kind.map(|kind| (path, kind)));
    }
    Some(known)
}

/// What one path is, by its name and by where it lies.
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

fn identity(stat: &Stat) -> Identity {
    (stat.st_dev, stat.st_ino, stat.st_ctime, stat.st_ctime_nsec)
}

fn has_settled(identity: Identity) -> bool {
    let (_, _, seconds, nanoseconds) = identity;
    let changed = Duration::from_secs(seconds.try_into().unwrap_or(0)) + Duration::from_nanos(nanoseconds);
    SystemTime::now().duration_since(UNIX_EPOCH + changed).is_ok_and(|age| age > UNSETTLED)
}

impl Search {
    fn note(&mut self, handle: &OwnedFd, root: usize, path: &Path, kind: Kind) {
        let Ok(stat) = statat(handle, path, AtFlags::SYMLINK_NOFOLLOW) else { return };
        let whole = identity(&stat);
        // A directory changes with every entry; what lies in it is found by itself.
        let directory = FileType::from_raw_mode(stat.st_mode).is_dir();
        let identity = if directory { (whole.0, whole.1, 0, 0) } else { whole };
        self.found.push(Found { root, path: path.to_owned(), kind, identity });
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
