//! `supervisor chat`: a message to the running supervisor and its reply, or a conversation in the terminal.

mod conversation;
mod lines;
mod question;
mod reply_wait;

use std::io::Read as _;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use protocol::visible;
use store::inbox::MessageStatus;
use store::queries::short_id::shown;
use tokio::runtime::Runtime;

use super::control_client::ControlClient;
use super::error::CommandError;
use crate::terminal::{Screen, styled};
use reply_wait::{ReplyWait, Waited};
use supervisor::channels::local::messages::NewMessage;
use supervisor::data_dir::DataDir;

/// The text that stands for stdin.
const STDIN: &str = "-";

/// More than the supervisor accepts in one message.
const MAX_STDIN_BYTES: u64 = 2 << 20;

/// What a shell reports for a program that Ctrl-C ended.
const LEFT: u8 = 130;

#[derive(Debug, Args)]
pub(crate) struct ChatArguments {
    /// The message; `-` reads it from stdin. Without it, a conversation begins.
    pub text: Option<String>,
    /// The chat to send it in.
    #[arg(long, default_value = "local", value_name = "NAME")]
    pub chat: String,
    /// How long to wait for the reply; the task continues without you.
    #[arg(long, default_value_t = 900, value_name = "SECONDS")]
    pub wait: u64,
    /// Print JSON: {"task_id": …, "status": …, "reply": …}.
    #[arg(long, requires = "text")]
    pub json: bool,
}

/// The streams of the command; none of one that is no terminal.
#[derive(Debug, Clone, Copy)]
pub(super) struct Terminals {
    pub reads_keys: bool,
    pub stdout: Option<Screen>,
    pub stderr: Option<Screen>,
}

/// Sends the message and prints its reply, or holds a conversation.
pub(super) fn run(
    runtime: &Runtime,
    data: &DataDir,
    arguments: ChatArguments,
    terminals: Terminals,
) -> anyhow::Result<ExitCode> {
    let text = match (arguments.text, terminals) {
        (Some(text), _) if text == STDIN => text_of_stdin()?,
        (Some(text), _) => text,
        (None, Terminals { reads_keys: true, stdout: Some(stdout), stderr: Some(stderr) }) => {
            return conversation::hold(runtime, data, &arguments.chat, stdout, stderr);
        }
        (None, _) => return Err(CommandError::NoMessage.into()),
    };
    let client = ControlClient::new(data)?;
    let waited = runtime.block_on(async {
        let unattended = terminals.stderr.is_none();
        let message = NewMessage { text, chat: arguments.chat, unattended };
        let wait = ReplyWait::new(&client, data, terminals.stderr)?;
        wait.for_reply(message, Some(Duration::from_secs(arguments.wait))).await
    })?;
    match waited {
        Waited::Ended(status) => {
            if arguments.json {
                let json = serde_json::to_string(&status).context("could not encode the reply as JSON")?;
                super::print(&visible::json(&json));
            } else {
                super::print(&reply_text(&status, terminals.stdout));
            }
            Ok(if status.is_answered() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
        // Only a conversation is asked.
        Waited::Left(task) | Waited::Asks { task, .. } => {
            super::print_error(&how_to_see(&task));
            Ok(ExitCode::from(LEFT))
        }
    }
}

fn text_of_stdin() -> Result<String, CommandError> {
    let mut bytes = Vec::new();
    std::io::stdin().take(MAX_STDIN_BYTES).read_to_end(&mut bytes).map_err(CommandError::Stdin)?;
    String::from_utf8(bytes).map_err(|_| CommandError::StdinNotText)
}

/// The reply as a terminal shows it, or as it is.
fn reply_text(status: &MessageStatus, screen: Option<Screen>) -> String {
    let reply = status.reply.as_deref().unwrap_or("(no reply)");
    match screen {
        Some(screen) => styled::shown(reply, screen.paint),
        None => visible::escaped(reply).into_owned(),
    }
}

fn how_to_see(task: &str) -> String {
    let task = shown(task);
    format!(
        "The task goes on without you. See it with `supervisor follow {task}`, stop it with \
         `supervisor cancel {task}`."
    )
}
