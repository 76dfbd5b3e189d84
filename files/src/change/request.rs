//! What a change is asked to do, and what it reports.

use std::ops::Deref;

use protocol::{ErrorCode, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use toolkit::Call;

use super::current_file::CurrentFile;
use crate::roots::{Missing, Target};

/// The SHA-256 that a file must have, in hex of either case.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct ExpectedSha256(#[schemars(length(equal = 64), regex(pattern = "^[0-9a-fA-F]{64}$"))] String);

impl Deref for ExpectedSha256 {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

/// A change that a call asks for.
#[derive(Debug)]
pub struct ChangeRequest<'a> {
    /// The file, as the caller named it.
    pub path: &'a str,
    /// What happens if its directory is missing.
    pub missing: Missing,
    /// The hash that the file must have.
    pub expected_sha256: Option<&'a str>,
    /// Whether the session must have read the file; appending does not need that.
    pub needs_lock: bool,
    /// Whether all but the last step is done.
    pub dry_run: bool,
}

impl ChangeRequest<'_> {
    /// The optimistic lock: the file must be what the session has read, or what the caller expects.
    pub(super) fn check_lock(
        &self,
        call: &Call,
        target: &Target,
        current: Option<&CurrentFile>,
    ) -> Result<(), ToolError> {
        match current {
            Some(current) if self.needs_lock || self.expected_sha256.is_some() => {
                let allowed = call.may_change(&target.path, current.fingerprint(), self.expected_sha256);
                allowed.map_err(|error| self.with_next_call(error))
            }
            None if self.expected_sha256.is_some() => {
                let message = "The file does not exist, so it does not have the expected SHA-256.";
                Err(ToolError::new(ErrorCode::Conflict, message))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// An error for want of reading names the call to make.
    fn with_next_call(&self, error: ToolError) -> ToolError {
        if error.code != ErrorCode::NotRead {
            return error;
        }
        let arguments = json!({"path": self.path});
        error.with_hint(format!("Call `read` with {arguments}, then repeat this call."))
    }
}

/// What the file gets.
#[derive(Debug)]
pub enum NewContent {
    /// This content instead of its own.
    Replace(Vec<u8>),
    /// This at its end.
    Append(Vec<u8>),
}

/// A change that is worked out but not made.
#[derive(Debug)]
pub struct PlannedChange {
    /// The content.
    pub content: NewContent,
    /// What that does to the file.
    pub operation: Operation,
    /// How many places are replaced; none where that means nothing.
    pub replacements: Option<usize>,
    /// For the caller.
    pub notices: Vec<String>,
}

/// What a change did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// A file was created.
    Create,
    /// A file has new content.
    #[default]
    Update,
    /// A file was appended to.
    Append,
    /// A file, a link or an empty directory was deleted.
    Delete,
}

/// The facts of a change; of a dry run, what they would be.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct ChangeData {
    /// What the change did.
    pub(crate) operation: Operation,
    /// Whether nothing was changed because the call was a dry run.
    pub(crate) dry_run: bool,
    /// How many places were replaced; absent for changes that replace none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) replacements: Option<usize>,
    /// The size before, in bytes; absent when there was no file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) bytes_before: Option<u64>,
    /// The size after, in bytes; absent when the file is gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) bytes_after: Option<u64>,
    /// The SHA-256 before, in hex; absent when there was no file, or one too large to hash.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sha256_before: Option<String>,
    /// The SHA-256 after, in hex; absent when the file is gone or too large to hash.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256_after: Option<String>,
    /// Whether what was there is kept, so that `POST /changes/{call_id}/undo` can bring it back.
    pub(crate) can_be_undone: bool,
}
