//! Which commands the `bash` tool refuses to try, and what to do instead.
//!
//! The kernel decides what a command can do. The policy saves the model time: a program that needs a
//! terminal, rights or a network that are missing is refused at once with a hint, instead of failing in
//! some way of its own. The line is parsed and its command words are judged, wherever they stand; what only
//! the running shell knows is left to the kernel and never refused for being unknown.
//!
//! Everything here is a pure function of the line and the settings: it opens no file and reads no
//! environment. Safety must never depend on it.

mod aliases;
mod arguments;
mod command;
mod complexity;
mod machine;
mod markdown;
mod mentioned;
mod network;
mod parse;
pub mod programs;
mod reader;
mod reading;
mod settings;
mod simple_commands;
mod single_command;
mod table;
mod terminal;
mod values;
mod word;
mod wrappers;

use std::borrow::Cow;
use std::path::PathBuf;

use protocol::{ErrorCode, ToolError};

pub use aliases::expand_aliases;
pub use markdown::markdown;
pub use mentioned::{Mentioned, mentioned};
use reading::Reading;
pub use settings::PolicySettings;
pub use simple_commands::simple_commands;
pub use table::{EXAMPLE_DENIED_WORD, RULES, Rule};

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

    /// The same policy in other roots, the first of which relative paths start at.
    pub fn within(&self, roots: &[PathBuf]) -> Cow<'_, Self> {
        if self.settings.roots == roots {
            return Cow::Borrowed(self);
        }
        Cow::Owned(Self { settings: PolicySettings { roots: roots.to_vec(), ..self.settings.clone() } })
    }

    /// Judges one command line, as it would be given to `bash -c` in `workdir`, which is absolute or
    /// relative to the first root.
    ///
    /// # Errors
    /// `COMMAND_DENIED` with the command word and the reason in the message and the better way in the
    /// hint; `INVALID_ARGUMENT` for a NUL byte and for more than 64 KiB.
    pub fn judge(&self, command_line: &str, workdir: Option<&str>) -> Result<(), ToolError> {
        let line = reader::read(command_line)?;
        for command in &line.commands {
            if let Some(rule) = RULES.iter().find(|rule| rule.refuses(command, &self.settings)) {
                return Err(refusal(&command.spelled, rule, rule.hint));
            }
        }
        let Some(single) = &line.single else { return Ok(()) };
        let Some(reading) = Reading::new(single, workdir, &self.settings) else { return Ok(()) };
        let mut calls = RULES.iter().filter_map(|rule| Some((rule, rule.tool_call(&reading)?)));
        match calls.find(|(_, call)| !self.settings.disabled_tools.contains(call.tool)) {
            Some((rule, call)) => Err(refusal(reading.name, rule, &call.hint())),
            None => Ok(()),
        }
    }
}

fn refusal(spelled: &str, rule: &Rule, hint: &str) -> ToolError {
    let message = format!("`{spelled}` was not run: {}", rule.reason);
    ToolError::new(ErrorCode::CommandDenied, message).with_hint(hint)
}
