//! Which commands the `bash` tool does not even try, and what to do instead.
//!
//! The kernel decides what a command can do. The policy is a courtesy to whoever wrote the line: a
//! program that waits for a terminal, or needs rights or a network that are not there, is refused at
//! once with the better way, instead of after a time-out with a riddle. So the line is parsed and its
//! command words are judged, wherever in it they stand; what only the running shell can know is left to
//! the kernel and never refused for being unknown.
//!
//! Everything in here is a pure function of the line and the settings: it opens no file, asks no
//! environment, and must never be what safety rests upon.

mod addresses;
mod alone;
mod arguments;
mod carrier;
mod command;
mod functions;
mod parse;
mod paths;
mod reader;
mod rules;
mod strict;
mod table;
mod tangle;
mod walk;
mod word;

use std::path::PathBuf;

use protocol::{ErrorCode, ToolError};

use command::Command;
pub use rules::{EXAMPLE_DENIED_WORD, Rule, all as rules};
pub use table::markdown;

/// What the policy depends on.
#[derive(Debug, Clone, Default)]
pub struct PolicySettings {
    /// Whether commands have the network.
    pub network: bool,
    /// Further words to refuse, from `AUTONOUS_TOOL_BASH_DENYLIST`.
    pub extra_denied: Vec<String>,
    /// The allowed roots, absolute and clean.
    pub roots: Vec<PathBuf>,
}

/// Judges command lines.
#[derive(Debug, Clone)]
pub struct Policy {
    settings: PolicySettings,
}

impl Policy {
    /// A policy with these settings.
    pub fn new(settings: PolicySettings) -> Self {
        Self { settings }
    }

    /// Judges one command line, as it would be given to `bash -c`.
    ///
    /// # Errors
    /// `COMMAND_DENIED` with the command word and the reason in the message and the better way in the
    /// hint; `INVALID_ARGUMENT` for a NUL byte and for more than 64 KiB.
    pub fn judge(&self, command_line: &str) -> Result<(), ToolError> {
        let line = reader::read(command_line)?;
        for command in &line.commands {
            if let Some(rule) = self.rule_against(command) {
                return Err(refusal(command, rule, line.broken));
            }
        }
        Ok(())
    }

    fn rule_against(&self, command: &Command) -> Option<&'static Rule> {
        rules().find(|rule| rule.refuses(command, &self.settings))
    }
}

fn refusal(command: &Command, rule: &Rule, broken: bool) -> ToolError {
    let strictly = if broken {
        " The line has a part that is no valid shell syntax, so each of its words was taken for a command."
    } else {
        ""
    };
    let message = format!("`{}` was not run: {}{strictly}", command.spelled, rule.reason);
    ToolError::new(ErrorCode::CommandDenied, message).with_hint(rule.hint)
}
