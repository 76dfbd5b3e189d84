//! The command line.

mod approvals;
mod audit;
mod backup;
mod chat;
mod chats;
mod check;
pub(crate) mod config;
mod control_client;
mod database_access;
mod error;
mod follow;
mod journal;
mod move_database;
mod next_steps;
mod nodes;
mod page;
pub(crate) mod program;
mod prune;
mod queue;
mod resend;
mod schedules;
mod tasks;
mod tree;
mod tree_text;
mod undo;
mod usage;
mod version;

use std::io::Write as _;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use protocol::visible;

use crate::setup::SetupArguments;
use supervisor::children::launcher::COMMAND;

/// Who asks for a change, in the events.
const BY: &str = "cli";

/// Starts Autonous and talks to it.
///
/// The supervisor receives messages, gives them to the worker, records everything in a database, and sends
/// the replies. Settings come from AUTONOUS_… variables and from autonous.toml; all have defaults.
#[derive(Debug, Parser)]
#[command(name = "supervisor", version)]
pub(crate) struct Arguments {
    /// Directory of the database, tokens, journal and workspace [default: $AUTONOUS_DATA_DIR, else ./data]
    #[arg(long, value_name = "DIR", global = true)]
    pub data_dir: Option<PathBuf>,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start everything and run until SIGTERM or Ctrl-C.
    Run(RunArguments),
    /// Send a message and print the reply; without a message, hold a conversation.
    ///
    /// It goes to the running supervisor. On a terminal, a line shows what the task does. Ctrl-C stops the
    /// task; a second one leaves it running. Exits with 0 if the task is done, and with 1 if it failed or
    /// the supervisor does not answer.
    Chat(chat::ChatArguments),
    /// Print events as they come: those of a task until it ends, or all.
    ///
    /// Works whether or not the supervisor is running. Ctrl-C ends it.
    Follow(follow::FollowArguments),
    /// List tasks with their states, ages, attempts and last errors, newest last.
    ///
    /// Works whether or not the supervisor is running. TASK is the end of a task ID; every command accepts
    /// the beginning or the end of an ID if it is unique.
    Tasks(tasks::TasksArguments),
    /// Show what was done as a tree of events; works whether or not the supervisor is running.
    Tree(tree::TreeArguments),
    /// Show which calls were made, what changed a file, what a task ran, or which calls were refused.
    Audit(audit::AuditArguments),
    /// The process that starts the others; only `run` uses it.
    #[command(name = COMMAND, hide = true)]
    Launcher,
    /// Put ended tasks back into the queue.
    ///
    /// Works whether or not the supervisor is running. Exits with 1 if a task was refused.
    Requeue(queue::RequeueArguments),
    /// Cancel queued or running tasks.
    ///
    /// Works whether or not the supervisor is running. Exits with 1 if a task was refused.
    Cancel(queue::CancelArguments),
    /// Take back what a call, or a whole task, changed in files.
    ///
    /// Works only while the supervisor is running. Exits with 1 if something was refused: a file that has
    /// changed since is left alone. What commands changed cannot be undone.
    Undo(undo::UndoArguments),
    /// Send messages again that could not be delivered.
    ///
    /// Works whether or not the supervisor is running. Exits with 1 if an ID has nothing undelivered.
    Resend(resend::ResendArguments),
    /// List the chats that may use the bot, and those that wait for a pairing.
    ///
    /// Works whether or not the supervisor is running; the chats of its settings are known only while it is.
    Chats(chats::ChatsArguments),
    /// List the machines that share the database, with their chats and running tasks.
    ///
    /// Works whether or not the supervisor is running.
    Nodes(nodes::NodesArguments),
    /// List what the chats want to be done later.
    ///
    /// Works whether or not the supervisor is running. A chat's own tools set and end its schedules.
    Schedules(schedules::SchedulesArguments),
    /// List the calls that wait for a decision.
    ///
    /// Needs a running supervisor.
    Approvals(approvals::ApprovalsArguments),
    /// Allow a call that waits: it runs if it has not changed.
    Approve(approvals::ApproveArguments),
    /// Refuse a call that waits.
    Deny(approvals::DenyArguments),
    /// Answer a question of the model.
    Answer(approvals::AnswerArguments),
    /// Allow a chat to use the bot, by the code that the bot answered it with.
    ///
    /// Works whether or not the supervisor is running.
    Pair(chats::PairArguments),
    /// Take a pairing back, and cancel what the chat has asked for.
    ///
    /// Works whether or not the supervisor is running.
    Unpair(chats::UnpairArguments),
    /// Back up the database to a file; works whether or not the supervisor is running.
    Backup(backup::BackupArguments),
    /// Move the database from its file to a PostgreSQL server, or back into a new file.
    ///
    /// Needs a stopped supervisor. The target must be empty: it gets all rows, compared one by one, or
    /// nothing. The source is not changed. Which of them a start uses stays a matter of the settings.
    MoveDatabase(move_database::MoveDatabaseArguments),
    /// Delete old ended tasks with all their events, and old journal files.
    ///
    /// Open tasks and unsent replies always stay. Works whether or not the supervisor is running; the
    /// database file shrinks only if it is not.
    Prune(prune::PruneArguments),
    /// Look after the journal of tool calls.
    Journal {
        #[command(subcommand)]
        command: journal::JournalCommand,
    },
    /// Show the tasks, turns, tokens and money used, by day, chat and model
    ///
    /// Works whether or not the supervisor is running.
    Usage(usage::UsageArguments),
    /// Check that everything works, and say how to fix what does not.
    ///
    /// Changes nothing and costs nothing. Exits with 1 if a check fails.
    Check(check::CheckArguments),
    /// Print the version; with --check, compare the programs, the database and the service that runs.
    ///
    /// Asks nothing of another machine.
    Version(version::VersionArguments),
    /// Set up the model, Telegram and the directories: asks, tries each answer, and writes autonous.toml.
    ///
    /// Run it again to change one thing; the rest stays. Secrets go into files of their own beside it.
    Setup(SetupArguments),
    /// Print the settings that hold and where each comes from; write or judge a file of them.
    ///
    /// Works whether or not the supervisor is running. It shows what a start would use now, with secrets as
    /// ***.
    Config(config::ConfigArguments),
    /// Open the page in a browser: a link signs you in, once and within five minutes.
    ///
    /// Needs a running supervisor. Prints the link, too; without a desktop it only does that.
    Open(page::OpenArguments),
    /// Sign everybody out of the page.
    ///
    /// Works whether or not the supervisor is running.
    SignOut,
    /// Print the tokens of the last start, all as NAME=value or one alone.
    Token(TokenArguments),
    /// Print the script with which a shell completes this program's command line.
    Completions(manual::CompletionsArguments),
    /// Write the man pages into a directory; packages do.
    #[command(hide = true)]
    Man(manual::ManArguments),
}

#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    /// Print addresses, tokens and example commands once it is ready, even if stdout is not a terminal.
    #[arg(long)]
    pub print_next_steps: bool,
}

#[derive(Debug, Args)]
pub(crate) struct TokenArguments {
    /// Print only this token, for scripts.
    pub which: Option<WhichToken>,
    /// Print JSON: {"control_token": …, "tool_token": …, "approver_token": …, "control_url": …, "tool_url":
    /// …}.
    #[arg(long, conflicts_with = "which")]
    pub json: bool,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(crate) enum WhichToken {
    /// For the control port.
    Control,
    /// For the tool server.
    Tool,
    /// For who decides at the tool server about the calls of others, which no caller may have.
    Approver,
}

/// Writes bytes to stdout; a closed pipe is not an error.
fn print_bytes(bytes: &[u8]) {
    let mut stdout = std::io::stdout().lock();
    let _ = stdout.write_all(bytes).and_then(|()| stdout.flush());
}

/// Prints a line; a closed pipe is not an error.
fn print(text: &str) {
    let mut stdout = std::io::stdout().lock();
    let _ = writeln!(stdout, "{text}").and_then(|()| stdout.flush());
}

/// Prints a line to stderr, for people who read stdout as data.
fn print_error(text: &str) {
    let _ = writeln!(std::io::stderr(), "{}", visible::escaped(text));
}

/// A value as JSON for people and programs.
fn pretty(value: &serde_json::Value) -> String {
    visible::json(&format!("{value:#}")).into_owned()
}
