//! The attributes of a file: by which it counts as unchanged, and those that a new file takes over.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::fs::{Gid, Mode, Stat, Uid, XattrFlags, fchmod, fchown, fgetxattr, flistxattr, fsetxattr};
use rustix::io::Errno;

/// The most bytes that a file's attributes can have together on Linux.
const MAX_XATTR_BYTES: usize = 64 * 1024;

/// Whether a file has not changed in between, not even in its attributes.
pub(super) fn same_metadata(left: &Stat, right: &Stat) -> bool {
    let key = |stat: &Stat| (content_metadata(stat), (stat.st_ctime, stat.st_ctime_nsec));
    key(left) == key(right)
}

/// What changes with a file's content, unless somebody sets the time back.
pub(super) fn content_metadata(stat: &Stat) -> impl PartialEq + use<> {
    (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime, stat.st_mtime_nsec)
}

/// Copies the owner, mode and user attributes of the old file, but never a set-id bit.
pub(super) fn keep_attributes(old: &OwnedFd, stat: &Stat, new: BorrowedFd<'_>) -> io::Result<()> {
    // Only root can give a file away; for other users the owner is the same already, or stays theirs.
    let _ = fchown(new, Some(Uid::from_raw(stat.st_uid)), Some(Gid::from_raw(stat.st_gid)));
    fchmod(new, Mode::from_raw_mode(stat.st_mode & 0o777))?;
    match keep_user_xattrs(old, new) {
        Err(Errno::NOTSUP) => Ok(()),
        copied => Ok(copied?),
    }
}

fn keep_user_xattrs(old: &OwnedFd, new: BorrowedFd<'_>) -> Result<(), Errno> {
    let mut names = vec![0_u8; 4096];
    let length = match flistxattr(old, names.as_mut_slice()) {
        Err(Errno::RANGE) => {
            names.resize(MAX_XATTR_BYTES, 0);
            flistxattr(old, names.as_mut_slice())?
        }
        listed => listed?,
    };
    let user = names[..length].split(|byte| *byte == 0).filter(|name| name.starts_with(b"user."));
    for name in user {
        let mut value = vec![0_u8; MAX_XATTR_BYTES];
        let length = fgetxattr(old, name, value.as_mut_slice())?;
        fsetxattr(new, name, &value[..length], XattrFlags::empty())?;
    }
    Ok(())
}
