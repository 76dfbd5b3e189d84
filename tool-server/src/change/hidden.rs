//! Deleting what is hidden by its name, with everything in it: nothing of it is read or kept.
//!
//! Commands and the other tools see nothing of it, so this is the only way for a caller to free its space or
//! to remove the directory that it is in.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;

use protocol::ToolError;
use rustix::fs::{AtFlags, Dir, FileType, RenameFlags, fstat, renameat_with, unlinkat};
use rustix::io::Errno;
use toolkit::arguments::invalid;
use toolkit::{Call, PartialReason, Success};

use super::changer::Changer;
use super::error::io_error;
use super::request::{ChangeData, ChangeRequest, Operation};
use crate::roots::{Entry, names, open_child_directory};

/// How many entries are removed between two looks at the deadline.
const ENTRIES_PER_CHECK: usize = 1000;

impl Changer {
    pub(super) fn delete_hidden(
        &self,
        call: &Call,
        request: &ChangeRequest<'_>,
        entry: &Entry,
    ) -> Result<Success<ChangeData>, ToolError> {
        if request.expected_sha256.is_some() {
            return Err(invalid("The content of what is hidden is not compared with `expected_sha256`."));
        }
        if !request.dry_run {
            let mut removal = Removal { call, removed: 0 };
            removal.remove(entry).map_err(|stopped| match stopped {
                Stopped::ByCall(error) => error,
                Stopped::ByKernel(errno) => io_error(request.path, "deleted", &errno.into()),
            })?;
            let parent =
                entry.parent.try_clone().map_err(|error| io_error(request.path, "deleted", &error))?;
            self.sync(&File::from(parent)).map_err(|error| error.into_tool_error(request.path))?;
        }
        let shown = names::path_to_text(&entry.path);
        let verb = if request.dry_run { "would be deleted" } else { "deleted" };
        let notice = "It is hidden (AUTONOUS_TOOL_DENY_PATHS), so nothing of it was read or kept: \
                      this cannot be undone.";
        Ok(Success {
            stdout: format!("{shown} {verb} with all that is in it\n"),
            partial: request.dry_run.then_some(PartialReason::DryRun),
            path_resolved: Some(shown),
            notices: vec![notice.to_owned()],
            data: ChangeData {
                operation: Operation::Delete,
                dry_run: request.dry_run,
                ..ChangeData::default()
            },
            ..Success::default()
        })
    }
}

enum Stopped {
    ByCall(ToolError),
    ByKernel(Errno),
}

impl From<Errno> for Stopped {
    fn from(errno: Errno) -> Self {
        Self::ByKernel(errno)
    }
}

struct Removal<'a> {
    call: &'a Call,
    removed: usize,
}

impl Removal<'_> {
    fn remove(&mut self, entry: &Entry) -> Result<(), Stopped> {
        if entry.file_type != FileType::Directory {
            return Ok(unlinkat(&entry.parent, &entry.name, AtFlags::empty())?);
        }
        let top = open(entry.parent.as_fd(), &entry.name)?;
        loop {
            match unlinkat(&entry.parent, &entry.name, AtFlags::REMOVEDIR) {
                // What a command puts in meanwhile goes, too.
                Err(Errno::NOTEMPTY | Errno::EXIST) => self.clear(&top)?,
                removed => return Ok(removed?),
            }
        }
    }

    /// Empties a directory. What is deep in it is first moved up, so that no depth is too much.
    fn clear(&mut self, top: &OwnedFd) -> Result<(), Stopped> {
        for name in entries(top)? {
            if self.is_gone(top.as_fd(), &name)? {
                continue;
            }
            let directory = open(top.as_fd(), &name)?;
            for below in entries(&directory)? {
                if !self.is_gone(directory.as_fd(), &below)? {
                    self.move_up(&directory, &below, top)?;
                }
            }
        }
        Ok(())
    }

    /// Removes an entry; false for a directory that is not empty.
    fn is_gone(&mut self, directory: BorrowedFd<'_>, name: &OsStr) -> Result<bool, Stopped> {
        self.removed += 1;
        if self.removed.is_multiple_of(ENTRIES_PER_CHECK) {
            self.call.check().map_err(Stopped::ByCall)?;
        }
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

    fn move_up(&mut self, from: &OwnedFd, name: &OsStr, top: &OwnedFd) -> Result<(), Stopped> {
        // Moving a directory writes to it.
        drop(open(from.as_fd(), name)?);
        loop {
            self.removed += 1;
            let target = format!(".autonous-{}-{}", self.call.id, self.removed);
            match renameat_with(from, name, top, target, RenameFlags::NOREPLACE) {
                Err(Errno::EXIST) => self.call.check().map_err(Stopped::ByCall)?,
                moved => return Ok(moved?),
            }
        }
    }
}

/// Opens a directory and gives its owner the rights to empty it.
fn open(parent: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd, Errno> {
    let opened = open_child_directory(parent, name);
    let handle = match opened {
        Err(Errno::ACCESS) => {
            allow(parent, name)?;
            open_child_directory(parent, name)?
        }
        opened => opened?,
    };
    let mode = fstat(&handle)?.st_mode & 0o7777;
    if mode & 0o700 != 0o700 {
        let mode = std::fs::Permissions::from_mode(mode | 0o700);
        let _ = File::from(handle.try_clone().map_err(|_| Errno::MFILE)?).set_permissions(mode);
    }
    Ok(handle)
}

/// Lets the owner of a directory open it.
fn allow(parent: BorrowedFd<'_>, name: &OsStr) -> Result<(), Errno> {
    use rustix::fs::{Mode, OFlags, openat};
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let place = openat(parent, name, flags, Mode::empty())?;
    let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&place));
    rustix::fs::chmod(path, Mode::RWXU)
}

fn entries(directory: &OwnedFd) -> Result<Vec<OsString>, Errno> {
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
