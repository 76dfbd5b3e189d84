//! The files of the roots as the guard sees them: by handle, with what was read remembered.
//!
//! Whatever is remembered belongs to a device, an inode, a change time and a size. A file that changed too
//! recently is not remembered, since it may change again within the same tick of the file system's clock.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, Stat, fstat, openat2, readlinkat, statat,
};
use rustix::io::Errno;
use sha2::{Digest as _, Sha256};

use super::git_config::GitConfig;
use crate::roots::Roots;

const CLOCK_TICK: Duration = Duration::from_millis(50);

/// The longest file whose content is looked at; of a longer one the rest counts by its change time.
const MAX_BYTES: u64 = 16 << 20;

/// Where a path leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Lead {
    /// To this place, by root and path below it.
    Inside(usize, PathBuf),
    /// To nothing that exists, at this place in a root.
    Missing,
    /// Out of the roots, or nobody can tell.
    Outside,
}

/// What is known of a file as long as its status stays the same.
#[derive(Debug, Clone, Default)]
struct Known {
    status: Status,
    digest: Option<String>,
    config: Option<Arc<GitConfig>>,
    names: Option<Arc<Vec<OsString>>>,
    /// Whether the last inspection asked for it.
    is_used: bool,
}

/// Change time and size.
type Status = (i64, u64, i64);

#[derive(Debug)]
pub(super) struct Tree {
    roots: Arc<Roots>,
    handles: Vec<(PathBuf, OwnedFd)>,
    known: HashMap<(u64, u64), Known>,
}

impl Tree {
    pub(super) fn open(roots: Arc<Roots>) -> io::Result<Self> {
        let handles = roots.for_sandbox()?.into_iter().map(|root| (root.path, root.handle)).collect();
        Ok(Self { roots, handles, known: HashMap::new() })
    }

    pub(super) fn has_root(&self, root: usize) -> bool {
        root < self.handles.len()
    }

    pub(super) fn absolute(&self, root: usize, path: &Path) -> PathBuf {
        self.handles[root].0.join(path)
    }

    pub(super) fn root_path(&self, root: usize) -> &Path {
        &self.handles[root].0
    }

    pub(super) fn root_at(&self, path: &Path) -> Option<usize> {
        self.handles.iter().position(|(root, _)| root == path)
    }

    /// Forgets what was not asked for since the last time.
    pub(super) fn forget_unused(&mut self) {
        self.known.retain(|_, known| std::mem::take(&mut known.is_used));
    }

    /// The status of an entry itself; none if there is none.
    pub(super) fn stat(&self, root: usize, path: &Path) -> Option<Stat> {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        statat(&self.handles[root].1, path, AtFlags::SYMLINK_NOFOLLOW).ok()
    }

    /// Opens an entry itself. What its owner took away from itself is given back first.
    pub(super) fn open_entry(&self, root: usize, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
        let open = |path: &Path, flags: OFlags| {
            let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
            // The kernel refuses the other flags together with O_PATH.
            let opening = if flags.contains(OFlags::PATH) {
                OFlags::empty()
            } else {
                OFlags::NONBLOCK | OFlags::NOCTTY
            };
            let flags = flags | opening | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
            openat2(&self.handles[root].1, path, flags, Mode::empty(), resolve)
        };
        match open(path, flags) {
            Err(Errno::ACCESS) => {
                let mut above: Vec<&Path> = path.ancestors().collect();
                above.reverse();
                for part in above {
                    allow_owner(&open(part, OFlags::PATH)?);
                }
                open(path, flags)
            }
            opened => opened,
        }
    }

    pub(super) fn open_directory(&self, root: usize, path: &Path) -> Result<OwnedFd, Errno> {
        self.open_entry(root, path, OFlags::RDONLY | OFlags::DIRECTORY)
    }

    /// The target of a link.
    pub(super) fn read_link(&self, root: usize, path: &Path) -> Option<PathBuf> {
        let target = readlinkat(&self.handles[root].1, path, Vec::new()).ok()?;
        Some(PathBuf::from(OsStr::from_bytes(target.as_bytes())))
    }

    /// The beginning of a file.
    pub(super) fn read(&self, root: usize, path: &Path) -> Result<Vec<u8>, Errno> {
        let file = self.open_entry(root, path, OFlags::RDONLY)?;
        if !FileType::from_raw_mode(fstat(&file)?.st_mode).is_file() {
            return Err(Errno::NXIO);
        }
        let mut bytes = Vec::new();
        let read = File::from(file).take(MAX_BYTES).read_to_end(&mut bytes);
        read.map(|_| bytes).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
    }

    /// The SHA-256 of a file; none if it cannot be read.
    pub(super) fn digest(&mut self, root: usize, path: &Path, stat: &Stat) -> Option<String> {
        if let Some(digest) = self.known(stat).digest.clone() {
            return Some(digest);
        }
        let mut hash = Sha256::new_with_prefix(self.read(root, path).ok()?);
        if u64::try_from(stat.st_size).is_ok_and(|size| size > MAX_BYTES) {
            hash.update(format!("{:?}", status(stat)));
        }
        let digest = protocol::hash::in_hex(&hash.finalize());
        self.remember(stat, |known| known.digest = Some(digest.clone()));
        Some(digest)
    }

    /// A git config, and whether it ends where it was not understood; none if it cannot be read.
    pub(super) fn config(&mut self, root: usize, path: &Path, stat: &Stat) -> Option<Arc<GitConfig>> {
        if let Some(config) = &self.known(stat).config {
            return Some(Arc::clone(config));
        }
        let config = Arc::new(GitConfig::parse(&self.read(root, path).ok()?));
        self.remember(stat, |known| known.config = Some(Arc::clone(&config)));
        Some(config)
    }

    /// The names in a directory; none if it is no directory or cannot be read.
    pub(super) fn names(&mut self, root: usize, path: &Path) -> Option<Arc<Vec<OsString>>> {
        let stat = self.stat(root, path)?;
        if let Some(names) = &self.known(&stat).names {
            return Some(Arc::clone(names));
        }
        let directory = self.open_directory(root, path).ok()?;
        let mut names = Vec::new();
        for entry in Dir::read_from(&directory).ok()? {
            let entry = entry.ok()?;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                names.push(OsStr::from_bytes(name).to_owned());
            }
        }
        names.sort();
        let names = Arc::new(names);
        self.remember(&stat, |known| known.names = Some(Arc::clone(&names)));
        Some(names)
    }

    /// Where a path in a file of the directory `from` leads, with all links followed.
    pub(super) fn lead(&self, root: usize, from: &Path, target: &Path) -> Lead {
        let mut base = self.absolute(root, from);
        let mut rest = PathBuf::new();
        for part in target.components() {
            match part {
                // `from` has no links in it, so its parents are what `..` means.
                Component::ParentDir if rest.as_os_str().is_empty() => {
                    base.pop();
                }
                Component::RootDir => base = PathBuf::from("/"),
                Component::CurDir | Component::Prefix(_) => {}
                part => rest.push(part),
            }
        }
        match self.roots.locate(&base.join(rest)) {
            Ok(Some((root, path))) => Lead::Inside(root, path),
            Ok(None) => Lead::Missing,
            Err(()) => Lead::Outside,
        }
    }

    fn known(&mut self, stat: &Stat) -> &mut Known {
        let known = self.known.entry((stat.st_dev, stat.st_ino)).or_default();
        if known.status != status(stat) {
            *known = Known { status: status(stat), ..Known::default() };
        }
        known.is_used = true;
        known
    }

    fn remember(&mut self, stat: &Stat, change: impl FnOnce(&mut Known)) {
        if has_settled(stat) {
            change(self.known(stat));
        }
    }
}

pub(super) fn type_of(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

pub(super) fn is_executable(stat: &Stat) -> bool {
    stat.st_mode & 0o111 != 0
}

/// Gives the owner back what it needs to look at an entry and to move it; it fails for what others own.
pub(super) fn allow_owner(entry: &OwnedFd) {
    let Ok(stat) = fstat(entry) else { return };
    let needed = match type_of(&stat) {
        FileType::Directory => 0o700,
        FileType::RegularFile => 0o600,
        _ => return,
    };
    if stat.st_mode & needed != needed {
        let path = format!("/proc/self/fd/{}", entry.as_raw_fd());
        let _ = std::fs::set_permissions(path, PermissionsExt::from_mode((stat.st_mode & 0o7777) | needed));
    }
}

fn status(stat: &Stat) -> Status {
    (stat.st_ctime, stat.st_ctime_nsec, stat.st_size)
}

fn has_settled(stat: &Stat) -> bool {
    let changed =
        Duration::from_secs(stat.st_ctime.try_into().unwrap_or(0)) + Duration::from_nanos(stat.st_ctime_nsec);
    SystemTime::now().duration_since(UNIX_EPOCH + changed).is_ok_and(|age| age > CLOCK_TICK)
}
