//! Committing a change: write a temporary file, sync, check the old file once more, rename, sync.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, RenameFlags, Stat, fstat, openat, renameat_with, statat, unlinkat,
};
use rustix::io::Errno;
use toolkit::{Call, Fingerprint};

use super::attributes::{content_metadata, keep_attributes, same_metadata};
use super::changer::Changer;
use super::current_file::{CurrentFile, read_whole, size_and_mtime, size_bytes};
use super::error::CommitError;
use super::file_hash::sha256_of_file;
use super::temp_files::{PathLock, TempFileRecord};
use super::undo::{AppendedFile, Change, KeptChange, KeptContent, Undoable};
use crate::roots::{GitChange, Target};

/// A whole new file beside the old one, under a recorded name; deleted when dropped unless it was renamed.
#[derive(Debug)]
pub(super) struct TempFile<'a> {
    pub(super) parent: &'a OwnedFd,
    record: TempFileRecord<'a>,
    renamed: bool,
}

/// A file as it was before a change.
pub(super) trait Before {
    fn stat(&self) -> &Stat;

    fn size_bytes(&self) -> u64;

    /// Its SHA-256 in hex; `file` is that file.
    fn sha256(&self, file: &OwnedFd) -> io::Result<String>;

    /// Whether the file, which is still the same one, has the content that it had.
    fn has_content_of(&self, file: &OwnedFd) -> io::Result<bool>;
}

impl Before for CurrentFile {
    fn stat(&self) -> &Stat {
        &self.stat
    }

    fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    fn sha256(&self, file: &OwnedFd) -> io::Result<String> {
        match self.fingerprint() {
            Fingerprint::Sha256(sha256) => Ok(sha256.clone()),
            Fingerprint::SizeAndMtime { .. } => Ok(sha256_of_file(file, || Ok(()))?.0),
        }
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

    /// Its name, in the directory of the file that it is for.
    pub(super) fn name(&self) -> &str {
        &self.record.name
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

    /// Renames the new file over the old one, which must be unchanged since it was read. `sha256` is of the
    /// new content.
    pub(super) fn rename_into_place(
        &self,
        call: &Call,
        mut temp: TempFile<'_>,
        target: &Target,
        current: Option<&impl Before>,
        sha256: &str,
    ) -> Result<Undoable, CommitError> {
        let (parent, new, sha256) = (temp.parent, &temp.record.name, sha256.to_owned());
        let held = self.permit_now(&[&target.path])?;
        let kept = match current {
            Some(current) => {
                let kept =
                    self.keep_file(call, target, current, |before| Change::FileReplaced { before, sha256 })?;
                renameat_with(parent, new, parent, &target.name, RenameFlags::empty())?;
                kept
            }
            None => {
                let created = Change::FileCreated { sha256, directories: target.directories_made() };
                let kept = KeptChange::keep(&self.undo, call, &target.path, created, None);
                match renameat_with(parent, new, parent, &target.name, RenameFlags::NOREPLACE) {
                    Err(Errno::EXIST) => return Err(CommitError::Appeared),
                    renamed => renamed?,
                }
                kept
            }
        };
        temp.renamed = true;
        drop(held);
        let undoable = kept.made();
        self.sync(&File::from(parent.try_clone()?))?;
        Ok(undoable)
    }

    /// Judges once more, just before it is made, what a change does for git. Nothing else may come between.
    pub(super) fn permit_now(&self, paths: &[&Path]) -> Result<GitChange<'_>, CommitError> {
        let permitted = self.workspaces.whole().permit_together(paths);
        permitted.map_err(|error| CommitError::Refused(Box::new(error)))
    }

    /// Keeps a file that is about to be replaced or removed, and is unchanged since it was read.
    fn keep_file<'a>(
        &'a self,
        call: &'a Call,
        target: &Target,
        current: &impl Before,
        change: impl FnOnce(KeptContent) -> Change,
    ) -> Result<KeptChange<'a>, CommitError> {
        let parent = target.parent.as_ref().ok_or(Errno::NOENT)?;
        let existing = target.existing.as_ref().ok_or(Errno::NOENT)?;
        let found = require_unchanged(parent, target, current)?;
        if let Err(why) = self.undo.has_room_for(current.size_bytes()) {
            return Ok(KeptChange::impossible(&self.undo, call, why));
        }
        let content = KeptContent { sha256: current.sha256(existing)?, bytes: current.size_bytes() };
        let file = Some((parent, target.name.as_os_str(), existing));
        let kept = KeptChange::keep(&self.undo, call, &target.path, change(content), file);
        // A second name changes the file's ctime, and nothing else.
        let now = statat(parent, &target.name, AtFlags::SYMLINK_NOFOLLOW)?;
        if content_metadata(&now) == content_metadata(&found) { Ok(kept) } else { Err(CommitError::Changed) }
    }

    /// Appends to a file in place; a partial append is undone. `sha256` is of the whole file after it, if
    /// known.
    pub(super) fn append(
        &self,
        call: &Call,
        target: &Target,
        current: &CurrentFile,
        tail: &[u8],
        sha256: Option<&str>,
    ) -> Result<Undoable, CommitError> {
        let bytes_before = current.size_bytes;
        let appended = |fingerprint: &Fingerprint| {
            let bytes = bytes_before + u64::try_from(tail.len()).unwrap_or(0);
            let change = Change::FileAppended(AppendedFile::new(bytes_before, bytes, fingerprint));
            KeptChange::keep(&self.undo, call, &target.path, change, None)
        };
        let kept = sha256.map(|sha256| appended(&Fingerprint::Sha256(sha256.to_owned())));
        let file = self.append_in_place(target, current, tail)?;
        // The time of a large file is known only now.
        let kept = match kept {
            Some(kept) => kept,
            None => appended(&size_and_mtime(&fstat(&file)?)),
        };
        let undoable = kept.made();
        self.sync(&file)?;
        Ok(undoable)
    }

    fn append_in_place(
        &self,
        target: &Target,
        current: &CurrentFile,
        tail: &[u8],
    ) -> Result<File, CommitError> {
        let parent = target.parent.as_ref().ok_or(Errno::NOENT)?;
        let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let _held = self.permit_now(&[&target.path])?;
        let mut file = File::from(openat(parent, &target.name, flags, Mode::empty())?);
        let stat = fstat(&file)?;
        if (stat.st_dev, stat.st_ino, stat.st_nlink) != (current.stat.st_dev, current.stat.st_ino, 1) {
            return Err(CommitError::Changed);
        }
        if let Err(error) = file.write_all(tail) {
            file.set_len(size_bytes(&stat))?;
            return Err(error.into());
        }
        Ok(file)
    }

    /// Deletes a file that is unchanged since it was read.
    pub(super) fn remove(
        &self,
        call: &Call,
        target: &Target,
        current: &impl Before,
    ) -> Result<Undoable, CommitError> {
        let parent = target.parent.as_ref().ok_or(Errno::NOENT)?;
        let kept = self.keep_file(call, target, current, |before| Change::FileRemoved { before })?;
        unlinkat(parent, &target.name, AtFlags::empty())?;
        let undoable = kept.made();
        self.sync(&File::from(parent.try_clone()?))?;
        Ok(undoable)
    }
}

/// Checks that the same file is unchanged; a touch is no change: where metadata differs, the content decides.
pub(super) fn require_unchanged(
    parent: &OwnedFd,
    target: &Target,
    before: &impl Before,
) -> Result<Stat, CommitError> {
    let now = match statat(parent, &target.name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(now) => now,
        Err(Errno::NOENT) => return Err(CommitError::Changed),
        Err(errno) => return Err(errno.into()),
    };
    let then = before.stat();
    if same_metadata(&now, then) {
        return Ok(now);
    }
    let is_same_file = (now.st_dev, now.st_ino) == (then.st_dev, then.st_ino)
        && FileType::from_raw_mode(now.st_mode) == FileType::RegularFile;
    match &target.existing {
        Some(existing) if is_same_file && before.has_content_of(existing)? => Ok(now),
        _ => Err(CommitError::Changed),
    }
}
