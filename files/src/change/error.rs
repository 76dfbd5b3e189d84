//! Why a change fails, and the error for the caller.

use std::io;

use protocol::{ErrorCode, ToolError};
use redaction::PLACEHOLDER;
use rustix::io::Errno;
use toolkit::arguments::{elide, invalid};

/// Why a change was not committed. The old file is untouched.
#[derive(Debug)]
pub(super) enum CommitError {
    Changed,
    Appeared,
    TooLarge,
    /// It would make other programs run something.
    Refused(Box<ToolError>),
    Io(io::Error),
}

impl<E: Into<io::Error>> From<E> for CommitError {
    fn from(error: E) -> Self {
        Self::Io(error.into())
    }
}

impl CommitError {
    pub(super) fn into_tool_error(self, path: &str) -> ToolError {
        let (code, message) = match self {
            Self::Changed => (ErrorCode::Conflict, "Somebody else changed the file during this call."),
            Self::Appeared => (ErrorCode::Conflict, "Somebody else created the file during this call."),
            Self::TooLarge => (
                ErrorCode::FileTooLarge,
                "The file has several names (hard links) and is too large to be rewritten.",
            ),
            Self::Refused(error) => return *error,
            Self::Io(error) => return io_error(path, "written", &error),
        };
        ToolError::new(code, message)
    }
}

/// Refuses text with a redaction placeholder: writing it back would destroy the secret it stands for.
pub fn refuse_placeholder(argument: &str, text: &str) -> Result<(), ToolError> {
    if !text.contains(PLACEHOLDER) {
        return Ok(());
    }
    let message =
        format!("`{argument}` contains {PLACEHOLDER}, which stands for a secret you were not shown.");
    Err(invalid(message)
        .with_hint("Leave the line with the secret out of the change; an edit beside it keeps it."))
}

/// What an I/O error means for the caller. `verb` is a participle, such as "read" or "written".
pub fn io_error(path: &str, verb: &str, error: &io::Error) -> ToolError {
    let errno = Errno::from_io_error(error);
    let code = match errno {
        Some(Errno::ACCESS | Errno::PERM | Errno::ROFS) => ErrorCode::PermissionDenied,
        _ => ErrorCode::IoError,
    };
    tracing::warn!(path, %error, "a file could not be {verb}");
    let is_full = matches!(errno, Some(Errno::NOSPC | Errno::DQUOT));
    let reason = if is_full { "the disk is full" } else { "the operating system refused" };
    let shown = elide(path, 200);
    ToolError::new(code, format!("The file {shown:?} could not be {verb}: {reason}. Nothing was changed."))
}
