//! The commands of a chat, such as `/cancel`: carried out by the supervisor, at once and without a model.
//!
//! A channel decides whether a text is addressed to us and who may give commands. What a command changes is
//! changed in the transaction that stores its message, so a message that comes twice is carried out once.

mod cancel;
mod retry;

use protocol::EventId;
use rusqlite::Connection;

use crate::channel::Chat;
use crate::store::StoreError;

/// The most characters of a message that an answer quotes.
const MAX_QUOTED_CHARS: usize = 80;

/// What a message asks the supervisor itself to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Command {
    /// Cancel what is running in this chat, or else the newest waiting message; with `all`, everything.
    Cancel { all: bool },
    /// Run the newest message again that failed or was skipped.
    Retry,
}

/// What a text means that may be a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Parsed {
    Command(Command),
    /// One of ours with arguments that it does not take: how it is used.
    Misused(&'static str),
}

/// The command that a text is; none if it is not one of ours.
pub(crate) fn parse(text: &str) -> Option<Parsed> {
    let mut words = text.split_whitespace();
    let name = words.next()?.strip_prefix('/')?;
    let arguments: Vec<&str> = words.collect();
    Some(match (name, arguments.as_slice()) {
        ("cancel", []) => Parsed::Command(Command::Cancel { all: false }),
        ("cancel", ["all"]) => Parsed::Command(Command::Cancel { all: true }),
        ("cancel", _) => Parsed::Misused(cancel::USAGE),
        ("retry", []) => Parsed::Command(Command::Retry),
        ("retry", _) => Parsed::Misused(retry::USAGE),
        _ => return None,
    })
}

/// Carries out a command of a chat and returns the answer.
pub(crate) fn carry_out(
    connection: &Connection,
    command: &Command,
    chat: &Chat,
    run: &EventId,
) -> Result<String, StoreError> {
    match command {
        Command::Cancel { all } => cancel::carry_out(connection, chat, *all),
        Command::Retry => retry::carry_out(connection, chat, run),
    }
}

/// The beginning of a message, in one line, as answers quote it.
fn shortened(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut kept: String = line.chars().take(MAX_QUOTED_CHARS).collect();
    if kept.len() < line.len() {
        kept.push('…');
    }
    format!("“{kept}”")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_a_command_with_its_arguments_or_none_of_ours() {
        for (text, expected) in [
            ("/cancel", "Some(Command(Cancel { all: false }))"),
            (" /cancel ", "Some(Command(Cancel { all: false }))"),
            ("/cancel  all", "Some(Command(Cancel { all: true }))"),
            ("/cancel please", "Some(Misused("),
            ("/cancel all of it", "Some(Misused("),
            ("/cancelled flights", "None"),
            ("cancel", "None"),
            ("/retry", "Some(Command(Retry))"),
            ("/retry all", "Some(Misused("),
            ("/ls path=.", "None"),
            ("/", "None"),
            ("", "None"),
        ] {
            let parsed = format!("{:?}", parse(text));
            assert!(parsed.starts_with(expected), "{text:?}: {parsed}");
        }
    }
}
