//! The commands of a chat, such as `/cancel`: carried out by the supervisor, at once and without a model.
//!
//! A channel decides whether a text is addressed to us and who may give commands. What a command changes is
//! changed in the transaction that stores its message, so a message that comes twice is carried out once.
//!
//! To add one, write its file, and add its line to [`COMMANDS`] and its arms to [`Command`].

mod approvals;
mod cancel;
pub(crate) mod context;
mod files;
mod help;
pub(crate) mod language;
mod model;
pub(crate) mod models;
mod new;
mod owner;
mod pairings;
mod retry;
mod status;
mod undo;
mod whoami;

use channel::{Access, Chat, Delivery, Described};
use protocol::{EventId, Origin, TaskId};
use settings::quotas::Limits;
use store::file_requests::Kind;
use store::sql::Connection;
use store::{StoreError, said};
use texts::{Language, Text};
use tokio::sync::Notify;

use crate::health::Board;
use crate::overheard::Overheard;
use models::Models;

/// The most characters of a message that an answer quotes.
const MAX_QUOTED_CHARS: usize = 80;

/// What a message asks the supervisor itself to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Command {
    /// Say what this is and what it may do.
    Help,
    /// Say what runs, what waits, and what was used today.
    Status,
    /// Cancel the task that runs in this chat, or else the newest waiting message; with `all`, everything.
    Cancel { all: bool },
    /// Begin a new conversation.
    New,
    /// Do this after what runs, and not as a part of it.
    Queue { text: String },
    /// Run the newest message again that failed or was skipped.
    Retry,
    /// Take back what the last task changed in files.
    Undo,
    /// Say which model works for this chat, or choose another one.
    Model { name: Option<String> },
    /// Ask for the language of this chat, or choose it.
    Language { code: Option<String> },
    /// Say whether the model reads what a group wrote before, or change it.
    Context { change: Option<bool> },
    /// List a directory.
    Files { path: String },
    /// Send a file.
    Get { path: String },
    /// Ask once more about the calls that wait for a decision.
    Approvals,
    /// Say which strangers want to use the bot, and ask about them again.
    Pairings,
    /// List the chats that may use the bot.
    Chats,
    /// Take a pairing back.
    Unpair { chat: String },
    /// List what all chats have set for later.
    Schedules,
    /// Say what the models used.
    Usage,
    /// Say how each part is.
    Health,
    /// Say who writes, and where.
    WhoAmI,
}

/// What a text means that may be a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Parsed {
    Command(Command),
    /// One of ours with arguments that it does not take: how it is used.
    Misused(Text<'static>),
}

/// All commands, in the order of the menu.
pub(crate) const COMMANDS: [Described; 22] = [
    Described::general("help", Text::SummaryHelp),
    Described::general("status", Text::SummaryStatus),
    Described::general("stop", Text::SummaryStop),
    Described::general("cancel", Text::SummarySameAsStop),
    Described::general("new", Text::SummaryNew),
    Described::general("queue", Text::SummaryQueue),
    Described::general("retry", Text::SummaryRetry),
    Described::general("undo", Text::SummaryUndo),
    Described::general("files", Text::SummaryFiles),
    Described::general("get", Text::SummaryGet),
    Described::general("model", Text::SummaryModel),
    Described::general("language", Text::SummaryLanguage),
    Described::general("context", Text::SummaryContext),
    Described::general("approvals", Text::SummaryApprovals),
    Described::owners("pairings", Text::SummaryPairings),
    Described::owners("chats", Text::SummaryChats),
    Described::owners("unpair", Text::SummaryUnpair),
    Described::owners("schedules", Text::SummarySchedules),
    Described::owners("usage", Text::SummaryUsage),
    Described::owners("health", Text::SummaryHealth),
    Described::general("whoami", Text::SummaryWhoAmI),
    Described::general("start", Text::SummarySameAsHelp),
];

/// What a command may look at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Context<'a> {
    pub chat: &'a Chat,
    /// The message that gave it.
    pub task: &'a TaskId,
    /// Who gave it.
    pub origin: Option<&'a Origin>,
    pub models: &'a Models,
    /// What chats and users may use in a day.
    pub limits: &'a Limits,
    /// Notified when files are asked for.
    pub file_requests: &'a Notify,
    /// This run's `process.started`.
    pub run: &'a EventId,
    /// How answers reach the chat.
    pub delivery: Delivery,
    /// Who may use the channel.
    pub access: &'a Access,
    /// How each part is.
    pub board: &'a Board,
    /// Whether the owner of the bot gave it.
    pub is_owner: bool,
    /// Whether its sender administers the group, or is the owner of the bot.
    pub administers: bool,
    /// What groups wrote that have allowed it.
    pub overheard: &'a Overheard,
    /// That of its chat.
    pub language: Language,
}

/// The command that a text is; none if it is not one of ours. A link to the bot may add a word to `/start`.
pub(crate) fn parse(text: &str) -> Option<Parsed> {
    let text = text.trim();
    let (name, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let name = name.strip_prefix('/')?.to_ascii_lowercase();
    let arguments: Vec<&str> = rest.split_whitespace().collect();
    let path = || rest.trim().to_owned();
    // One that takes no arguments.
    let alone = |command, usage| match arguments.as_slice() {
        [] => Parsed::Command(command),
        _ => Parsed::Misused(usage),
    };
    Some(match (name.as_str(), arguments.as_slice()) {
        ("start" | "help", _) => Parsed::Command(Command::Help),
        ("stop" | "cancel", []) => Parsed::Command(Command::Cancel { all: false }),
        ("stop" | "cancel", ["all"]) => Parsed::Command(Command::Cancel { all: true }),
        ("stop" | "cancel", _) => Parsed::Misused(Text::CancelUsage),
        ("status", _) => alone(Command::Status, Text::TakesNothing { command: "status" }),
        ("new", _) => alone(Command::New, Text::NewUsage),
        ("queue", []) => Parsed::Misused(Text::QueueUsage),
        ("queue", _) => Parsed::Command(Command::Queue { text: path() }),
        ("retry", _) => alone(Command::Retry, Text::RetryUsage),
        ("undo", _) => alone(Command::Undo, Text::UndoUsage),
        ("model", []) => Parsed::Command(Command::Model { name: None }),
        ("model", [name]) => Parsed::Command(Command::Model { name: Some((*name).to_owned()) }),
        ("model", _) => Parsed::Misused(Text::ModelUsage),
        ("language", []) => Parsed::Command(Command::Language { code: None }),
        ("language", _) => Parsed::Command(Command::Language { code: Some(path()) }),
        ("context", []) => Parsed::Command(Command::Context { change: None }),
        ("context", ["on" | "off"]) => Parsed::Command(Command::Context { change: Some(path() == "on") }),
        ("context", _) => Parsed::Misused(Text::ContextUsage),
        ("files", []) => Parsed::Command(Command::Files { path: ".".to_owned() }),
        ("files", _) => Parsed::Command(Command::Files { path: path() }),
        ("get", []) => Parsed::Misused(Text::GetUsage),
        ("get", _) => Parsed::Command(Command::Get { path: path() }),
        ("approvals", _) => alone(Command::Approvals, Text::TakesNothing { command: "approvals" }),
        ("pairings", _) => alone(Command::Pairings, Text::TakesNothing { command: "pairings" }),
        ("chats", _) => alone(Command::Chats, Text::NothingFollows),
        ("unpair", [chat]) => Parsed::Command(Command::Unpair { chat: (*chat).to_owned() }),
        ("unpair", _) => Parsed::Misused(Text::UnpairUsage),
        ("schedules", _) => alone(Command::Schedules, Text::NothingFollows),
        ("usage", _) => alone(Command::Usage, Text::NothingFollows),
        ("health", _) => alone(Command::Health, Text::NothingFollows),
        ("whoami", _) => alone(Command::WhoAmI, Text::TakesNothing { command: "whoami" }),
        _ => return None,
    })
}

/// Carries out a command of a chat and returns the answer; none if it comes later.
pub(crate) fn carry_out(
    connection: &Connection,
    command: &Command,
    context: &Context<'_>,
) -> Result<Option<String>, StoreError> {
    let answer = match command {
        Command::Help => help::text(context.models, context.language, context.is_owner),
        Command::Status => status::carry_out(connection, context)?,
        Command::Cancel { all } => cancel::carry_out(connection, context, *all)?,
        Command::New => new::carry_out(connection, context)?,
        // Its message is stored as a task.
        Command::Queue { .. } => return Ok(None),
        Command::Retry => retry::carry_out(connection, context)?,
        Command::Model { name } => model::carry_out(connection, context, name.as_deref())?,
        Command::Language { code } => return language::carry_out(connection, context, code.as_deref()),
        Command::Context { change } => context::carry_out(connection, context, *change)?,
        Command::Undo => return undo::note(connection, context),
        Command::Files { path } => {
            return files::note(connection, context, Kind::List, path).map(|()| None);
        }
        Command::Get { path } => {
            return files::note(connection, context, Kind::Send, path).map(|()| None);
        }
        Command::Approvals => approvals::carry_out(connection, context)?,
        Command::Pairings => pairings::carry_out(connection, context)?,
        Command::Chats | Command::Unpair { .. } | Command::Schedules | Command::Usage | Command::Health => {
            owner::carry_out(connection, command, context)?
        }
        Command::WhoAmI => whoami::text(context),
    };
    Ok(Some(answer))
}

/// The beginning of a message, in one line, as answers quote it.
fn shortened(text: &str, language: Language) -> String {
    let line = said::without_files(text).split_whitespace().collect::<Vec<_>>().join(" ");
    let mut kept: String = line.chars().take(MAX_QUOTED_CHARS).collect();
    if kept.len() < line.len() {
        kept.push('…');
    }
    Text::Quoted { text: &kept }.to(language)
}

/// How many there are.
fn counted(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_a_command_with_its_arguments_or_none_of_ours() {
        for (text, expected) in [
            ("/cancel", "Some(Command(Cancel { all: false }))"),
            (" /stop ", "Some(Command(Cancel { all: false }))"),
            ("/cancel  all", "Some(Command(Cancel { all: true }))"),
            ("/cancel please", "Some(Misused("),
            ("/cancel all of it", "Some(Misused("),
            ("/cancelled flights", "None"),
            ("cancel", "None"),
            ("/start from-a-link", "Some(Command(Help))"),
            ("/Status", "Some(Command(Status))"),
            ("/model", "Some(Command(Model { name: None }))"),
            ("/model small", "Some(Command(Model { name: Some(\"small\") }))"),
            ("/model small one", "Some(Misused("),
            ("/context on", "Some(Command(Context { change: Some(true) }))"),
            ("/context maybe", "Some(Misused("),
            ("/new", "Some(Command(New))"),
            ("/new idea", "Some(Misused("),
            ("/queue and\nthen", "Some(Command(Queue { text: \"and\\nthen\" }))"),
            ("/queue", "Some(Misused("),
            ("/retry", "Some(Command(Retry))"),
            ("/retry all", "Some(Misused("),
            ("/undo", "Some(Command(Undo))"),
            ("/undo that", "Some(Misused("),
            ("/whoami", "Some(Command(WhoAmI))"),
            ("/files", "Some(Command(Files { path: \".\" }))"),
            ("/get", "Some(Misused("),
            ("/get a  b.txt ", "Some(Command(Get { path: \"a  b.txt\" }))"),
            ("/unpair 12", "Some(Command(Unpair { chat: \"12\" }))"),
            ("/unpair", "Some(Misused("),
            ("/health now", "Some(Misused("),
            ("/ls path=.", "None"),
            ("/", "None"),
            ("", "None"),
        ] {
            let parsed = format!("{:?}", parse(text));
            assert!(parsed.starts_with(expected), "{text:?}: {parsed}");
        }
    }

    /// The bounds are Telegram's (<https://core.telegram.org/bots/api#botcommand>).
    #[test]
    fn each_command_of_the_menu_is_one_and_fits_into_a_menu() {
        for Described { name, summary, .. } in COMMANDS {
            assert!(parse(&format!("/{name}")).is_some(), "/{name}");
            assert!((1..=32).contains(&name.len()), "/{name}");
            let fits = |language| (1..=256).contains(&summary.to(language).chars().count());
            assert!(Language::ALL.into_iter().all(fits), "/{name}");
            assert!(name.bytes().all(|byte| byte.is_ascii_lowercase()), "/{name}");
        }
    }
}
