//! Deleting: a file that the session has read, a link itself, or an empty directory.

use std::fs::File;
use std::mem::MaybeUninit;
use std::os::fd::AsFd;

use protocol::{ErrorCode, ToolError};
use rustix::fs::{AtFlags, FileType, RawDir, unlinkat};
use rustix::io::Errno;
use toolkit::{Call, PartialReason, Seen, Success};

use super::changer::Changer;
use super::current_file::sha256_of;
use super::diff;
use super::error::io_error;
use super::request::{ChangeData, ChangeRequest, Operation};
use crate::roots::{Entry, Missing, names, open_child_directory};

impl Changer {
    /// Deletes what a path names. Of a link, the link itself is deleted and not what it leads to.
    pub(crate) fn delete(
        &self,
        call: &Call,
        request: &ChangeRequest<'_>,
    ) -> Result<Success<ChangeData>, ToolError> {
        let entry = self.workspaces.of(&call.session)?.entry(request.path)?;
        match entry.file_type {
            FileType::RegularFile => self.delete_file(call, request),
            FileType::Directory => self.delete_entry(request, &entry, AtFlags::REMOVEDIR, "directory"),
            FileType::Symlink => self.delete_entry(request, &entry, AtFlags::empty(), "link"),
            _ => Err(ToolError::new(ErrorCode::NotARegularFile, "The path is a pipe, a socket or a device.")),
        }
    }

    fn delete_file(
        &self,
        call: &Call,
        request: &ChangeRequest<'_>,
    ) -> Result<Success<ChangeData>, ToolError> {
        let target = self.workspaces.of(&call.session)?.target(request.path, Missing::Refuse)?;
        let _lock = self.temp_files.lock(&target.path);
        let Some(current) = self.read_current(&target, request.path)? else {
            return Err(ToolError::new(ErrorCode::NotFound, "The file is gone."));
        };
        request.check_lock(call, &target, Some(&current))?;
        let shown = names::path_to_text(&target.path);
        let verb = if request.dry_run { "Dry run: would delete" } else { "Deleted" };
        let done = format!("{verb} {shown}.");
        let difference = diff::unified(&done, &shown, Some(current.content.as_deref()), None, call.bounds);
        if !request.dry_run {
            self.remove(&target, &current).map_err(|error| error.into_tool_error(request.path))?;
        }
        Ok(Success {
            stdout: difference.text,
            notices: difference.notices,
            partial: request.dry_run.then_some(PartialReason::DryRun),
            path_resolved: Some(shown),
            seen: (!request.dry_run).then(|| Seen { path: target.path.clone(), fingerprint: None }),
            data: ChangeData {
                bytes_before: Some(current.size_bytes),
                sha256_before: sha256_of(current.fingerprint()),
                ..deleted(request)
            },
            ..Success::default()
        }
        .cut_at(difference.cut))
    }

    fn delete_entry(
        &self,
        request: &ChangeRequest<'_>,
        entry: &Entry,
        flags: AtFlags,
        kind: &str,
    ) -> Result<Success<ChangeData>, ToolError> {
        if !request.dry_run {
            unlinkat(&entry.parent, &entry.name, flags).map_err(|errno| match errno {
                Errno::NOTEMPTY | Errno::EXIST => not_empty(),
                other => io_error(request.path, "deleted", &other.into()),
            })?;
            let parent =
                entry.parent.try_clone().map_err(|error| io_error(request.path, "deleted", &error))?;
            self.sync(&File::from(parent)).map_err(|error| error.into_tool_error(request.path))?;
        } else if flags == AtFlags::REMOVEDIR && !is_empty(entry) {
            return Err(not_empty());
        }
        let shown = names::path_to_text(&entry.path);
        let verb = if request.dry_run { "would be deleted" } else { "deleted" };
        Ok(Success {
            stdout: format!("{kind} {shown} {verb}\n"),
            partial: request.dry_run.then_some(PartialReason::DryRun),
            path_resolved: Some(shown),
            data: deleted(request),
            ..Success::default()
        })
    }
}

fn deleted(request: &ChangeRequest<'_>) -> ChangeData {
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
