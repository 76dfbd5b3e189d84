//! The last step of a change, and what is ready before it: everything but the rename can be done while
//! it is not yet known whether the change is allowed.

use std::borrow::Cow;
use std::os::unix::ffi::OsStrExt;

use toolkit::output::Full;
use toolkit::{Call, Fingerprint, Output, Seen};

use super::content::{self, Current, Next};
use super::diff::{self, Difference};
use super::pending::Turn;
use super::place::{Beside, PutError};
use super::{ChangeData, Changer, Content, DRY_RUN, Planned, Request};
use crate::roots::{Target, names};

/// Everything that the last step of a change needs.
#[derive(Clone, Copy)]
pub(super) struct Step<'a> {
    pub(super) call: &'a Call,
    pub(super) request: &'a Request<'a>,
    pub(super) target: &'a Target,
    pub(super) planned: &'a Planned,
    /// The file as it is; none when there is none.
    pub(super) current: Option<&'a Current>,
    /// The file as it is to be; none when it is too large to know.
    pub(super) next: Option<&'a Next<'a>>,
}

/// What the last step has to do.
pub(super) enum Prepared<'a> {
    /// Nothing: a dry run, or what is there already.
    Nothing,
    /// Add this to the end of the file.
    Tail(&'a Current, &'a [u8]),
    /// Move this into its place.
    Whole(Beside<'a>),
}

impl Changer {
    /// Everything up to the last step. Whatever a change needs is on the disk then, but not in its place.
    pub(super) fn prepare<'a>(
        &self,
        step: &Step<'a>,
        turn: &'a mut Turn<'_>,
    ) -> Result<Prepared<'a>, PutError> {
        let Step { request, target, current, next, planned, .. } = *step;
        match (&planned.content, current, next) {
            _ if request.dry_run => Ok(Prepared::Nothing),
            // A file with several names is not appended to in place: another name may lie outside the roots.
            (Content::Tail(tail), Some(current), _) if current.stat.st_nlink == 1 => {
                Ok(Prepared::Tail(current, tail))
            }
            (_, Some(current), Some(next)) if current.is(&next.content) => Ok(Prepared::Nothing),
            (_, current, Some(next)) => {
                self.write_beside(turn, target, current, &next.content).map(Prepared::Whole)
            }
            (_, _, None) => Err(PutError::TooLarge),
        }
    }

    /// The last step: the one that changes something.
    pub(super) fn finish(&self, step: &Step<'_>, prepared: Prepared<'_>) -> Result<(), PutError> {
        match prepared {
            Prepared::Nothing => Ok(()),
            Prepared::Tail(current, tail) => self.append(step.target, current, tail),
            Prepared::Whole(beside) => self.move_in(beside, step.target, step.current),
        }
    }

    /// What the change did, or would do.
    pub(super) fn answer(&self, step: &Step<'_>) -> Output<ChangeData> {
        let Step { request, target, current, planned, .. } = *step;
        let difference = step.difference();
        let after = self.fingerprint_after(step);
        let keeps_lock = request.needs_lock || step.session_is_current();
        let seen = (!request.dry_run && keeps_lock)
            .then(|| Seen { path: target.path.clone(), fingerprint: after.clone() });
        let dry_run = request.dry_run.then(|| DRY_RUN.to_owned());
        Output {
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
            notices: planned.notices.iter().cloned().chain(difference.notice).chain(dry_run).collect(),
            partial: request.dry_run || difference.cut.is_some(),
            truncated_lines: difference.cut == Some(Full::Lines),
            truncated_bytes: difference.cut == Some(Full::Bytes),
            path_resolved: Some(step.shown()),
            seen,
            ..Output::default()
        }
    }

    /// What the file is after the change: its content's hash, or of a large file what the disk says.
    fn fingerprint_after(&self, step: &Step<'_>) -> Option<Fingerprint> {
        if let Some(next) = step.next.filter(|next| self.is_hashed(next)) {
            return Some(Fingerprint::Sha256(next.hash().sha256.clone()));
        }
        let (parent, name) = (step.target.parent.as_ref()?, &step.target.name);
        let stat = rustix::fs::statat(parent, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW).ok()?;
        Some(content::size_and_mtime(&stat))
    }

    /// Whether a content is short enough for its hash to be worth its time.
    pub(super) fn is_hashed(&self, next: &Next<'_>) -> bool {
        length(&next.content) <= self.max_edit_bytes
    }
}

impl Step<'_> {
    /// The file's full name, as it is shown.
    fn shown(&self) -> String {
        names::to_text(self.target.path.as_os_str().as_bytes())
    }

    fn difference(&self) -> Difference {
        let before = self.current.map(|current| current.content.as_deref());
        diff::unified(&self.shown(), before, self.next.map(|next| &*next.content), self.call.bounds)
    }

    fn bytes_after(&self) -> u64 {
        match &self.planned.content {
            Content::Whole(whole) => length(whole),
            Content::Tail(tail) => self.current.map_or(0, |current| current.size_bytes) + length(tail),
        }
    }

    /// Whether what the session has seen is what the file was before this change.
    fn session_is_current(&self) -> bool {
        let seen = self.call.last_seen(&self.target.path);
        seen.is_some() && seen.as_ref() == self.current.map(Current::fingerprint)
    }
}

/// All of the content that the file is to have, unless the file is too large to know it.
pub(super) fn next<'a>(content: &'a Content, current: Option<&'a Current>) -> Option<Next<'a>> {
    match content {
        Content::Whole(whole) => Some(Next::new(Cow::Borrowed(whole), current)),
        Content::Tail(tail) => {
            let mut whole = current.map_or(Some(Vec::new()), |current| current.content.clone())?;
            whole.extend_from_slice(tail);
            Some(Next::new(Cow::Owned(whole), current))
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
