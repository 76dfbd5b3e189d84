//! Removing a directory with all that commands put into it: however deep, full or closed it is.
//!
//! It walks by descriptor and holds three of them at most. Directories deep in the tree are moved up to its
//! top first, so that no depth is too much for the stack, for the number of open files or for a path.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;

use rustix::fs::{
    AtFlags, Dir, Mode, OFlags, RenameFlags, ResolveFlags, fchmod, fstat, openat, openat2, renameat_with,
    unlinkat,
};
use rustix::io::Errno;

/// Removes an entry of a directory, with all that is in it, also what appears meanwhile. It follows no link,
/// and gives the owner of a closed directory the rights to empty it.
///
/// `before_each` is asked before each entry; its error ends the removal.
pub fn remove_tree<E: From<Errno>>(
    parent: BorrowedFd<'_>,
    name: &OsStr,
    before_each: impl FnMut() -> Result<(), E>,
) -> Result<(), E> {
    let mut removal = Removal { before_each, moved: 0 };
    if removal.is_gone(parent, name)? {
        return Ok(());
    }
    let top = open_for_owner(parent, name)?;
    loop {
        removal.clear(&top)?;
        match unlinkat(parent, name, AtFlags::REMOVEDIR) {
            Err(Errno::NOTEMPTY | Errno::EXIST) => {}
            removed => return Ok(removed?),
        }
    }
}

struct Removal<F> {
    before_each: F,
    moved: u64,
}

impl<E: From<Errno>, F: FnMut() -> Result<(), E>> Removal<F> {
    fn clear(&mut self, top: &OwnedFd) -> Result<(), E> {
        for name in entries(top)? {
            if self.is_gone(top.as_fd(), &name)? {
                continue;
            }
            let directory = open_for_owner(top.as_fd(), &name)?;
            for below in entries(&directory)? {
                if !self.is_gone(directory.as_fd(), &below)? {
                    self.move_up(&directory, &below, top)?;
                }
            }
        }
        Ok(())
    }

    /// Removes an entry; false for a directory that is not empty.
    fn is_gone(&mut self, directory: BorrowedFd<'_>, name: &OsStr) -> Result<bool, E> {
        (self.before_each)()?;
        match unlinkat(directory, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => return Ok(true),
            Err(Errno::ISDIR | Errno::PERM) => {}
            Err(errno) => return Err(errno.into()),
        }
        match unlinkat(directory, name, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => Ok(true),
            Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(false),
            Err(errno) => Err(errno.into()),
        }
    }

    fn move_up(&mut self, from: &OwnedFd, name: &OsStr, top: &OwnedFd) -> Result<(), E> {
        // Moving a directory writes to it.
        drop(open_for_owner(from.as_fd(), name)?);
        loop {
            self.moved += 1;
            match renameat_with(from, name, top, format!(".removed-{}", self.moved), RenameFlags::NOREPLACE) {
                Err(Errno::EXIST) => (self.before_each)()?,
                moved => return Ok(moved?),
            }
        }
    }
}

/// Opens a directory, and gives its owner the rights to read, enter and empty it.
pub fn open_for_owner(parent: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    let opened = openat2(parent, name, flags, Mode::empty(), resolve);
    let handle = match opened {
        Err(Errno::ACCESS) => {
            allow(parent, name)?;
            openat2(parent, name, flags, Mode::empty(), resolve)?
        }
        opened => opened?,
    };
    let mode = Mode::from_raw_mode(fstat(&handle)?.st_mode & 0o7777);
    if !mode.contains(Mode::RWXU) {
        let _ = fchmod(&handle, mode | Mode::RWXU);
    }
    Ok(handle)
}

/// Lets the owner of a directory open it.
fn allow(parent: BorrowedFd<'_>, name: &OsStr) -> Result<(), Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let place = openat(parent, name, flags, Mode::empty())?;
    rustix::fs::chmod(format!("/proc/self/fd/{}", place.as_raw_fd()), Mode::RWXU)
}

/// The names in a directory.
pub fn entries(directory: &OwnedFd) -> Result<Vec<OsString>, Errno> {
    let mut names = Vec::new();
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            names.push(OsStr::from_bytes(name).to_owned());
        }
    }
    Ok(names)
}
