//! What a command of tier A must not see or not change in the roots is covered by a mount.
//!
//! Each file is opened without following links, and it must be the one that the server meant: otherwise a
//! rename between the server's look and the mount would leave the file open to the command.

use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::path::Path;

use rustix::fs::{FileType, fstat};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};

use super::mounts;
use super::system_mounts::MASKS;
use crate::command::{Cover, CoverKind};
use crate::step::{During as _, Failure, Step};

/// Mounts the covers in their order.
pub(super) fn mount(covers: &[Cover]) -> Result<(), Failure> {
    if covers.is_empty() {
        return Ok(());
    }
    let root = mounts::open(Path::new("/")).during(Step::Covers)?;
    for cover in covers {
        let moved = || Failure::CoverMoved(cover.path.clone());
        let (place, file_type) = open(&root, cover).during(Step::Covers)?.ok_or_else(moved)?;
        if file_type.is_socket() && is_dead(&place).during(Step::Covers)? {
            continue;
        }
        match attach(cover.kind, &place, file_type.is_dir()) {
            // It was removed since it was opened.
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => return Err(moved()),
            attached => attached.during(Step::Covers)?,
        }
    }
    Ok(())
}

/// The file to cover and what it is; none if it is gone or another one.
fn open(root: &OwnedFd, cover: &Cover) -> io::Result<Option<(OwnedFd, FileType)>> {
    let place = match mounts::open_without_links(root.as_fd(), mounts::relative(&cover.path)) {
        Err(Errno::NOENT | Errno::LOOP | Errno::NOTDIR) => return Ok(None),
        other => other?,
    };
    let found = fstat(&place)?;
    let is_meant = (found.st_dev, found.st_ino) == (cover.device, cover.inode);
    Ok(is_meant.then_some((place, FileType::from_raw_mode(found.st_mode))))
}

/// Whether a socket has lost its listener. It gets no other one: a name is bound once. Without a cover, a
/// command can remove what an earlier one left.
fn is_dead(place: &OwnedFd) -> io::Result<bool> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    let itself = SocketAddrUnix::new(format!("/proc/self/fd/{}", place.as_raw_fd()))?;
    Ok(connect(&socket, &itself) == Err(Errno::CONNREFUSED))
}

fn attach(kind: CoverKind, place: &OwnedFd, is_directory: bool) -> io::Result<()> {
    let cover = match kind {
        CoverKind::Hide => {
            let mask = Path::new(if is_directory { MASKS.1 } else { MASKS.0 });
            mounts::restricted_copy(mounts::open(mask)?, mounts::READ_ONLY)?
        }
        CoverKind::ReadOnly => mounts::restricted_copy(place, mounts::READ_ONLY)?,
        // A mount point cannot be renamed: without that, `mv .git x; cp -r x .git` would leave the read-only
        // parts of the repository behind.
        CoverKind::Pin => mounts::restricted_copy(place, mounts::READ_WRITE)?,
    };
    Ok(mounts::attach(cover, place)?)
}
