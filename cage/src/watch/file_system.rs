//! What the index asks the file system, beneath the roots' handles and through no link.

use std::ffi::OsStr;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use files::roots::{open_long, stat_long};
use rustix::fs::{AtFlags, OFlags, Stat, fstatfs, statat};
use rustix::io::Errno;

use super::tree::Identity;

/// A directory that changed this recently may change again without a new change time: the coarsest clock of
/// a file system has two seconds.
const CLOCK_TICK: Duration = Duration::from_secs(2);

/// Kinds of local file systems, whose every change passes this kernel: ext, XFS, Btrfs, tmpfs, ramfs,
/// overlayfs, ZFS, F2FS, bcachefs, FAT, exFAT, NTFS, SquashFS, EROFS, ISO 9660.
const LOCAL: [u64; 15] = [
    0xef53, 0x5846_5342, 0x9123_683e, 0x0102_1994, 0x8584_58f6, 0x794c_7630, 0x2fc1_2fc1, 0xf2f5_2010,
    0xca45_1a4e, 0x4d44, 0x2011_bab0, 0x7366_746e, 0x7371_7368, 0xe0f5_e1e2, 0x9660,
];

pub(super) fn open(root: BorrowedFd<'_>, path: &Path) -> Result<OwnedFd, Errno> {
    open_long(root, path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::NONBLOCK)
}

pub(super) fn identity(root: BorrowedFd<'_>, path: &Path) -> Result<Identity, Errno> {
    stat_long(root, path).map(|stat| Identity::of(&stat))
}

/// What an entry of an open directory is; none if there is no such entry.
pub(super) fn entry(directory: &OwnedFd, name: &OsStr) -> Result<Option<Stat>, Errno> {
    match statat(directory.as_fd(), name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether others may change this file system without this kernel's knowledge.
pub(super) fn is_remote(directory: &OwnedFd) -> bool {
    fstatfs(directory).is_ok_and(|system| {
        #[expect(clippy::cast_sign_loss, clippy::cast_possible_truncation, reason = "a number of 32 bits")]
        let kind = u64::from(system.f_type as u32);
        !LOCAL.contains(&kind)
    })
}

/// Whether a later change will show in the change time.
pub(super) fn has_settled(identity: Identity) -> bool {
    let seconds = Duration::from_secs(identity.changed_seconds.try_into().unwrap_or(0));
    let changed = seconds + Duration::from_nanos(identity.changed_nanoseconds);
    SystemTime::now().duration_since(UNIX_EPOCH + changed).is_ok_and(|age| age > CLOCK_TICK)
}

/// Whether a failure says that the path now leads elsewhere or nowhere.
pub(super) fn is_gone(error: Errno) -> bool {
    matches!(error, Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV | Errno::AGAIN | Errno::STALE)
}

/// Whether a failure is one of this process, which says nothing about the directory.
pub(super) fn is_ours(error: Errno) -> bool {
    matches!(error, Errno::NOMEM | Errno::MFILE | Errno::NFILE | Errno::INTR)
}
