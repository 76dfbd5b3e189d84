//! One change, from its path to its output. Everything but the rename is done before it is known whether the
//! change is allowed, so that a long content is hashed while the new one is made and written.

use std::borrow::Cow;
use std::sync::Arc;
use std::thread;

use protocol::ToolError;
use rustix::fs::{AtFlags, statat};
use toolkit::{Call, Fingerprint, PartialReason, Seen, Success};

use super::changer::Changer;
use super::commit::TempFile;
use super::current_file::{CurrentFile, NewFile, sha256_of, size_and_mtime};
use super::diff;
use super::error::CommitError;
use super::request::{ChangeData, ChangeRequest, NewContent, Operation, PlannedChange};
use super::temp_files::PathLock;
use super::undo::Undoable;
use crate::roots::{Missing, Target, names};

struct ChangeStep<'a> {
    call: &'a Call,
    request: &'a ChangeRequest<'a>,
    target: &'a Target,
    planned: &'a PlannedChange,
    current: Option<&'a CurrentFile>,
    /// The file as it will be; none when it is too large to know.
    new_file: Option<&'a NewFile<'a>>,
}

enum Prepared<'a> {
    /// Nothing: a dry run, or the file already has this content.
    Nothing,
    Append(&'a CurrentFile, &'a [u8]),
    Rename(TempFile<'a>),
}

impl Changer {
    /// Changes one file: `plan` makes the new content from the old.
    pub fn change(
        &self,
        call: &Call,
        request: &ChangeRequest<'_>,
        plan: impl FnOnce(Option<&CurrentFile>) -> Result<PlannedChange, ToolError>,
    ) -> Result<Success<ChangeData>, ToolError> {
        let missing = match request.missing {
            Missing::MakeParents if request.dry_run => Missing::Plan,
            missing @ (Missing::Refuse | Missing::MakeParents | Missing::Plan) => missing,
        };
        let target = self.workspaces.of(&call.scope)?.target(request.path, missing)?;
        let changed = self.change_target(call, request, &target, plan);
        if changed.is_err() {
            target.unmake_parents();
        }
        changed
    }

    fn change_target(
        &self,
        call: &Call,
        request: &ChangeRequest<'_>,
        target: &Target,
        plan: impl FnOnce(Option<&CurrentFile>) -> Result<PlannedChange, ToolError>,
    ) -> Result<Success<ChangeData>, ToolError> {
        let mut lock = self.temp_files.lock(&target.path);
        let current = self.read_current(target, request.path)?;
        let current = current.as_ref();
        if request.expected_sha256.is_none() && call.last_seen(&target.path).is_none() {
            request.check_lock(call, target, current)?;
        }
        // Work that is done before the lock is checked is undone when the hash is not the one that the
        // session has read.
        thread::scope(|scope| {
            current.iter().for_each(|current| current.hash_ahead(scope));
            let planned = match plan(current) {
                Ok(planned) => planned,
                // An outdated read is reported before a fault of the change.
                Err(error) => return request.check_lock(call, target, current).and(Err(error)),
            };
            let new_file = new_file(&planned.content, current);
            let hashed_file = new_file.as_ref().filter(|file| self.is_hashed(file));
            let output = thread::scope(|scope| {
                hashed_file.iter().for_each(|file| file.hash_ahead(scope));
                let step = ChangeStep {
                    call,
                    request,
                    target,
                    current,
                    new_file: new_file.as_ref(),
                    planned: &planned,
                };
                self.take_step(&step, &mut lock)
            })?;
            let hashed = hashed_file.map(|file| Arc::clone(file.hash()));
            if let (NewContent::Replace(content), Some(hashed), false) =
                (planned.content, hashed, request.dry_run)
            {
                self.hash_cache.put(content, hashed);
            }
            Ok(output)
        })
    }

    /// Takes a step, if the file is still what the session has read.
    fn take_step(
        &self,
        step: &ChangeStep<'_>,
        lock: &mut PathLock<'_>,
    ) -> Result<Success<ChangeData>, ToolError> {
        let ChangeStep { call, request, target, current, .. } = *step;
        let prepared = self.prepare(step, lock);
        request.check_lock(call, target, current)?;
        let undoable = prepared
            .and_then(|prepared| self.finish(step, prepared))
            .map_err(|error| error.into_tool_error(request.path))?;
        Ok(self.output(step, undoable))
    }

    /// Everything up to the last step: what the change needs is on the disk, but not in place.
    fn prepare<'a>(
        &self,
        step: &ChangeStep<'a>,
        lock: &'a mut PathLock<'_>,
    ) -> Result<Prepared<'a>, CommitError> {
        let ChangeStep { request, target, current, new_file, planned, .. } = *step;
        match (&planned.content, current, new_file) {
            _ if request.dry_run => Ok(Prepared::Nothing),
            // A file with several names is not appended to in place: another name may lie outside the roots.
            (NewContent::Append(tail), Some(current), _) if current.stat.st_nlink == 1 => {
                Ok(Prepared::Append(current, tail))
            }
            (_, Some(current), Some(new_file)) if current.is(&new_file.content) => Ok(Prepared::Nothing),
            (_, current, Some(new_file)) => {
                self.write_temp_file(lock, target, current, &new_file.content).map(Prepared::Rename)
            }
            (_, _, None) => Err(CommitError::TooLarge),
        }
    }

    /// The last step: the one that changes something.
    fn finish(&self, step: &ChangeStep<'_>, prepared: Prepared<'_>) -> Result<Undoable, CommitError> {
        let ChangeStep { call, target, current, new_file, .. } = *step;
        let sha256 = new_file.map(|file| file.hash().sha256.as_str());
        match prepared {
            Prepared::Nothing => Ok(Undoable::default()),
            Prepared::Append(current, tail) => self.append(call, target, current, tail, sha256),
            Prepared::Rename(temp_file) => {
                self.rename_into_place(call, temp_file, target, current, sha256.unwrap_or_default())
            }
        }
    }

    fn output(&self, step: &ChangeStep<'_>, undoable: Undoable) -> Success<ChangeData> {
        let ChangeStep { call, request, target, current, new_file, planned } = *step;
        let shown = self.shown(call, request, &target.path);
        let before = current.map(|current| current.content.as_deref());
        let after = new_file.map(|file| &*file.content);
        let difference = diff::unified(&step.in_words(&shown), &shown, before, after, call.bounds);
        let after = self.fingerprint_after(step);
        let keeps_lock = request.needs_lock || step.session_is_current();
        let seen = (!request.dry_run && keeps_lock)
            .then(|| Seen { path: target.path.clone(), fingerprint: after.clone() });
        Success {
            stdout: difference.text,
            data: ChangeData {
                operation: planned.operation,
                dry_run: request.dry_run,
                replacements: planned.replacements,
                bytes_before: current.map(|current| current.size_bytes),
                bytes_after: Some(step.bytes_after()),
                sha256_before: current.and_then(|current| sha256_of(current.fingerprint())),
                sha256_after: after.as_ref().and_then(sha256_of),
                can_be_undone: undoable.can_be_undone,
            },
            notices: planned
                .notices
                .iter()
                .cloned()
                .chain(difference.notices)
                .chain(undoable.notice)
                .collect(),
            partial: request.dry_run.then_some(PartialReason::DryRun),
            path_resolved: Some(names::path_to_text(&target.path)),
            seen,
            ..Success::default()
        }
        .cut_at(difference.cut)
    }

    /// The file's fingerprint after the change: its content's hash, or for a large file what the disk says.
    fn fingerprint_after(&self, step: &ChangeStep<'_>) -> Option<Fingerprint> {
        if let Some(new_file) = step.new_file.filter(|new_file| self.is_hashed(new_file)) {
            return Some(Fingerprint::Sha256(new_file.hash().sha256.clone()));
        }
        let stat = statat(step.target.parent.as_ref()?, &step.target.name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        Some(size_and_mtime(&stat))
    }

    /// Whether a content is short enough to be worth hashing.
    fn is_hashed(&self, new_file: &NewFile<'_>) -> bool {
        new_file.content.len() as u64 <= self.max_edit_bytes
    }
}

impl ChangeStep<'_> {
    fn bytes_after(&self) -> u64 {
        match &self.planned.content {
            NewContent::Replace(whole) => whole.len() as u64,
            NewContent::Append(tail) => {
                self.current.map_or(0, |current| current.size_bytes) + tail.len() as u64
            }
        }
    }

    /// What was done, or would be, in one sentence: a diff alone has been taken for a proposal.
    fn in_words(&self, shown: &str) -> String {
        let (bytes, is_same) = (self.bytes_after(), self.is_unchanged());
        let places = self.planned.replacements.map_or_else(String::new, |places| match places {
            1 => ": 1 place replaced".to_owned(),
            places => format!(": {places} places replaced"),
        });
        match (self.request.dry_run, self.planned.operation) {
            _ if is_same => format!("{shown} has this content already; nothing was changed."),
            (false, Operation::Create) => format!("Created {shown} ({bytes} bytes)."),
            (false, Operation::Update) => format!("Updated {shown}{places}."),
            (false, Operation::Append) => format!("Appended to {shown}; it now has {bytes} bytes."),
            (false, Operation::Delete) => format!("Deleted {shown}."),
            (true, Operation::Create) => format!("Dry run: would create {shown} ({bytes} bytes)."),
            (true, Operation::Update) => format!("Dry run: would update {shown}{places}."),
            (true, Operation::Append) => format!("Dry run: would append to {shown}."),
            (true, Operation::Delete) => format!("Dry run: would delete {shown}."),
        }
    }

    fn is_unchanged(&self) -> bool {
        match (&self.planned.content, self.current) {
            (NewContent::Replace(content), Some(current)) => current.is(content),
            (NewContent::Append(tail), Some(_)) => tail.is_empty(),
            (_, None) => false,
        }
    }

    /// Whether the session had read the file as it was before this change.
    fn session_is_current(&self) -> bool {
        let seen = self.call.last_seen(&self.target.path);
        seen.is_some() && seen.as_ref() == self.current.map(CurrentFile::fingerprint)
    }
}

/// The whole new content, unless the file is too large to know it.
fn new_file<'a>(content: &'a NewContent, current: Option<&'a CurrentFile>) -> Option<NewFile<'a>> {
    match content {
        NewContent::Replace(whole) => Some(NewFile::new(Cow::Borrowed(whole), current)),
        NewContent::Append(tail) => {
            let mut whole = current.map_or(Some(Vec::new()), |current| current.content.clone())?;
            whole.extend_from_slice(tail);
            Some(NewFile::new(Cow::Owned(whole), current))
        }
    }
}
