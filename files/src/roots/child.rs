//! Opening and making what an open directory holds, without following any link.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{Mode, OFlags, ResolveFlags, mkdirat, openat2};
use rustix::io::Errno;
use rustix::path::Arg;

/// Opens what a path beneath a directory names, and follows no link in it.
pub(super) fn open_without_links(
    directory: impl AsFd,
    beneath: impl Arg,
    flags: OFlags,
) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    openat2(directory, beneath, flags | OFlags::CLOEXEC, Mode::empty(), resolve)
}

/// Opens a directory by its name in another one, and follows no link.
pub fn open_child_directory(parent: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd, Errno> {
    open_without_links(parent, name, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NONBLOCK | OFlags::NOFOLLOW)
}

/// Opens a file beneath a directory, to read it; the caller must check that it is no pipe or device.
pub fn open_child_file(directory: BorrowedFd<'_>, beneath: &Path) -> Result<OwnedFd, Errno> {
    open_without_links(directory, beneath, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY)
}

/// Makes a directory in another one; false if there is something of this name already.
pub fn make_child_directory(parent: impl AsFd, name: impl Arg, mode: u32) -> Result<bool, Errno> {
    match mkdirat(parent, name, Mode::from_raw_mode(mode)) {
        Ok(()) => Ok(true),
        Err(Errno::EXIST) => Ok(false),
        Err(errno) => Err(errno),
    }
}

/// A path that can be opened beneath a directory: an empty one is the directory itself.
pub(super) fn or_here(path: &Path) -> &Path {
    if path.as_os_str().is_empty() { Path::new(".") } else { path }
}
