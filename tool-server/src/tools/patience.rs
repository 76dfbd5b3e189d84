//! How long a call waits for its command: to its end, for a while, or not at all.

use std::time::Duration;

use cage::command::{CommandData, CommandRequest};
use protocol::ToolError;
use serde_json::Value;
use toolkit::arguments::invalid;
use toolkit::{Call, Outcome};

use crate::tool_context::ToolContext;

/// What a call says about it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Patience {
    /// Whether it is answered at once.
    pub(super) background: bool,
    /// After how long the command runs on without it.
    pub(super) yield_after_seconds: Option<u64>,
    /// How long the command may run.
    pub(super) timeout_seconds: Option<u64>,
}

impl Patience {
    /// The same, if it does not contradict itself.
    pub(super) fn checked(self, allow_control_files: bool) -> Result<Self, ToolError> {
        let Some(seconds) = self.yield_after_seconds else { return Ok(self) };
        if self.background {
            let message = "`background` and `yield_after_seconds` exclude each other.";
            let hint = format!(
                "Leave out `background` to wait {seconds} s for the command, or `yield_after_seconds` not to \
                 wait."
            );
            return Err(invalid(message).with_hint(hint));
        }
        if allow_control_files {
            let message = "A command that may leave control files cannot run on in the background.";
            let hint = "Leave out `yield_after_seconds` and set `timeout_seconds`, or leave out \
                        `allow_control_files`.";
            return Err(invalid(message).with_hint(hint));
        }
        Ok(self)
    }

    /// Whether the call waits to the end of its command.
    pub(super) fn waits(self) -> bool {
        !self.background && self.yield_after_seconds.is_none()
    }

    /// What arguments say that may not be valid.
    pub(super) fn of(arguments: &Value) -> Self {
        Self {
            background: arguments["background"] == true,
            yield_after_seconds: arguments["yield_after_seconds"].as_u64(),
            timeout_seconds: arguments["timeout_seconds"].as_u64(),
        }
    }

    /// How long the call may take.
    pub(super) fn timeout(self, context: &ToolContext) -> Duration {
        // A background process has its time for itself, when the call has long been answered.
        let usual = context.command_timeout(None);
        match self.yield_after_seconds {
            Some(seconds) => usual.max(Duration::from_secs(seconds)),
            None if self.background => usual,
            None => context.command_timeout(self.timeout_seconds),
        }
    }

    /// What a person reads about it.
    pub(super) fn in_words(self) -> String {
        let when = match self.yield_after_seconds {
            None if !self.background => return String::new(),
            None => "runs on in the background".to_owned(),
            Some(seconds) => format!("runs on in the background when it takes longer than {seconds} s"),
        };
        format!("{when}, and takes input for which no person is asked\n")
    }

    /// Runs a command; `command` is its short form.
    pub(super) fn run(
        self,
        context: &ToolContext,
        call: &Call,
        request: CommandRequest,
        command: String,
    ) -> Outcome<CommandData> {
        let commands = &context.commands;
        if self.waits() {
            let timeout = context.command_timeout(self.timeout_seconds);
            return commands.run(call, CommandRequest { timeout, ..request });
        }
        let timeout = self.timeout_seconds.map_or(Duration::MAX, Duration::from_secs);
        let request = CommandRequest { timeout, ..request };
        match self.yield_after_seconds {
            Some(seconds) => commands.run_or_leave(call, request, command, Duration::from_secs(seconds)),
            None => commands.start_in_background(call, request, command),
        }
    }
}
