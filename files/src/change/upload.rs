//! An upload: a file's new content as it arrives, written beside the file and renamed over it at its end.
//!
//! Whether it is allowed is decided before the first byte is awaited, and once more just before the rename.
//! No lock is held while a client sends.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};

use bytes::Bytes;
use protocol::hash::in_hex;
use protocol::{ErrorCode, ToolError};
use rustix::fs::{Stat, fstat};
use sha2::{Digest, Sha256};
use toolkit::{Call, Fingerprint, Seen, Success};

use super::attributes::keep_attributes;
use super::changer::Changer;
use super::commit::{Before, TempFile};
use super::current_file::size_and_mtime;
use super::error::io_error;
use super::file_hash::{hash_file, sha256_of_file};
use super::request::{ChangeData, Operation};
use crate::roots::{Missing, Target, names};

/// The status of a condition that does not hold.
const PRECONDITION_FAILED: u16 = 412;

/// An upload that a call asks for.
#[derive(Debug)]
pub struct UploadRequest<'a> {
    /// The file, as the caller named it.
    pub path: &'a str,
    /// What must hold for the file.
    pub condition: Condition<'a>,
    /// The largest body.
    pub max_bytes: u64,
}

/// What must hold of the file that is there.
#[derive(Debug)]
pub enum Condition<'a> {
    /// If there is one, the session has read it as it is now.
    SessionLock,
    /// There is none.
    IsNew,
    /// Its SHA-256 is one of these.
    HasSha256(&'a [String]),
}

/// A file as it was when the upload began.
pub(super) struct FileBefore {
    pub(super) stat: Stat,
    pub(super) sha256: String,
    pub(super) size_bytes: u64,
}

struct Received {
    sha256: String,
    bytes: u64,
}

impl Before for FileBefore {
    fn stat(&self) -> &Stat {
        &self.stat
    }

    fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    fn sha256(&self, _: &OwnedFd) -> io::Result<String> {
        Ok(self.sha256.clone())
    }

    fn has_content_of(&self, file: &OwnedFd) -> io::Result<bool> {
        Ok(sha256_of_file(file, || Ok(()))?.0 == self.sha256)
    }
}

impl Changer {
    /// Stores what `next` gives until it gives nothing more.
    pub fn store(
        &self,
        call: &Call,
        request: &UploadRequest<'_>,
        next: &mut dyn FnMut() -> Result<Option<Bytes>, ToolError>,
    ) -> Result<Success<ChangeData>, ToolError> {
        let target = self.workspaces.of(&call.scope)?.target(request.path, Missing::MakeParents)?;
        let stored = self.store_target(call, request, &target, next);
        if stored.is_err() {
            target.unmake_parents();
        }
        stored
    }

    fn store_target(
        &self,
        call: &Call,
        request: &UploadRequest<'_>,
        target: &Target,
        next: &mut dyn FnMut() -> Result<Option<Bytes>, ToolError>,
    ) -> Result<Success<ChangeData>, ToolError> {
        let path = request.path;
        let before = target.existing.as_ref().map(|file| FileBefore::read(file, path, call)).transpose()?;
        self.check(call, request, target, before.as_ref())?;
        let failed = |error: io::Error| io_error(path, "written", &error);
        let record = self.temp_files.record(&target.path).map_err(failed)?;
        let (temp, mut file) =
            TempFile::create(target, record).map_err(|error| error.into_tool_error(path))?;
        let received = receive(&mut file, request, call, next)?;
        if let (Some(existing), Some(before)) = (&target.existing, &before) {
            keep_attributes(existing, &before.stat, file.as_fd()).map_err(failed)?;
        }
        self.sync(&file).map_err(|error| error.into_tool_error(path))?;
        let _lock = self.temp_files.lock(&target.path);
        // A caller with an answer can rely on it.
        call.check()?;
        let undoable = self
            .rename_into_place(call, temp, target, before.as_ref(), &received.sha256)
            .map_err(|error| request.condition.failed(error.into_tool_error(path)))?;
        let stat = fstat(&file).map_err(|errno| failed(errno.into()))?;
        let fingerprint = self.fingerprint(&stat, &received.sha256, received.bytes);
        let mut stored = output(target, before, received, fingerprint);
        stored.data.can_be_undone = undoable.can_be_undone;
        stored.notices.extend(undoable.notice);
        Ok(stored)
    }

    fn check(
        &self,
        call: &Call,
        request: &UploadRequest<'_>,
        target: &Target,
        before: Option<&FileBefore>,
    ) -> Result<(), ToolError> {
        match (&request.condition, before) {
            (Condition::IsNew, Some(before)) => {
                let message = format!("The file exists already, with SHA-256 {}.", before.sha256);
                Err(precondition_failed(message))
            }
            (Condition::HasSha256(_), None) => {
                Err(precondition_failed("The file does not exist, so If-Match does not hold.".to_owned()))
            }
            (Condition::HasSha256(expected), Some(before)) if !expected.contains(&before.sha256) => {
                let message =
                    format!("The file has SHA-256 {}, which If-Match does not name.", before.sha256);
                Err(precondition_failed(message))
            }
            (Condition::SessionLock, Some(before)) => {
                let current = self.fingerprint(&before.stat, &before.sha256, before.size_bytes);
                call.may_change(&target.path, &current, None).map_err(with_ways)
            }
            (Condition::SessionLock | Condition::IsNew, None) | (Condition::HasSha256(_), Some(_)) => Ok(()),
        }
    }

    /// What the tools compare a file of this size by.
    fn fingerprint(&self, stat: &Stat, sha256: &str, size_bytes: u64) -> Fingerprint {
        if size_bytes <= self.max_edit_bytes {
            Fingerprint::Sha256(sha256.to_owned())
        } else {
            size_and_mtime(stat)
        }
    }
}

impl FileBefore {
    pub(super) fn read(file: &OwnedFd, path: &str, call: &Call) -> Result<Self, ToolError> {
        let stat = fstat(file).map_err(|errno| io_error(path, "read", &errno.into()))?;
        let (sha256, size_bytes) = hash_file(file, path, call)?;
        Ok(Self { stat, sha256, size_bytes })
    }
}

impl Condition<'_> {
    /// A conflict that was only seen at the end: of a condition it is the condition's failure.
    fn failed(&self, error: ToolError) -> ToolError {
        match self {
            Self::SessionLock => error,
            Self::IsNew | Self::HasSha256(_) if error.code == ErrorCode::Conflict => {
                ToolError { http_status: Some(PRECONDITION_FAILED), ..error }
            }
            Self::IsNew | Self::HasSha256(_) => error,
        }
    }
}

fn precondition_failed(message: String) -> ToolError {
    let error = ToolError::new(ErrorCode::Conflict, message)
        .with_hint("HEAD /files shows the file's ETag; decide whether to replace what is there now.");
    ToolError { http_status: Some(PRECONDITION_FAILED), ..error }
}

fn with_ways(error: ToolError) -> ToolError {
    if error.code != ErrorCode::NotRead {
        return error;
    }
    error.with_hint("GET the file first, or send If-Match with the ETag that it must have.")
}

fn receive(
    file: &mut File,
    request: &UploadRequest<'_>,
    call: &Call,
    next: &mut dyn FnMut() -> Result<Option<Bytes>, ToolError>,
) -> Result<Received, ToolError> {
    let (mut state, mut bytes) = (Sha256::new(), 0);
    while let Some(part) = next()? {
        call.check()?;
        bytes += u64::try_from(part.len()).unwrap_or(u64::MAX);
        if bytes > request.max_bytes {
            return Err(too_large(request.max_bytes));
        }
        state.update(&part);
        file.write_all(&part).map_err(|error| io_error(request.path, "written", &error))?;
    }
    Ok(Received { sha256: in_hex(&state.finalize()), bytes })
}

/// The refusal of a body over this limit.
pub fn too_large(max_bytes: u64) -> ToolError {
    let message = format!("The body has more than {max_bytes} bytes (AUTONOUS_TOOL_MAX_UPLOAD_BYTES).");
    ToolError::new(ErrorCode::PayloadTooLarge, message).with_hint("Send a smaller file, or send it in parts.")
}

fn output(
    target: &Target,
    before: Option<FileBefore>,
    received: Received,
    fingerprint: Fingerprint,
) -> Success<ChangeData> {
    let shown = names::path_to_text(&target.path);
    let (operation, verb) = match before {
        None => (Operation::Create, "Created"),
        Some(_) => (Operation::Update, "Updated"),
    };
    Success {
        stdout: format!("{verb} {shown} ({} bytes).\n", received.bytes),
        data: ChangeData {
            operation,
            bytes_before: before.as_ref().map(|before| before.size_bytes),
            bytes_after: Some(received.bytes),
            sha256_before: before.map(|before| before.sha256),
            sha256_after: Some(received.sha256),
            ..ChangeData::default()
        },
        path_resolved: Some(shown),
        seen: Some(Seen { path: target.path.clone(), fingerprint: Some(fingerprint) }),
        ..Success::default()
    }
}
