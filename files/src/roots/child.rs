//! Opening what an open directory holds, without following any link.

use std::ffi::OsStr;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;

const RESOLVE: ResolveFlags = ResolveFlags::BENEATH.union(ResolveFlags::NO_SYMLINKS);

/// Opens a directory by its name in another one, and follows no link.
pub fn open_child_directory(parent: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat2(parent, name, flags, Mode::empty(), RESOLVE)
}

/// Opens a file beneath a directory, to read it; the caller must check that it is no pipe or device.
pub fn open_child_file(directory: BorrowedFd<'_>, beneath: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    openat2(directory, beneath, flags, Mode::empty(), RESOLVE)
}
