//! The command line.

pub mod chat;
pub mod next_steps;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

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
    /// Print what was done, as a tree of events; works whether the supervisor runs or not.
    Tree(TreeArguments),
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

/// What `supervisor tree` takes.
#[derive(Debug, Args)]
pub struct TreeArguments {
    /// The tree of this task [default: the newest task].
    #[arg(long, value_name = "TASK", conflicts_with_all = ["id", "all"])]
    pub task: Option<String>,
    /// The tree below this event; `--json` shows the ids.
    #[arg(long, value_name = "EVENT", conflicts_with = "all")]
    pub id: Option<String>,
    /// Everything that ever happened.
    #[arg(long)]
    pub all: bool,
    /// How many levels to show.
    #[arg(short = 'L', long = "depth", value_name = "DEPTH", value_parser = clap::value_parser!(u16).range(1..))]
    pub depth: Option<u16>,
    /// Print JSON: an array of events, each with its children.
    #[arg(long)]
    pub json: bool,
    /// Leave out what the events say.
    #[arg(long)]
    pub no_payload: bool,
}

/// What `supervisor token` takes.
#[derive(Debug, Args)]
pub struct TokenArguments {
    /// Print this token alone, for use in scripts.
    pub which: Option<WhichToken>,
}

/// One of the two tokens.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub enum WhichToken {
    /// For the control port.
    Control,
    /// For the tool server.
    Tool,
}
