//! Mount operations, all by descriptor: the checked file is the mounted one.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MoveMountFlags, OpenTreeFlags, fsconfig_create,
    fsconfig_set_string, fsmount, fsopen, move_mount, open_tree,
};

use crate::syscalls;

/// For what commands may only read: no writing, no setuid, no devices.
pub(super) const READ_ONLY: u64 = libc::MOUNT_ATTR_RDONLY | READ_WRITE;
/// For what commands may change: no setuid, no devices.
pub(super) const READ_WRITE: u64 = libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;
pub(super) const DEVICE: u64 = libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NOEXEC;

/// How many bytes of the limit of a tmpfs each file counts for.
const BYTES_PER_FILE: u64 = 4096;

type Result<T> = rustix::io::Result<T>;

/// Opens a path without reading it.
pub(super) fn open(path: &Path) -> Result<OwnedFd> {
    openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
}

/// Opens a path below a directory (`/` for the whole tree) without following any link.
pub(super) fn open_without_links(directory: BorrowedFd<'_>, path: &Path) -> Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    openat2(directory, path, flags, Mode::empty(), ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS)
}

/// Copies the mounts at a path; the copy is not attached anywhere yet.
pub(super) fn copy(place: impl AsFd) -> Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_EMPTY_PATH
        | OpenTreeFlags::AT_RECURSIVE;
    open_tree(place, "", flags)
}

/// Copies the mounts at a path with fewer rights, also for the mounts below it.
pub(super) fn restricted_copy(place: impl AsFd, attributes: u64) -> std::io::Result<OwnedFd> {
    let tree = copy(place)?;
    syscalls::set_mount_attributes(tree.as_fd(), attributes, true)?;
    Ok(tree)
}

pub(super) fn attach(tree: impl AsFd, place: impl AsFd) -> Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    move_mount(tree, "", place, "", flags)
}

/// Creates a file system in memory, not attached anywhere yet.
pub(super) fn tmpfs(bytes: u64, mode: &str) -> Result<OwnedFd> {
    // Empty files take memory too.
    let files = (bytes / BYTES_PER_FILE).to_string();
    let settings = [("size", &*bytes.to_string()), ("nr_inodes", &files), ("mode", mode)];
    file_system("tmpfs", &settings, MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV)
}

/// Creates a `/proc` of this PID namespace, not attached anywhere yet.
pub(super) fn procfs() -> Result<OwnedFd> {
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID
        | MountAttrFlags::MOUNT_ATTR_NODEV
        | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    file_system("proc", &[], attributes)
}

/// Creates terminals of their own, at most as many as this, not attached anywhere yet.
pub(super) fn terminals(most: u32) -> Result<OwnedFd> {
    let settings = [("ptmxmode", "0666"), ("mode", "0600"), ("max", &*most.to_string())];
    file_system("devpts", &settings, MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NOEXEC)
}

fn file_system(kind: &str, settings: &[(&str, &str)], attributes: MountAttrFlags) -> Result<OwnedFd> {
    let context = fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
    for (name, value) in settings {
        fsconfig_set_string(&context, *name, *value)?;
    }
    fsconfig_create(&context)?;
    fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)
}

/// Creates a directory and its parents below a directory; existing ones stay as they are.
pub(super) fn make_directories(directory: BorrowedFd<'_>, path: &Path) -> Result<()> {
    let mut so_far = std::path::PathBuf::new();
    for part in path.components() {
        so_far.push(part);
        match rustix::fs::mkdirat(directory, &so_far, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => {}
            // The tree above is read-only: the directory exists, or attaching will fail.
            Err(Errno::ROFS | Errno::ACCESS) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

/// Creates a file below a directory.
pub(super) fn create_file(directory: impl AsFd, path: &Path, mode: Mode) -> Result<File> {
    openat(directory, path, OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC, mode).map(File::from)
}

/// An absolute path without its leading slash, so that it can be opened below a new root.
pub(super) fn relative(path: &Path) -> &Path {
    path.strip_prefix("/").unwrap_or(path)
}
