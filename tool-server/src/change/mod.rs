//! Changing files: the one hand that writes, for every tool that changes something.
//!
//! A change looks at the file, asks the optimistic lock, makes the new content, shows the difference, and
//! puts a whole new file in the place of the old one: nobody ever sees half of it, and what was changed
//! meanwhile is not overwritten. A dry run does all of that but the last step.

mod apply;
mod commit;
mod content_hash;
mod current_file;
mod delete;
pub mod diff;
pub mod edits;
mod temp_files;

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::thread;

use protocol::{ErrorCode, ToolError};
use rustix::io::Errno;
use schemars::JsonSchema;
use serde::Serialize;
use toolkit::{Call, PLACEHOLDER, Success};

use crate::roots::{Missing, Roots, Target};
use apply::ChangeStep;
use commit::CommitError;
use content_hash::HashCache;
use temp_files::Pending;

pub use current_file::{CurrentFile, mtime_ms, read_whole, size_and_mtime};

/// Whether a change is on the disk before it is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// The file and its directory are synced.
    Synced,
    /// The page cache has it; only measurements use this.
    Cached,
}

/// Changes files beneath the roots.
#[derive(Debug)]
pub struct Changer {
    roots: Arc<Roots>,
    pending: Pending,
    max_edit_bytes: u64,
    durability: Durability,
    last: HashCache,
}

/// What is to be changed, and under which condition.
#[derive(Debug)]
pub struct ChangeRequest<'a> {
    /// The file.
    pub path: &'a str,
    /// What to do when it is not there.
    pub missing: Missing,
    /// The SHA-256 that the file must have.
    pub expected_sha256: Option<&'a str>,
    /// Whether the change needs what the session has seen; appending does not.
    pub needs_lock: bool,
    /// Whether to change nothing and only show the difference.
    pub dry_run: bool,
}

/// The content that a file is to have.
#[derive(Debug)]
pub enum NewContent {
    /// All of it.
    Replace(Vec<u8>),
    /// What comes after what an existing file has.
    Append(Vec<u8>),
}

/// What a change is to do.
#[derive(Debug)]
pub struct PlannedChange {
    /// The content that the file is to have.
    pub content: NewContent,
    /// What kind of change it is.
    pub operation: Operation,
    /// How many places were replaced; none where that means nothing.
    pub replacements: Option<usize>,
    /// What was assumed.
    pub notices: Vec<String>,
}

/// What a change did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// A file was made.
    Create,
    /// A file has new content.
    #[default]
    Update,
    /// A file has more content.
    Append,
    /// A file, a link or an empty directory is gone.
    Delete,
}

/// The facts of a change; of a dry run, what they would be.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct ChangeData {
    /// What the change did.
    pub operation: Operation,
    /// Whether nothing was changed because the call was a dry run.
    pub dry_run: bool,
    /// How many places were replaced; absent for changes that replace none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replacements: Option<usize>,
    /// The size before, in bytes; absent when there was no file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_before: Option<u64>,
    /// The size after, in bytes; absent when there is no file any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_after: Option<u64>,
    /// The SHA-256 before, in hex; absent when there was no file, or one too large to hash.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256_before: Option<String>,
    /// The SHA-256 after, in hex; absent when there is no file any more, or one too large to hash.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256_after: Option<String>,
}

impl Changer {
    /// The hand that writes beneath these roots. `pending` is a directory outside them, where a change
    /// notes its temporary file; what an earlier server left there is tidied up.
    pub fn open(
        roots: Arc<Roots>,
        pending: &Path,
        max_edit_bytes: u64,
        durability: Durability,
    ) -> io::Result<Self> {
        let pending = Pending::open(pending, &roots)?;
        Ok(Self { roots, pending, max_edit_bytes, durability, last: HashCache::default() })
    }

    /// Changes one file: `plan` makes the new content from the old.
    pub fn change(
        &self,
        call: &Call,
        request: &ChangeRequest<'_>,
        plan: impl FnOnce(Option<&CurrentFile>) -> Result<PlannedChange, ToolError>,
    ) -> Result<Success<ChangeData>, ToolError> {
        let missing = match request.missing {
            Missing::MakeParents if request.dry_run => Missing::Plan,
            missing => missing,
        };
        let target = self.roots.target(request.path, missing)?;
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
        let mut lock = self.pending.lock(&target.path);
        let current = self.read_current(target, request.path)?;
        if request.expected_sha256.is_none() && call.last_seen(&target.path).is_none() {
            check_lock(call, request, target, current.as_ref())?;
        }
        // A long content is hashed while the new one is made and written beside it. All that is undone when
        // the hash is not what the session has seen.
        thread::scope(|scope| {
            current.iter().for_each(|current| current.hash_ahead(scope));
            let planned = match plan(current.as_ref()) {
                Ok(planned) => planned,
                // What the session has not seen comes before what is wrong with the change.
                Err(error) => return check_lock(call, request, target, current.as_ref()).and(Err(error)),
            };
            let new_file = apply::new_file(&planned.content, current.as_ref());
            let output = thread::scope(|scope| {
                new_file
                    .iter()
                    .filter(|new_file| self.is_hashed(new_file))
                    .for_each(|new_file| new_file.hash_ahead(scope));
                let (current, new_file) = (current.as_ref(), new_file.as_ref());
                let step = ChangeStep { call, request, target, current, new_file, planned: &planned };
                let prepared = self.prepare(&step, &mut lock);
                check_lock(call, request, target, current)?;
                prepared
                    .and_then(|prepared| self.finish(&step, prepared))
                    .map_err(|error| commit_error(request.path, error))?;
                Ok(self.output(&step))
            })?;
            let hashed = new_file
                .filter(|new_file| self.is_hashed(new_file))
                .map(|new_file| Arc::clone(new_file.hash()));
            if let (NewContent::Replace(content), Some(hashed), false) =
                (planned.content, hashed, request.dry_run)
            {
                self.last.put(content, hashed);
            }
            Ok(output)
        })
    }

    fn read_current(&self, target: &Target, path: &str) -> Result<Option<CurrentFile>, ToolError> {
        let Some(existing) = &target.existing else { return Ok(None) };
        CurrentFile::read_current(existing, self.max_edit_bytes, &self.last)
            .map(Some)
            .map_err(|error| io_error(path, "read", &error))
    }
}

fn commit_error(path: &str, error: CommitError) -> ToolError {
    match error {
        CommitError::Changed => ToolError::new(
            ErrorCode::Conflict,
            "The file was changed by somebody else while this call changed it.",
        ),
        CommitError::Appeared => {
            ToolError::new(ErrorCode::Conflict, "The file was made by somebody else while this call made it.")
        }
        CommitError::TooLarge => ToolError::new(
            ErrorCode::FileTooLarge,
            "The file has several names (hard links) and is too large to be written anew.",
        ),
        CommitError::Io(error) => io_error(path, "written", &error),
    }
}

/// The optimistic lock, for a file that is there.
fn check_lock(
    call: &Call,
    request: &ChangeRequest<'_>,
    target: &Target,
    current: Option<&CurrentFile>,
) -> Result<(), ToolError> {
    match current {
        Some(current) if request.needs_lock || request.expected_sha256.is_some() => {
            call.may_change(&target.path, current.fingerprint(), request.expected_sha256)
        }
        None if request.expected_sha256.is_some() => Err(ToolError::new(
            ErrorCode::Conflict,
            "The file does not exist, so it does not have the expected SHA-256.",
        )),
        Some(_) | None => Ok(()),
    }
}

/// Refuses text that would store the mark of a redaction: whoever writes it back has lost the secret.
pub fn refuse_placeholder(argument: &str, text: &str) -> Result<(), ToolError> {
    if !text.contains(PLACEHOLDER) {
        return Ok(());
    }
    let message = format!("`{argument}` holds {PLACEHOLDER}, which stands for a secret that was not shown.");
    Err(toolkit::arguments::invalid(message).with_hint(
        "Leave the line with the secret out of what you change; an edit beside it keeps it as it is.",
    ))
}

/// What a failure of the operating system means for the caller.
pub fn io_error(path: &str, verb: &str, error: &io::Error) -> ToolError {
    let shown = toolkit::arguments::elide(path, 200);
    let code = match Errno::from_io_error(error) {
        Some(Errno::ACCESS | Errno::PERM | Errno::ROFS) => ErrorCode::PermissionDenied,
        _ => ErrorCode::IoError,
    };
    tracing::warn!(path, %error, "a file could not be {verb}");
    let full = matches!(Errno::from_io_error(error), Some(Errno::NOSPC | Errno::DQUOT));
    let reason = if full { "the disk is full" } else { "the operating system refused" };
    ToolError::new(code, format!("The file {shown:?} could not be {verb}: {reason}. Nothing was changed."))
}
