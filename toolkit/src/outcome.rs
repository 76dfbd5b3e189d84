//! What a tool returns: a success, whole or partial, or a failure.

use protocol::{Data, ErrorClass, FullOutput, ToolError};
use serde::Serialize;

use crate::locks::Seen;
use crate::output::Full;

/// How a tool's run ended.
pub type Outcome<T> = Result<Success<T>, Failure>;

/// A result that the caller can use.
#[derive(Debug, Clone, Default)]
pub struct Success<T> {
    /// The result and nothing else.
    pub stdout: String,
    /// The same as data.
    pub data: T,
    /// What was cut, skipped or assumed, and how to continue.
    pub notices: Vec<String>,
    /// Why this is not the whole result; none when it is.
    pub partial: Option<PartialReason>,
    /// Whether `stdout` ended at the line bound.
    pub truncated_lines: bool,
    /// Whether `stdout` ended at the byte bound.
    pub truncated_bytes: bool,
    /// Where the next page starts.
    pub next_page_cursor: Option<String>,
    /// The absolute path that the path argument resolved to.
    pub path_resolved: Option<String>,
    /// Whether the tool itself replaced a secret that redaction cannot see in the shown text.
    pub redacted: bool,
    /// Whether it comes from outside, such as from the web.
    pub untrusted: bool,
    /// What the session knows of a file from now on.
    pub seen: Option<Seen>,
    /// The tools that the task may call from now on; reading a skill narrows them.
    pub allowed_tools: Option<Vec<String>>,
    /// A command's own stderr; other tools leave it out and get their error and notices there.
    pub stderr: Option<String>,
    /// Where the whole output is, when it was cut.
    pub full_output: Option<FullOutput>,
}

/// Why a success is not the whole result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartialReason {
    /// The output reached a limit.
    Cut(Full),
    /// The search stopped before it had seen everything.
    StoppedEarly,
    /// A part that belongs to the result could not be searched.
    Skipped,
    /// Nothing was changed.
    DryRun,
    /// It is what a server answered that did not do what it was asked.
    ErrorStatus,
}

impl PartialReason {
    /// The exit code of such a success.
    pub(crate) const fn exit_code(self) -> i32 {
        match self {
            Self::ErrorStatus => 1,
            Self::Cut(_) | Self::StoppedEarly | Self::Skipped | Self::DryRun => 0,
        }
    }

    /// What the caller reads. The tool words the other reasons itself: they come with numbers.
    pub(crate) fn notice(self) -> Option<&'static str> {
        match self {
            Self::DryRun => Some("This was a dry run: nothing was changed."),
            Self::Cut(_) | Self::StoppedEarly | Self::Skipped | Self::ErrorStatus => None,
        }
    }
}

impl<T> Success<T> {
    /// The same success, marked as cut if `full` names the limit that cut it. An earlier reason stays.
    #[must_use]
    pub fn cut_at(mut self, full: Option<Full>) -> Self {
        self.partial = self.partial.or(full.map(PartialReason::Cut));
        self.truncated_lines |= full == Some(Full::Lines);
        self.truncated_bytes |= full == Some(Full::Bytes);
        self
    }

    /// The same success with its data as JSON.
    pub(crate) fn erase(self) -> Success<Data>
    where
        T: Serialize,
    {
        Success {
            data: Data::of(&self.data),
            stdout: self.stdout,
            notices: self.notices,
            partial: self.partial,
            truncated_lines: self.truncated_lines,
            truncated_bytes: self.truncated_bytes,
            next_page_cursor: self.next_page_cursor,
            path_resolved: self.path_resolved,
            redacted: self.redacted,
            untrusted: self.untrusted,
            seen: self.seen,
            allowed_tools: self.allowed_tools,
            stderr: self.stderr,
            full_output: self.full_output,
        }
    }
}

/// Why a call failed, and what it can show nevertheless.
#[derive(Debug, Clone)]
pub struct Failure {
    /// Why it failed.
    pub error: ToolError,
    pub(crate) exit_code: i32,
    pub(crate) shown: Option<Box<Success<Data>>>,
}

impl Failure {
    /// A failure with data for the caller.
    pub fn with_data<T: Serialize>(error: ToolError, data: &T) -> Self {
        let shown = Success { data: Data::of(data), ..Success::default() };
        Self { exit_code: error.exit_code(), error, shown: Some(Box::new(shown)) }
    }

    /// The same failure with the mark of what comes from outside: a tool that ran may quote who answered it.
    pub(crate) fn marked_as_outside(mut self) -> Self {
        if self.error.class == ErrorClass::ToolExec {
            self.shown.get_or_insert_default().untrusted = true;
        }
        self
    }

    /// The failure of a command that ran: its own exit code, and what it printed.
    pub fn of_command<T: Serialize>(error: ToolError, exit_code: i32, shown: Success<T>) -> Self {
        Self { error, exit_code, shown: Some(Box::new(shown.erase())) }
    }

    /// The exit code; of a command that ran its own.
    pub fn exit_code(&self) -> i32 {
        self.exit_code
    }

    /// What a command that ran said about it.
    pub fn stderr(&self) -> &str {
        self.shown.as_ref().and_then(|shown| shown.stderr.as_deref()).unwrap_or_default()
    }
}

impl From<ToolError> for Failure {
    fn from(error: ToolError) -> Self {
        Self { exit_code: error.exit_code(), error, shown: None }
    }
}
