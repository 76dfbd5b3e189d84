//! The files of the roots as the guard sees them: by handle, with what was read remembered.
//!
//! Whatever is remembered belongs to a device, an inode, a change time and a size. A file that changed too
//! recently is not remembered, since it may change again within the same tick of the file system's clock.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufReader, Read as _, Seek as _};
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use files::roots::{Lead, Roots, open_long, stat_long};
use rustix::fs::{Access, AtFlags, Dir, FileType, OFlags, Stat, StatxFlags, fstat, readlinkat, statx};
use rustix::io::Errno;
use sha2::{Digest as _, Sha256};

use super::git_config::GitConfig;
use super::git_index::{self, OBJECT_BYTES};
use super::{git_paths, packed_refs};

const CLOCK_TICK: Duration = Duration::from_millis(50);

/// The longest file whose content is looked at; of a longer one the rest counts by its change time.
pub(super) const MAX_BYTES: u64 = 16 << 20;

/// The largest index that is read: no command can write a larger file.
const MAX_INDEX_BYTES: u64 = 1 << 30;

/// The facts of a file as long as its status stays the same.
#[derive(Debug, Clone, Default)]
struct Known {
    status: Status,
    digest: Option<String>,
    config: Option<Arc<GitConfig>>,
    names: Option<Arc<Names>>,
    forbidden_paths: Option<Option<String>>,
    forbidden_refs: Option<Option<String>>,
    /// Whether the last inspection asked for it.
    is_used: bool,
}

/// The entries of a directory.
#[derive(Debug, Default)]
struct Names {
    all: Arc<Vec<OsString>>,
    links: Arc<Vec<OsString>>,
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
        let handle = self.handles[root].1.as_fd();
        match stat_long(handle, path) {
            Err(Errno::ACCESS) => {
                self.allow(root, path.parent()?);
                stat_long(handle, path).ok()
            }
            found => found.ok(),
        }
    }

    /// Gives the owner back what it needs to look into a directory and those above it. True if something was
    /// missing and is there now.
    pub(super) fn allow(&self, root: usize, path: &Path) -> bool {
        let mut above: Vec<&Path> = path.ancestors().collect();
        above.reverse();
        let allow = |part: &Path| {
            open_long(self.handles[root].1.as_fd(), part, OFlags::PATH | OFlags::NOFOLLOW)
                .is_ok_and(|entry| allow_owner(&entry))
        };
        // All of them, also after the first.
        above.into_iter().filter(|part| allow(part)).count() > 0
    }

    /// Whether the nearest working tree of git around a path has been made since.
    pub(super) fn is_in_new_clone(&self, root: usize, path: &Path, since: SystemTime) -> bool {
        let has_git = |above: &&Path| self.stat(root, &above.join(".git")).is_some();
        let Some(top) = path.ancestors().skip(1).find(has_git) else { return false };
        let Ok(handle) = open_long(self.handles[root].1.as_fd(), top, OFlags::PATH) else { return false };
        let status = statx(&handle, "", AtFlags::EMPTY_PATH, StatxFlags::BTIME);
        let made = status
            .ok()
            .filter(|status| StatxFlags::from_bits_retain(status.stx_mask).contains(StatxFlags::BTIME));
        made.is_some_and(|made| {
            let seconds = u64::try_from(made.stx_btime.tv_sec).unwrap_or(0);
            UNIX_EPOCH + Duration::new(seconds, made.stx_btime.tv_nsec) >= since
        })
    }

    /// Whether the server's user, and with it a command, can get into a directory or give itself the right.
    pub(super) fn may_enter(&self, root: usize, path: &Path) -> bool {
        let Some(stat) = self.stat(root, path) else { return false };
        let Some(directory) = open_long(self.handles[root].1.as_fd(), path, OFlags::PATH).ok() else {
            return true;
        };
        stat.st_uid == rustix::process::geteuid().as_raw()
            || rustix::fs::accessat(&directory, ".", Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS)
                .is_ok()
    }

    /// Opens an entry itself. What its owner took away from itself is given back first.
    pub(super) fn open_entry(&self, root: usize, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
        let open = |path: &Path, flags: OFlags| {
            // The kernel refuses the other flags together with O_PATH.
            let opening = if flags.contains(OFlags::PATH) {
                OFlags::empty()
            } else {
                OFlags::NONBLOCK | OFlags::NOCTTY
            };
            open_long(self.handles[root].1.as_fd(), path, flags | opening | OFlags::NOFOLLOW)
        };
        match open(path, flags) {
            Err(Errno::ACCESS) => {
                self.allow(root, path);
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
        let link =
            open_long(self.handles[root].1.as_fd(), path.parent()?, OFlags::PATH | OFlags::DIRECTORY).ok()?;
        let target = readlinkat(&link, path.file_name()?, Vec::new()).ok()?;
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

    /// The SHA-256 of the paths in an index that git must not write; none if there are none. An error if they
    /// cannot be read.
    pub(super) fn forbidden_paths(
        &mut self,
        root: usize,
        path: &Path,
        stat: &Stat,
    ) -> io::Result<Option<String>> {
        if let Some(forbidden) = self.known(stat).forbidden_paths.clone() {
            return Ok(forbidden);
        }
        let file = File::from(self.open_entry(root, path, OFlags::RDONLY)?);
        let size = file.metadata()?.len();
        if size > MAX_INDEX_BYTES {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let forbidden = forbidden_paths(&file, size)?;
        self.remember(stat, |known| known.forbidden_paths = Some(forbidden.clone()));
        Ok(forbidden)
    }

    /// The SHA-256 of the lines in a file of packed references that lead elsewhere, if there are any; none if
    /// the file cannot be read whole.
    pub(super) fn forbidden_refs(&mut self, root: usize, path: &Path, stat: &Stat) -> Option<Option<String>> {
        if let Some(forbidden) = self.known(stat).forbidden_refs.clone() {
            return Some(forbidden);
        }
        if u64::try_from(stat.st_size).ok()? > MAX_BYTES {
            return None;
        }
        let lines = packed_refs::forbidden(&self.read(root, path).ok()?);
        let forbidden = (!lines.is_empty()).then(|| protocol::hash::sha256(&lines));
        self.remember(stat, |known| known.forbidden_refs = Some(forbidden.clone()));
        Some(forbidden)
    }

    /// The names in a directory; none if it is no directory or cannot be read.
    pub(super) fn names(&mut self, root: usize, path: &Path) -> Option<Arc<Vec<OsString>>> {
        self.entries(root, path).map(|names| Arc::clone(&names.all))
    }

    /// Those of them that are links.
    pub(super) fn links(&mut self, root: usize, path: &Path) -> Option<Arc<Vec<OsString>>> {
        self.entries(root, path).map(|names| Arc::clone(&names.links))
    }

    fn entries(&mut self, root: usize, path: &Path) -> Option<Arc<Names>> {
        let stat = self.stat(root, path)?;
        if let Some(names) = &self.known(&stat).names {
            return Some(Arc::clone(names));
        }
        let directory = self.open_directory(root, path).ok()?;
        let (mut all, mut links) = (Vec::new(), Vec::new());
        for entry in Dir::read_from(&directory).ok()? {
            let entry = entry.ok()?;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                let name = OsStr::from_bytes(name).to_owned();
                if matches!(entry.file_type(), FileType::Symlink | FileType::Unknown) {
                    links.push(name.clone());
                }
                all.push(name);
            }
        }
        all.sort();
        let names = Arc::new(Names { all: Arc::new(all), links: Arc::new(links) });
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
        self.roots.locate(&base.join(rest))
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

/// As git reads an index, with names of objects of either length: it must be right for one of them.
fn forbidden_paths(file: &File, size: u64) -> io::Result<Option<String>> {
    let mut result = Err(io::ErrorKind::InvalidData.into());
    for object_bytes in OBJECT_BYTES {
        let mut forbidden = Sha256::new();
        let mut any = false;
        let mut take = |path: &[u8]| {
            if git_paths::is_forbidden(path) {
                forbidden.update(path);
                forbidden.update([0]);
                any = true;
            }
        };
        let mut start = file;
        start.rewind()?;
        if git_index::read_paths(BufReader::with_capacity(1 << 16, start), size, object_bytes, &mut take)
            .is_ok()
        {
            let digest = any.then(|| protocol::hash::in_hex(&forbidden.finalize()));
            if digest.is_some() || result.is_err() {
                result = Ok(digest);
            }
        }
    }
    result
}

/// Gives the owner back what it needs to look at an entry and to move it; it fails for what others own. True
/// if something was missing and is there now.
pub(super) fn allow_owner(entry: &OwnedFd) -> bool {
    let Ok(stat) = fstat(entry) else { return false };
    let needed = match type_of(&stat) {
        FileType::Directory => 0o700,
        FileType::RegularFile => 0o600,
        _ => return false,
    };
    let path = format!("/proc/self/fd/{}", entry.as_raw_fd());
    let allowed = PermissionsExt::from_mode((stat.st_mode & 0o7777) | needed);
    stat.st_mode & needed != needed && std::fs::set_permissions(path, allowed).is_ok()
}

fn status(stat: &Stat) -> Status {
    (stat.st_ctime, stat.st_ctime_nsec, stat.st_size)
}

fn has_settled(stat: &Stat) -> bool {
    let changed =
        Duration::from_secs(stat.st_ctime.try_into().unwrap_or(0)) + Duration::from_nanos(stat.st_ctime_nsec);
    SystemTime::now().duration_since(UNIX_EPOCH + changed).is_ok_and(|age| age > CLOCK_TICK)
}
