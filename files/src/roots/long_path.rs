//! Paths of any length beneath a directory's handle, through no link. The kernel takes 4095 bytes at once,
//! and a command that changes its directory step by step can leave what lies deeper.

use std::ffi::OsStr;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::fs::{AtFlags, OFlags, Stat, statat};
use rustix::io::Errno;

use super::child::{open_without_links, or_here};

/// How much of a path is opened at once.
const MAX_PART_BYTES: usize = 3500;

/// Opens what a path names, piece by piece where it is long.
pub fn open_long(root: BorrowedFd<'_>, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let (mut directory, mut rest): (Option<OwnedFd>, &Path) = (None, path);
    loop {
        let from = directory.as_ref().map_or(root, |directory| directory.as_fd());
        let Some((first, then)) = split(rest) else {
            return open_without_links(from, or_here(rest), flags);
        };
        let next = open_without_links(from, first, OFlags::PATH | OFlags::DIRECTORY)?;
        (directory, rest) = (Some(next), then);
    }
}

/// What a path names itself.
pub fn stat_long(root: BorrowedFd<'_>, path: &Path) -> Result<Stat, Errno> {
    let (Some(_), Some(parent), Some(name)) = (split(path), path.parent(), path.file_name()) else {
        return statat(root, or_here(path), AtFlags::SYMLINK_NOFOLLOW);
    };
    let parent = open_long(root, parent, OFlags::PATH | OFlags::DIRECTORY)?;
    statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW)
}

/// A beginning that can be opened at once, and the rest, if the whole cannot.
fn split(path: &Path) -> Option<(&Path, &Path)> {
    let bytes = path.as_os_str().as_bytes();
    let end = bytes.get(..MAX_PART_BYTES)?.iter().rposition(|byte| *byte == b'/')?;
    let part = |bytes| Path::new(OsStr::from_bytes(bytes));
    Some((part(&bytes[..end]), part(&bytes[end + 1..])))
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use rustix::fs::{Mode, fstat, mkdirat};

    use super::*;

    #[test]
    fn what_lies_deeper_than_a_path_can_name_is_found() {
        let top = tempfile::tempdir().unwrap();
        let root: OwnedFd = File::open(top.path()).unwrap().into();
        let name = "d".repeat(240);
        let mut path = std::path::PathBuf::new();
        let mut below = root.try_clone().unwrap();
        for _ in 0..40 {
            mkdirat(&below, &name, Mode::from_raw_mode(0o755)).unwrap();
            path.push(&name);
            let found = open_long(root.as_fd(), &path, OFlags::RDONLY).unwrap();
            let (found_stat, stat) = (fstat(&found).unwrap(), stat_long(root.as_fd(), &path).unwrap());
            assert_eq!((found_stat.st_dev, found_stat.st_ino), (stat.st_dev, stat.st_ino));
            below = found;
        }
        path.push("missing");
        assert_eq!(stat_long(root.as_fd(), &path).err(), Some(Errno::NOENT));
        rustix::fs::symlinkat("/", &below, "missing").unwrap();
        path.push("etc");
        assert!(open_long(root.as_fd(), &path, OFlags::PATH).is_err());
    }
}
