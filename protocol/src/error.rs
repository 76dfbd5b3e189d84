//! All error codes of tool calls, in one list.
//!
//! Each code has its class, HTTP status and default hint, so no client matches an error's text. The table
//! in `docs/errors.md` is generated from this list.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Who must act on a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorClass {
    /// The request is malformed; the caller must correct it.
    Validation,
    /// The request is valid but not permitted.
    Policy,
    /// The tool ran, and the failure is its result.
    ToolExec,
    /// A deadline passed.
    Timeout,
    /// The server itself failed.
    Unknown,
}

macro_rules! error_codes {
    ($(
        $(#[doc = $doc:literal])+
        $variant:ident = $name:literal, $class:ident, $http:literal, $hint:expr;
    )+) => {
        /// Why a call failed. The docs show each variant's doc comment as its meaning.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
        pub enum ErrorCode {
            $($(#[doc = $doc])+ #[serde(rename = $name)] $variant,)+
        }

        impl ErrorCode {
            /// All codes, in the order of the docs.
            pub const ALL: &'static [ErrorCode] = &[$(ErrorCode::$variant),+];

            /// The code on the wire.
            pub const fn as_str(self) -> &'static str {
                match self { $(ErrorCode::$variant => $name),+ }
            }

            /// Who must act.
            pub const fn class(self) -> ErrorClass {
                match self { $(ErrorCode::$variant => ErrorClass::$class),+ }
            }

            /// The HTTP status of a response with this code.
            pub const fn http_status(self) -> u16 {
                match self { $(ErrorCode::$variant => $http),+ }
            }

            /// What to do next, unless the error itself has better advice.
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
    OriginRefused = "ORIGIN_REFUSED", Policy, 403,
        "Call the server by its loopback address, or add the host to AUTONOUS_TOOL_ALLOWED_HOSTS.";
    /// The tool is disabled, or not allowed for this task.
    ToolNotAllowed = "TOOL_NOT_ALLOWED", Policy, 403,
        "Use another tool; the server's operator can allow this one.";
    /// The path leads outside every allowed root.
    PathOutsideRoots = "PATH_OUTSIDE_ROOTS", Policy, 403,
        "Use a path beneath an allowed root; a relative path starts at the first root.";
    /// The path matches AUTONOUS_TOOL_DENY_PATHS, so no tool may use it.
    PathDenied = "PATH_DENIED", Policy, 403, "This path is withheld on purpose; continue without it.";
    /// The path is a control file that makes other programs run code.
    ProtectedPath = "PROTECTED_PATH", Policy, 403,
        "Tools do not write control files; ask the user to change it.";
    /// The command line contains a command that is not permitted.
    CommandDenied = "COMMAND_DENIED", Policy, 403, "Use the tool or the command that the message names.";
    /// The address is not permitted.
    UrlBlocked = "URL_BLOCKED", Policy, 403, "Only public http and https addresses can be fetched.";
    /// A person must approve this call first.
    ApprovalRequired = "APPROVAL_REQUIRED", Policy, 403, "Ask for approval, then call again.";
    /// A person refused this call.
    ApprovalDenied = "APPROVAL_DENIED", Policy, 403, "Do not repeat the call; ask the user how to continue.";
    /// A limit of the day is used up.
    QuotaExceeded = "QUOTA_EXCEEDED", Policy, 429, "Wait as long as Retry-After says, then repeat the call.";
    /// No tool has this name.
    UnknownTool = "UNKNOWN_TOOL", Validation, 404, "Call one of the tools listed by GET /tools.";
    /// The route exists, but not with this method.
    MethodNotAllowed = "METHOD_NOT_ALLOWED", Validation, 405, "Tools are called with POST.";
    /// The body is larger than the server accepts.
    PayloadTooLarge = "PAYLOAD_TOO_LARGE", Validation, 413,
        "Send at most 8 MiB; split the work into several calls.";
    /// The body is not declared as JSON.
    UnsupportedMediaType = "UNSUPPORTED_MEDIA_TYPE", Validation, 415,
        "Send the header `Content-Type: application/json` and an unencoded body.";
    /// The approval was decided before, or it has expired.
    ApprovalDecided = "APPROVAL_DECIDED", Policy, 409, "The first decision holds; `meta.data` has it.";
    /// The file was not read in this session before it was changed.
    NotRead = "NOT_READ", Policy, 409, "Read the file first, then repeat the change.";
    /// The file changed since it was read, or another call changed it first.
    Conflict = "CONFLICT", ToolExec, 409, "Read the file again and apply the change to its current content.";
    /// The idempotency key was used before with another body.
    IdempotencyConflict = "IDEMPOTENCY_CONFLICT", ToolExec, 409, "Use a new Idempotency-Key for a new call.";
    /// A call with this idempotency key is still running.
    InProgress = "IN_PROGRESS", ToolExec, 409, "Wait and repeat the call with the same key.";
    /// A call with this idempotency key was interrupted; its outcome is unknown and it does not run again.
    Interrupted = "INTERRUPTED", ToolExec, 409,
        "Check what the call left behind before you repeat it with a new key.";
    /// The tool failed too often in this session and is paused.
    CircuitOpen = "CIRCUIT_OPEN", Policy, 503, "Wait as long as Retry-After says, or use another tool.";
    /// Too many calls are running.
    Overloaded = "OVERLOADED", Unknown, 503, "Wait as long as Retry-After says, then repeat the call.";
    /// Nothing exists at this path.
    NotFound = "NOT_FOUND", ToolExec, 200, "List the parent directory to see its content.";
    /// The path is a directory, and the tool needs a file.
    IsDirectory = "IS_DIRECTORY", ToolExec, 200, "Name a file; `ls` shows the directory.";
    /// The path is not a directory, and the tool needs one.
    NotADirectory = "NOT_A_DIRECTORY", ToolExec, 200,
        "Name a directory; `ls` its parent to see what the path is.";
    /// The path is a device, pipe, socket or other special file.
    NotARegularFile = "NOT_A_REGULAR_FILE", ToolExec, 200, "Tools open regular files and directories only.";
    /// The file is binary, and the tool needs text.
    BinaryFile = "BINARY_FILE", ToolExec, 200, "Read it by bytes with `offset` and `limit_bytes`.";
    /// The file is too large for the tool.
    FileTooLarge = "FILE_TOO_LARGE", ToolExec, 200, "Work on a part of the file, or use `bash`.";
    /// The operating system refused access.
    PermissionDenied = "PERMISSION_DENIED", ToolExec, 200,
        "The server's user has no permission for this file.";
    /// The text to replace is not in the file.
    NoMatch = "NO_MATCH", ToolExec, 200, "Read the file and copy the text exactly.";
    /// The text to replace occurs more than once.
    NotUnique = "NOT_UNIQUE", ToolExec, 200, "Add surrounding lines to `find`, or set `all`.";
    /// The command exited with a code other than 0.
    ExitNonzero = "EXIT_NONZERO", ToolExec, 200, "Read stderr for the cause.";
    /// The caller disconnected, so the call was ended.
    Cancelled = "CANCELLED", ToolExec, 200, "Repeat the call if its result is still needed.";
    /// The operating system could not read or write.
    IoError = "IO_ERROR", ToolExec, 200,
        "Repeat the call; if it fails again, check the disk and the file system.";
    /// The call did not finish in time.
    Timeout = "TIMEOUT", Timeout, 504,
        "Ask for less in one call, or give a command a longer `timeout_seconds`.";
    /// The command could not be confined, so it was not run.
    SandboxFailed = "SANDBOX_FAILED", Unknown, 500, "GET /capabilities shows which layer is missing.";
    /// Internal error in the server.
    Internal = "INTERNAL", Unknown, 500, "The server's log has the cause under the call's ID.";
}

impl ErrorCode {
    /// Whether the same call can succeed later.
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

/// A failed call, as the caller sees it. Causes that only the log should show never get in here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[error("{code}: {message}")]
pub struct ToolError {
    /// Who must act.
    pub class: ErrorClass,
    /// What failed.
    pub code: ErrorCode,
    /// What was wrong, for the caller.
    pub message: String,
    /// What to do next.
    pub hint: String,
    /// Whether the same call can succeed later.
    pub retryable: bool,
    /// After how many seconds, if known; the `Retry-After` header.
    #[serde(skip)]
    pub retry_after_seconds: Option<u64>,
    /// The other machine that failed, if one did. Only calls that need the same one are paused for it.
    #[serde(skip)]
    pub failed_at: Option<String>,
    /// Overrides the code's HTTP status: a command that was ended at its deadline did run.
    #[serde(skip)]
    pub http_status: Option<u16>,
}

impl ToolError {
    /// An error with the default hint of its code.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            class: code.class(),
            code,
            message: message.into(),
            hint: code.hint().to_owned(),
            retryable: code.retryable(),
            retry_after_seconds: None,
            failed_at: None,
            http_status: None,
        }
    }

    /// Adds the time after which the call can be repeated.
    #[must_use]
    pub fn with_retry_after(mut self, seconds: u64) -> Self {
        self.retry_after_seconds = Some(seconds);
        self
    }

    /// Replaces the default hint.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }

    /// The exit code of a tool that is not a command: 2 if the caller or the policy must change something,
    /// 124 for a deadline, 1 otherwise.
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
    fn every_code_has_one_name_a_meaning_and_a_hint() {
        for code in ErrorCode::ALL {
            assert_eq!(serde_json::to_value(code).unwrap(), code.as_str());
            assert!(code.meaning().trim().ends_with('.'), "{code}");
            assert!(code.hint().ends_with('.'), "{code}");
        }
    }
}
