//! The last step of a change, and what is ready before it: everything but the rename can be done while
//! it is not yet known whether the change is allowed.

use std::borrow::Cow;
use std::os::unix::ffi::OsStrExt;

use toolkit::{Call, Fingerprint, PartialReason, Seen, Success};

use super::commit::{CommitError, TempFile};
use super::current_file::{self, CurrentFile, NewFile};
use super::diff::{self, Difference};
use super::temp_files::PathLock;
use super::{ChangeData, ChangeRequest, Changer, NewContent, PlannedChange};
use crate::roots::{Target, names};

/// Everything that the last step of a change needs.
#[derive(Clone, Copy)]
pub(super) struct ChangeStep<'a> {
    pub(super) call: &'a Call,
    pub(super) request: &'a ChangeRequest<'a>,
    pub(super) target: &'a Target,
    pub(super) planned: &'a PlannedChange,
    /// The file as it is; none when there is none.
    pub(super) current: Option<&'a CurrentFile>,
    /// The file as it is to be; none when it is too large to know.
    pub(super) new_file: Option<&'a NewFile<'a>>,
}

/// What the last step has to do.
pub(super) enum Prepared<'a> {
    /// Nothing: a dry run, or what is there already.
    Nothing,
    /// Add this to the end of the file.
    Tail(&'a CurrentFile, &'a [u8]),
    /// Move this into its place.
    Whole(TempFile<'a>),
}

impl Changer {
    /// Everything up to the last step. Whatever a change needs is on the disk then, but not in its place.
    pub(super) fn prepare<'a>(
        &self,
        step: &ChangeStep<'a>,
        lock: &'a mut PathLock<'_>,
    ) -> Result<Prepared<'a>, CommitError> {
        let ChangeStep { request, target, current, new_file, planned, .. } = *step;
        match (&planned.content, current, new_file) {
            _ if request.dry_run => Ok(Prepared::Nothing),
            // A file with several names is not appended to in place: another name may lie outside the roots.
            (NewContent::Append(tail), Some(current), _) if current.stat.st_nlink == 1 => {
                Ok(Prepared::Tail(current, tail))
            }
            (_, Some(current), Some(new_file)) if current.is(&new_file.content) => Ok(Prepared::Nothing),
            (_, current, Some(new_file)) => {
                self.write_temp_file(lock, target, current, &new_file.content).map(Prepared::Whole)
            }
            (_, _, None) => Err(CommitError::TooLarge),
        }
    }

    /// The last step: the one that changes something.
    pub(super) fn finish(&self, step: &ChangeStep<'_>, prepared: Prepared<'_>) -> Result<(), CommitError> {
        match prepared {
            Prepared::Nothing => Ok(()),
            Prepared::Tail(current, tail) => self.append(step.target, current, tail),
            Prepared::Whole(temp) => self.rename_into_place(temp, step.target, step.current),
        }
    }

    /// What the change did, or would do.
    pub(super) fn output(&self, step: &ChangeStep<'_>) -> Success<ChangeData> {
        let ChangeStep { request, target, current, planned, .. } = *step;
        let difference = step.difference();
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
            },
            notices: planned.notices.iter().cloned().chain(difference.notice).collect(),
            partial: request.dry_run.then_some(PartialReason::DryRun),
            path_resolved: Some(step.shown()),
            seen,
            ..Success::default()
        }
        .cut_at(difference.cut)
    }

    /// What the file is after the change: its content's hash, or of a large file what the disk says.
    fn fingerprint_after(&self, step: &ChangeStep<'_>) -> Option<Fingerprint> {
        if let Some(new_file) = step.new_file.filter(|new_file| self.is_hashed(new_file)) {
            return Some(Fingerprint::Sha256(new_file.hash().sha256.clone()));
        }
        let (parent, name) = (step.target.parent.as_ref()?, &step.target.name);
        let stat = rustix::fs::statat(parent, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW).ok()?;
        Some(current_file::size_and_mtime(&stat))
    }

    /// Whether a content is short enough for its hash to be worth its time.
    pub(super) fn is_hashed(&self, new_file: &NewFile<'_>) -> bool {
        length(&new_file.content) <= self.max_edit_bytes
    }
}

impl ChangeStep<'_> {
    /// The file's full name, as it is shown.
    fn shown(&self) -> String {
        names::to_text(self.target.path.as_os_str().as_bytes())
    }

    fn difference(&self) -> Difference {
        let before = self.current.map(|current| current.content.as_deref());
        diff::unified(
            &self.shown(),
            before,
            self.new_file.map(|new_file| &*new_file.content),
            self.call.bounds,
        )
    }

    fn bytes_after(&self) -> u64 {
        match &self.planned.content {
            NewContent::Replace(whole) => length(whole),
            NewContent::Append(tail) => self.current.map_or(0, |current| current.size_bytes) + length(tail),
        }
    }

    /// Whether what the session has seen is what the file was before this change.
    fn session_is_current(&self) -> bool {
        let seen = self.call.last_seen(&self.target.path);
        seen.is_some() && seen.as_ref() == self.current.map(CurrentFile::fingerprint)
    }
}

/// All of the content that the file is to have, unless the file is too large to know it.
pub(super) fn new_file<'a>(content: &'a NewContent, current: Option<&'a CurrentFile>) -> Option<NewFile<'a>> {
    match content {
        NewContent::Replace(whole) => Some(NewFile::new(Cow::Borrowed(whole), current)),
        NewContent::Append(tail) => {
            let mut whole = current.map_or(Some(Vec::new()), |current| current.content.clone())?;
            whole.extend_from_slice(tail);
            Some(NewFile::new(Cow::Owned(whole), current))
        }
    }
}

/// The SHA-256 that a fingerprint is, if it is one.
pub(super) fn sha256_of(fingerprint: &Fingerprint) -> Option<String> {
    match fingerprint {
        Fingerprint::Sha256(hash) => Some(hash.clone()),
        Fingerprint::SizeAndMtime { .. } => None,
    }
}

fn length(content: &[u8]) -> u64 {
    u64::try_from(content.len()).unwrap_or(u64::MAX)
}
