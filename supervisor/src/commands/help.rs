//! `/help` and `/start`.

use std::fmt::Write as _;

use super::COMMANDS;
use super::models::Models;

const WHAT_I_AM: &str = "I am Autonous, an agent that works on a machine for you. I read, write and search \
     files in my workspace and run commands in a sandbox; I reach nothing else of the machine. Everything \
     that I do is recorded.";

const EXAMPLES: &str = "Write what you want done, such as:\n\
     • What is in the workspace?\n\
     • Write a script that renames all photos by date, and try it.\n\
     • Find all TODOs in the project and sort them by file.";

const EXAMPLES_WITHOUT_MODEL: &str = "No model is configured, so each message is the call of a tool, such \
     as:\n\
     • ls path=.\n\
     • grep pattern=TODO\n\
     • bash cmd=\"date\"";

pub(super) fn text(models: &Models) -> String {
    let examples = if models.is_without_model() { EXAMPLES_WITHOUT_MODEL } else { EXAMPLES };
    let mut text = format!("{WHAT_I_AM}\n\n{examples}\n");
    for command in COMMANDS.iter().filter(|command| !command.summary.starts_with("The same")) {
        let _ = write!(text, "\n/{} – {}", command.name, command.summary);
    }
    text
}
