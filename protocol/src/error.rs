//! Every way in which a tool call can fail, in one list.
//!
//! A code carries its class, its HTTP status and its standing hint, so that no caller has to search in
//! an error's text, and no two places can disagree. The table in `docs/errors.md` is generated from it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Who has to act on a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorClass {
    /// The request is malformed: the caller corrects it.
    Validation,
    /// The request is understood and not permitted.
    Policy,
    /// The tool ran, and the failure is its result.
    ToolExec,
    /// A deadline passed.
    Timeout,
    /// The server itself failed.
    Unknown,
}

macro_rules! error_codes {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal, $class:ident, $http:literal, $hint:expr;)+) => {
        /// Why a call failed. The variant's documentation is the meaning that the docs show.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
        pub enum ErrorCode {
            $($(#[doc = $doc])+ #[serde(rename = $name)] $variant,)+
        }

        impl ErrorCode {
            /// All codes, in the order of the docs.
            pub const ALL: &'static [ErrorCode] = &[$(ErrorCode::$variant),+];

            /// The code as it stands on the wire.
            pub const fn as_str(self) -> &'static str {
                match self { $(ErrorCode::$variant => $name),+ }
            }

            /// Who has to act.
            pub const fn class(self) -> ErrorClass {
                match self { $(ErrorCode::$variant => ErrorClass::$class),+ }
            }

            /// The HTTP status of an answer with this code.
            pub const fn http_status(self) -> u16 {
                match self { $(ErrorCode::$variant => $http),+ }
            }

            /// What to do next, where the error itself brings no better advice.
            pub const fn hint(self) -> &'static str {
                match self { $(ErrorCode::$variant => $hint),+ }
            }

            /// What the code means, in one sentence.
            pub const fn meaning(self) -> &'static str {
                match self { $(ErrorCode::$variant => concat!($($doc),+)),+ }
            }
        }
    };
}

error_codes! {
    /// The request or its arguments are malformed.
    InvalidArgument = "INVALID_ARGUMENT", Validation, 400, "Correct the named argument and call again.";
    /// The server has a token and the request does not carry it.
    Unauthorized = "UNAUTHORIZED", Policy, 401, "Send the header `Authorization: Bearer <token>`.";
    /// The Host or Origin is not one of ours.
    OriginRefused = "ORIGIN_REFUSED", Policy, 403, "Call the server by its loopback address, or add the host to AUTONOUS_TOOL_ALLOWED_HOSTS.";
    /// The tool is switched off, or not allowed for this task.
    ToolNotAllowed = "TOOL_NOT_ALLOWED", Policy, 403, "Use another tool; whoever runs the server can allow this one.";
    /// The path leads outside every allowed root.
    PathOutsideRoots = "PATH_OUTSIDE_ROOTS", Policy, 403, "Use a path beneath an allowed root; a relative path starts at the first root.";
    /// The path has a name that AUTONOUS_TOOL_DENY_PATHS keeps from every tool.
    PathDenied = "PATH_DENIED", Policy, 403, "This path is withheld on purpose; go on without it.";
    /// The path is a control file that makes other programs run code.
    ProtectedPath = "PROTECTED_PATH", Policy, 403, "Tools do not write control files; ask the user to change it.";
    /// The command line has a command that is not permitted.
    CommandDenied = "COMMAND_DENIED", Policy, 403, "Use the tool or the command that the message names.";
    /// The address is not permitted.
    UrlBlocked = "URL_BLOCKED", Policy, 403, "Only public http and https addresses can be fetched.";
    /// A person has to approve this call first.
    ApprovalRequired = "APPROVAL_REQUIRED", Policy, 403, "Ask for approval and call again once it is given.";
    /// A person refused this call.
    ApprovalDenied = "APPROVAL_DENIED", Policy, 403, "Do not repeat the call; ask the user how to go on.";
    /// No tool has this name.
    UnknownTool = "UNKNOWN_TOOL", Validation, 404, "Call one of the tools that GET /tools lists.";
    /// The route exists, but not with this method.
    MethodNotAllowed = "METHOD_NOT_ALLOWED", Validation, 405, "Tools are called with POST.";
    /// The body is larger than the server accepts.
    PayloadTooLarge = "PAYLOAD_TOO_LARGE", Validation, 413, "Send at most 8 MiB; split the work into several calls.";
    /// The body is not declared as plain JSON.
    UnsupportedMediaType = "UNSUPPORTED_MEDIA_TYPE", Validation, 415, "Send the header `Content-Type: application/json` and an unencoded body.";
    /// The file was not read in this session before it was changed.
    NotRead = "NOT_READ", Policy, 409, "Read the file first, then repeat the change.";
    /// The file changed since it was read, or another call got there first.
    Conflict = "CONFLICT", ToolExec, 409, "Read the file again and repeat the change on what it says now.";
    /// The idempotency key was used before with another body.
    IdempotencyConflict = "IDEMPOTENCY_CONFLICT", ToolExec, 409, "Use a new Idempotency-Key for a new call.";
    /// A call with this idempotency key is still running.
    InProgress = "IN_PROGRESS", ToolExec, 409, "Wait and repeat the call with the same key.";
    /// A call with this idempotency key was cut off; its outcome is unknown and it is not run again.
    Interrupted = "INTERRUPTED", ToolExec, 409, "Look at what the call left behind before you repeat it with a new key.";
    /// The tool failed too often in this session and is paused.
    CircuitOpen = "CIRCUIT_OPEN", Policy, 503, "Wait for the time in Retry-After or use another tool.";
    /// Too many calls are running.
    Overloaded = "OVERLOADED", Unknown, 503, "Wait for the time in Retry-After and repeat the call.";
    /// Nothing is at this path.
    NotFound = "NOT_FOUND", ToolExec, 200, "List the parent directory to see what is there.";
    /// The path is a directory where a file is needed.
    IsDirectory = "IS_DIRECTORY", ToolExec, 200, "Name a file; `ls` shows the directory.";
    /// The path is no directory where one is needed.
    NotADirectory = "NOT_A_DIRECTORY", ToolExec, 200, "Name a directory; `ls` of its parent shows what it is.";
    /// The path is a device, pipe, socket or other special file.
    NotARegularFile = "NOT_A_REGULAR_FILE", ToolExec, 200, "Tools open regular files and directories only.";
    /// The file is binary where text is needed.
    BinaryFile = "BINARY_FILE", ToolExec, 200, "Read it by bytes with `offset` and `limit_bytes`.";
    /// The file is larger than the tool handles.
    FileTooLarge = "FILE_TOO_LARGE", ToolExec, 200, "Work on a part of the file, or with `bash`.";
    /// The operating system refused access.
    PermissionDenied = "PERMISSION_DENIED", ToolExec, 200, "The server's user has no right to this file.";
    /// The text to replace is not in the file.
    NoMatch = "NO_MATCH", ToolExec, 200, "Read the file and copy the text exactly.";
    /// The text to replace occurs more than once.
    NotUnique = "NOT_UNIQUE", ToolExec, 200, "Add surrounding lines to `find`, or set `all`.";
    /// The command ended with a code that is not 0.
    ExitNonzero = "EXIT_NONZERO", ToolExec, 200, "Read stderr for the cause.";
    /// The caller went away and the call was ended.
    Cancelled = "CANCELLED", ToolExec, 200, "Repeat the call if its result is still needed.";
    /// Reading or writing failed in the operating system.
    IoError = "IO_ERROR", ToolExec, 200, "Repeat the call; if it fails again, the disk or file system needs attention.";
    /// The call did not end in its time.
    Timeout = "TIMEOUT", Timeout, 504, "Ask for less in one call, or give a command a longer `timeout_seconds`.";
    /// The command could not be confined, so it was not run.
    SandboxFailed = "SANDBOX_FAILED", Unknown, 500, "GET /capabilities says which layer is missing.";
    /// The server made a mistake.
    Internal = "INTERNAL", Unknown, 500, "The server's log has the cause under the call's id.";
}

impl ErrorCode {
    /// Whether the same call can succeed later without any change to it.
    pub const fn retryable(self) -> bool {
        matches!(
            self,
            Self::CircuitOpen | Self::Overloaded | Self::InProgress | Self::IoError | Self::Timeout
        )
    }
}

impl std::fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A failed call, as the caller sees it. The cause that only the log should see never gets in here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[error("{code}: {message}")]
pub struct ToolError {
    /// Who has to act.
    pub class: ErrorClass,
    /// What failed.
    pub code: ErrorCode,
    /// What was wrong, for the caller.
    pub message: String,
    /// What to do next.
    pub hint: String,
    /// Whether the same call can succeed later.
    pub retryable: bool,
    /// After how many seconds, where that is known; the `Retry-After` header.
    #[serde(skip)]
    pub retry_after_seconds: Option<u64>,
    /// Another HTTP status than the code's: a command that was ended at its deadline did run.
    #[serde(skip)]
    pub http_status: Option<u16>,
}

impl ToolError {
    /// An error with the standing hint of its code.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            class: code.class(),
            code,
            message: message.into(),
            hint: code.hint().to_owned(),
            retryable: code.retryable(),
            retry_after_seconds: None,
            http_status: None,
        }
    }

    /// The same error with the time after which the call can be repeated.
    #[must_use]
    pub fn with_retry_after(mut self, seconds: u64) -> Self {
        self.retry_after_seconds = Some(seconds);
        self
    }

    /// The same error with better advice than the code's own.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }

    /// The exit code of a tool that is no command: 2 for what the caller or policy has to change, 124 for
    /// a deadline, 1 for the rest.
    pub const fn exit_code(&self) -> i32 {
        match self.class {
            ErrorClass::Validation | ErrorClass::Policy => 2,
            ErrorClass::Timeout => 124,
            ErrorClass::ToolExec | ErrorClass::Unknown => 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wire_name_of_every_code_is_its_serialised_form() {
        for code in ErrorCode::ALL {
            assert_eq!(serde_json::to_value(code).unwrap(), code.as_str());
        }
    }

    #[test]
    fn every_code_says_what_it_means_and_what_to_do() {
        for code in ErrorCode::ALL {
            assert!(code.meaning().trim().ends_with('.'), "{code}");
            assert!(code.hint().ends_with('.'), "{code}");
        }
    }
}
