//! Committing a change: write a temporary file, sync, check the old file once more, rename, sync.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{
    AtFlags, FileType, Gid, Mode, OFlags, RenameFlags, Stat, Uid, XattrFlags, fchmod, fchown, fgetxattr,
    flistxattr, fsetxattr, fstat, openat, renameat_with, statat, unlinkat,
};
use rustix::io::Errno;

use super::changer::Changer;
use super::current_file::{CurrentFile, read_whole};
use super::error::CommitError;
use super::temp_files::{PathLock, TempFileRecord};
use crate::roots::Target;

/// The most bytes that a file's attributes can have together on Linux.
const MAX_XATTR_BYTES: usize = 64 * 1024;

/// A whole new file beside the old one, under a recorded name; deleted when dropped unless it was renamed.
#[derive(Debug)]
pub(super) struct TempFile<'a> {
    parent: &'a OwnedFd,
    record: TempFileRecord<'a>,
    renamed: bool,
}

/// A file as it was before a change.
pub(super) trait Before {
    fn stat(&self) -> &Stat;

    /// Whether the file, which is still the same one, has the content that it had.
    fn has_content_of(&self, file: &OwnedFd) -> io::Result<bool>;
}

impl Before for CurrentFile {
    fn stat(&self) -> &Stat {
        &self.stat
    }

    fn has_content_of(&self, file: &OwnedFd) -> io::Result<bool> {
        let Some(content) = &self.content else { return Ok(false) };
        let limit = u64::try_from(content.len()).unwrap_or(u64::MAX);
        Ok(read_whole(file, limit)?.is_some_and(|now| self.is(&now)))
    }
}

impl<'a> TempFile<'a> {
    /// Creates an empty file with the recorded name.
    pub(super) fn create(
        target: &'a Target,
        record: TempFileRecord<'a>,
    ) -> Result<(Self, File), CommitError> {
        let parent = target.parent.as_ref().ok_or(Errno::NOENT)?;
        let temp = TempFile { parent, record, renamed: false };
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = File::from(openat(parent, &temp.record.name, flags, Mode::from_raw_mode(0o666))?);
        Ok((temp, file))
    }
}

impl Drop for TempFile<'_> {
    fn drop(&mut self) {
        if !self.renamed {
            // It may never have been created.
            let _ = unlinkat(self.parent, &self.record.name, AtFlags::empty());
        }
    }
}

impl Changer {
    /// Writes a file's new content beside it; `current` is the file as it was read.
    pub(super) fn write_temp_file<'a>(
        &self,
        lock: &'a mut PathLock<'_>,
        target: &'a Target,
        current: Option<&CurrentFile>,
        content: &[u8],
    ) -> Result<TempFile<'a>, CommitError> {
        let (temp, mut file) = TempFile::create(target, lock.record(&target.path)?)?;
        file.write_all(content)?;
        if let (Some(existing), Some(current)) = (&target.existing, current) {
            keep_attributes(existing, &current.stat, file.as_fd())?;
        }
        self.sync(&file)?;
        Ok(temp)
    }

    /// Renames the new file over the old one, which must be unchanged since it was read.
    pub(super) fn rename_into_place(
        &self,
        mut temp: TempFile<'_>,
        target: &Target,
        current: Option<&impl Before>,
    ) -> Result<(), CommitError> {
        let (parent, new) = (temp.parent, &temp.record.name);
        match current {
            Some(current) => {
                require_unchanged(parent, target, current)?;
                renameat_with(parent, new, parent, &target.name, RenameFlags::empty())?;
            }
            None => match renameat_with(parent, new, parent, &target.name, RenameFlags::NOREPLACE) {
                Err(Errno::EXIST) => return Err(CommitError::Appeared),
                renamed => renamed?,
            },
        }
        temp.renamed = true;
        self.sync(&File::from(parent.try_clone()?))
    }

    /// Appends to a file in place; a partial append is undone.
    pub(super) fn append(
        &self,
        target: &Target,
        current: &CurrentFile,
        tail: &[u8],
    ) -> Result<(), CommitError> {
        let parent = target.parent.as_ref().ok_or(Errno::NOENT)?;
        let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let mut file = File::from(openat(parent, &target.name, flags, Mode::empty())?);
        let stat = fstat(&file)?;
        if (stat.st_dev, stat.st_ino, stat.st_nlink) != (current.stat.st_dev, current.stat.st_ino, 1) {
            return Err(CommitError::Changed);
        }
        if let Err(error) = file.write_all(tail) {
            file.set_len(u64::try_from(stat.st_size).unwrap_or(0))?;
            return Err(error.into());
        }
        self.sync(&file)
    }

    /// Deletes a file that is unchanged since it was read.
    pub(super) fn remove(&self, target: &Target, current: &CurrentFile) -> Result<(), CommitError> {
        let parent = target.parent.as_ref().ok_or(Errno::NOENT)?;
        require_unchanged(parent, target, current)?;
        unlinkat(parent, &target.name, AtFlags::empty())?;
        self.sync(&File::from(parent.try_clone()?))
    }
}

/// Checks that the same file is unchanged; a touch is no change: where metadata differs, the content decides.
fn require_unchanged(parent: &OwnedFd, target: &Target, before: &impl Before) -> Result<(), CommitError> {
    let now = match statat(parent, &target.name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(now) => now,
        Err(Errno::NOENT) => return Err(CommitError::Changed),
        Err(errno) => return Err(errno.into()),
    };
    let then = before.stat();
    if same_metadata(&now, then) {
        return Ok(());
    }
    let is_same_file = (now.st_dev, now.st_ino) == (then.st_dev, then.st_ino)
        && FileType::from_raw_mode(now.st_mode) == FileType::RegularFile;
    match &target.existing {
        Some(existing) if is_same_file && before.has_content_of(existing)? => Ok(()),
        _ => Err(CommitError::Changed),
    }
}

pub(super) fn same_metadata(left: &Stat, right: &Stat) -> bool {
    let key = |stat: &Stat| {
        (
            stat.st_dev,
            stat.st_ino,
            stat.st_size,
            stat.st_mtime,
            stat.st_mtime_nsec,
            stat.st_ctime,
            stat.st_ctime_nsec,
        )
    };
    key(left) == key(right)
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
