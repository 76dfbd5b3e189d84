//! The verbs of mounting, all by descriptor: what was checked is what is mounted.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MoveMountFlags, OpenTreeFlags, fsconfig_create,
    fsconfig_set_string, fsmount, fsopen, move_mount, open_tree,
};

use crate::calls;

/// For what commands may only read: no writing, no setuid, no devices.
pub const READ_ONLY: u64 = libc::MOUNT_ATTR_RDONLY | READ_WRITE;
/// For what commands may change: no setuid, no devices.
pub const READ_WRITE: u64 = libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;
/// For device files.
pub const DEVICE: u64 = libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NOEXEC;

/// How many bytes of its bound each file of a file system in memory counts for.
const BYTES_AN_ENTRY: u64 = 4096;

type Result<T> = rustix::io::Result<T>;

/// Opens a place without looking into it.
pub fn place(path: &Path) -> Result<OwnedFd> {
    openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
}

/// Opens a place beneath a directory (`/` for the whole tree) without following any link.
pub fn place_without_links(directory: BorrowedFd<'_>, path: &Path) -> Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    openat2(directory, path, flags, Mode::empty(), ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS)
}

/// A copy of the mounts at a place, attached nowhere yet.
pub fn copy(place: impl AsFd) -> Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_EMPTY_PATH
        | OpenTreeFlags::AT_RECURSIVE;
    open_tree(place, "", flags)
}

/// A copy with less right than the original, in all that lies beneath too.
pub fn restricted_copy(place: impl AsFd, attributes: u64) -> std::io::Result<OwnedFd> {
    let tree = copy(place)?;
    calls::set_mount_attributes(tree.as_fd(), attributes, true)?;
    Ok(tree)
}

/// Attaches a tree at a place.
pub fn attach(tree: impl AsFd, place: impl AsFd) -> Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    move_mount(tree, "", place, "", flags)
}

/// A new file system in memory, attached nowhere yet.
pub fn memory(bytes: u64, mode: &str) -> Result<OwnedFd> {
    let context = fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_set_string(&context, "size", bytes.to_string())?;
    // Entries without content take memory too.
    fsconfig_set_string(&context, "nr_inodes", (bytes / BYTES_AN_ENTRY).to_string())?;
    fsconfig_set_string(&context, "mode", mode)?;
    fsconfig_create(&context)?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)
}

/// A `/proc` of this process id namespace, attached nowhere yet.
pub fn processes() -> Result<OwnedFd> {
    let context = fsopen("proc", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(&context)?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID
        | MountAttrFlags::MOUNT_ATTR_NODEV
        | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)
}

/// Makes a directory and its parents beneath a directory; what exists is left as it is.
pub fn make_directories(beneath: BorrowedFd<'_>, path: &Path) -> Result<()> {
    let mut so_far = std::path::PathBuf::new();
    for part in path.components() {
        so_far.push(part);
        match rustix::fs::mkdirat(beneath, &so_far, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => {}
            // The tree above is read-only: then the directory is there, or attaching will say it is not.
            Err(Errno::ROFS | Errno::ACCESS) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

/// A path without its leading slash, as it is named beneath a new root.
pub fn beneath_root(path: &Path) -> &Path {
    path.strip_prefix("/").unwrap_or(path)
}
