//! The command line.

pub mod audit;
pub mod backup;
pub mod chat;
pub mod check;
pub mod control_client;
pub mod database_access;
pub mod next_steps;
pub mod prune;
pub mod queue;
pub mod tasks;
pub mod tree;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::terminal::Paint;

/// What is known of who reads the output.
#[derive(Debug, Clone, Copy)]
pub struct Screen {
    /// Whether colours are shown: on a terminal that wants them.
    pub paint: Paint,
}

/// Starts Autonous and talks to it.
///
/// The supervisor receives messages, gives them to the worker, keeps what was done in a database, and
/// sends the replies. Settings come from AUTONOUS_… variables; everything has a default.
#[derive(Debug, Parser)]
#[command(name = "supervisor", version)]
pub struct Arguments {
    /// Where database, tokens, journal and workspace lie [default: $AUTONOUS_DATA_DIR, else ./data]
    #[arg(long, value_name = "DIR", global = true)]
    pub data_dir: Option<PathBuf>,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Start everything and keep it running until SIGTERM or Ctrl-C.
    Run(RunArguments),
    /// Send a message to the running supervisor and print the reply.
    ///
    /// Ends with 0 when the task is done, and with 1 when it failed or when nobody answers.
    Chat(chat::ChatArguments),
    /// Print the tasks with their states, ages, attempts and last errors, the newest last.
    ///
    /// Works whether the supervisor runs or not. TASK is the end of a task's id; every command takes the
    /// beginning or the end of an id for the whole, as long as only one task has it.
    Tasks(tasks::TasksArguments),
    /// Print what was done, as a tree of events; works whether the supervisor runs or not.
    Tree(tree::TreeArguments),
    /// Say what changed a file, what a task ran, or which calls were refused.
    Audit(audit::AuditArguments),
    /// Put tasks that have ended back into the queue.
    ///
    /// Through the running supervisor, or by itself when none runs. Ends with 1 when a task was refused.
    Requeue(queue::RequeueArguments),
    /// Cancel tasks, whether they wait or run.
    ///
    /// Through the running supervisor, or by itself when none runs. Ends with 1 when a task was refused.
    Cancel(queue::CancelArguments),
    /// Copy the database to a file, consistent and checked, while the supervisor runs or not.
    Backup(backup::BackupArguments),
    /// Take away tasks that ended long ago, with all their events, and full files of the journal.
    ///
    /// Tasks that have not ended, and replies that have not left, always stay. Through the running
    /// supervisor, bite by bite, or by itself when none runs; only then the file gets smaller.
    Prune(prune::PruneArguments),
    /// Look whether everything is there that a message needs, and say what to do where it is not.
    ///
    /// Changes nothing and costs nothing. Ends with 1 when something fails.
    Check(check::CheckArguments),
    /// Print the tokens of the last start, as NAME=value or one alone.
    Token(TokenArguments),
}

/// What `supervisor run` takes.
#[derive(Debug, Args)]
pub struct RunArguments {
    /// Print addresses, tokens and example commands once it is ready, even if stdout is no terminal.
    #[arg(long)]
    pub print_next_steps: bool,
}

/// What `supervisor token` takes.
#[derive(Debug, Args)]
pub struct TokenArguments {
    /// Print this token alone, for use in scripts.
    pub which: Option<WhichToken>,
    /// Print JSON: {"control_token": …, "tool_token": …, "control_url": …, "tool_url": …}.
    #[arg(long, conflicts_with = "which")]
    pub json: bool,
}

/// One of the two tokens.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub enum WhichToken {
    /// For the control port.
    Control,
    /// For the tool server.
    Tool,
}

/// A value as JSON for people and programs.
fn pretty(value: &serde_json::Value) -> String {
    format!("{value:#}")
}
