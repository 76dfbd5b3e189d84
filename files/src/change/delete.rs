//! Deleting: a file that the session has read, a link itself, an empty directory, or something hidden.

use std::fs::File;
use std::mem::MaybeUninit;
use std::os::fd::AsFd;

use protocol::{ErrorCode, ToolError};
use rustix::fs::{AtFlags, FileType, RawDir, readlinkat, statat, unlinkat};
use rustix::io::Errno;
use toolkit::{Call, PartialReason, Seen, Success};

use super::changer::Changer;
use super::current_file::sha256_of;
use super::diff;
use super::error::{CommitError, io_error};
use super::request::{ChangeData, ChangeRequest, Operation};
use super::undo::{Change, KeptChange, Undoable};
use crate::roots::{Entry, Missing, names, open_child_directory};

impl Changer {
    /// Deletes what a path names. Of a link, the link itself is deleted and not what it leads to.
    pub fn delete(&self, call: &Call, request: &ChangeRequest<'_>) -> Result<Success<ChangeData>, ToolError> {
        let roots = self.workspaces.of(&call.scope)?;
        if let Some(hidden) = roots.hidden_entry(request.path)? {
            return self.delete_hidden(call, request, &hidden);
        }
        let entry = roots.entry(request.path)?;
        match entry.file_type {
            FileType::RegularFile => self.delete_file(call, request),
            FileType::Directory => self.delete_entry(call, request, &entry, AtFlags::REMOVEDIR),
            FileType::Symlink => self.delete_entry(call, request, &entry, AtFlags::empty()),
            _ => Err(ToolError::new(ErrorCode::NotARegularFile, "The path is a pipe, a socket or a device.")),
        }
    }

    fn delete_file(
        &self,
        call: &Call,
        request: &ChangeRequest<'_>,
    ) -> Result<Success<ChangeData>, ToolError> {
        let target = self.workspaces.of(&call.scope)?.target(request.path, Missing::Refuse)?;
        let _lock = self.temp_files.lock(&target.path);
        let Some(current) = self.read_current(&target, request.path)? else {
            return Err(ToolError::new(ErrorCode::NotFound, "The file is gone."));
        };
        request.check_lock(call, &target, Some(&current))?;
        let shown = self.shown(call, request, &target.path);
        let verb = if request.dry_run { "Dry run: would delete" } else { "Deleted" };
        let done = format!("{verb} {shown}.");
        let difference = diff::unified(&done, &shown, Some(current.content.as_deref()), None, call.bounds);
        let mut undoable = Undoable::default();
        if !request.dry_run {
            undoable =
                self.remove(call, &target, &current).map_err(|error| error.into_tool_error(request.path))?;
        }
        Ok(Success {
            stdout: difference.text,
            notices: difference.notices.into_iter().chain(undoable.notice).collect(),
            partial: request.dry_run.then_some(PartialReason::DryRun),
            path_resolved: Some(names::path_to_text(&target.path)),
            seen: (!request.dry_run).then(|| Seen { path: target.path.clone(), fingerprint: None }),
            data: ChangeData {
                bytes_before: Some(current.size_bytes),
                sha256_before: sha256_of(current.fingerprint()),
                can_be_undone: undoable.can_be_undone,
                ..deleted(request)
            },
            ..Success::default()
        }
        .cut_at(difference.cut))
    }

    fn delete_entry(
        &self,
        call: &Call,
        request: &ChangeRequest<'_>,
        entry: &Entry,
        flags: AtFlags,
    ) -> Result<Success<ChangeData>, ToolError> {
        let kind = if flags == AtFlags::REMOVEDIR { "directory" } else { "link" };
        let mut undoable = Undoable::default();
        if !request.dry_run {
            undoable = self.remove_entry(call, entry, flags).map_err(|error| match error {
                CommitError::Io(error) if Errno::from_io_error(&error) == Some(Errno::NOTEMPTY) => {
                    not_empty()
                }
                CommitError::Io(error) => io_error(request.path, "deleted", &error),
                other => other.into_tool_error(request.path),
            })?;
        } else if flags == AtFlags::REMOVEDIR && !is_empty(entry) {
            return Err(not_empty());
        }
        let shown = self.shown(call, request, &entry.path);
        let verb = if request.dry_run { "would be deleted" } else { "deleted" };
        Ok(Success {
            stdout: format!("{kind} {shown} {verb}\n"),
            partial: request.dry_run.then_some(PartialReason::DryRun),
            path_resolved: Some(names::path_to_text(&entry.path)),
            notices: undoable.notice.into_iter().collect(),
            data: ChangeData { can_be_undone: undoable.can_be_undone, ..deleted(request) },
            ..Success::default()
        })
    }

    /// Removes a link or an empty directory.
    pub(super) fn remove_entry(
        &self,
        call: &Call,
        entry: &Entry,
        flags: AtFlags,
    ) -> Result<Undoable, CommitError> {
        let Entry { parent, name, path, .. } = entry;
        let change = if flags == AtFlags::REMOVEDIR {
            let stat = statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)?;
            Change::DirectoryRemoved { mode: stat.st_mode & 0o7777 }
        } else {
            let target = readlinkat(parent, name, Vec::new())?;
            Change::LinkRemoved { target: names::to_text(target.as_bytes()) }
        };
        let kept = KeptChange::keep(&self.undo, call, path, change, None);
        unlinkat(parent, name, flags)?;
        let undoable = kept.made();
        self.sync(&File::from(parent.try_clone()?))?;
        Ok(undoable)
    }
}

pub(super) fn deleted(request: &ChangeRequest<'_>) -> ChangeData {
    ChangeData { operation: Operation::Delete, dry_run: request.dry_run, ..ChangeData::default() }
}

fn not_empty() -> ToolError {
    ToolError::new(ErrorCode::IsDirectory, "The directory is not empty; only empty ones can be deleted.")
        .with_hint("Delete what is in it first.")
}

fn is_empty(entry: &Entry) -> bool {
    let Ok(directory) = open_child_directory(entry.parent.as_fd(), &entry.name) else { return false };
    let mut buffer = [MaybeUninit::uninit(); 1024];
    let mut entries = RawDir::new(&directory, &mut buffer);
    while let Some(Ok(entry)) = entries.next() {
        if !matches!(entry.file_name().to_bytes(), b"." | b"..") {
            return false;
        }
    }
    true
}
