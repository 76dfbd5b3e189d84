//! A conversation in the terminal: one message after the other, with line editing and a history.

use std::collections::BTreeSet;
use std::process::ExitCode;

use protocol::EventId;
use tokio::runtime::Runtime;

use super::super::control_client::ControlClient;
use super::super::error::CommandError;
use super::super::{print, print_error};
use super::lines::{GOES_ON, Lines};
use super::reply_wait::{ReplyWait, Waited};
use super::{LEFT, how_to_see, question, reply_text};
use crate::terminal::Screen;
use supervisor::channels::local::messages::NewMessage;
use supervisor::data_dir::DataDir;

/// Holds the conversation until somebody leaves it.
pub(super) fn hold(
    runtime: &Runtime,
    data: &DataDir,
    chat: &str,
    stdout: Screen,
    stderr: Screen,
) -> anyhow::Result<ExitCode> {
    let client = ControlClient::new(data)?;
    runtime.block_on(client.send::<serde_json::Value>(client.get("/status")))?;
    let history = data.chat_history();
    let mut lines = Lines::open(&history)?;
    let conversation = Conversation { runtime, client: &client, data, chat, stderr };
    print(&format!(
        "Chat `{chat}`. Ctrl-C stops a task, Ctrl-D leaves. A line that ends in `{GOES_ON}` goes on."
    ));
    while let Some(text) = lines.next()? {
        match conversation.send(text, &mut lines) {
            Ok(Waited::Ended(status)) => print(&reply_text(&status, Some(stdout))),
            Ok(Waited::Left(task) | Waited::Asks { task, .. }) => {
                print_error(&how_to_see(&task));
                return Ok(ExitCode::from(LEFT));
            }
            // The next message may get through, such as after a restart.
            Err(
                error @ (CommandError::NotRunning(..) | CommandError::Refused(_) | CommandError::Response(_)),
            ) => {
                print_error(&format!("{:#}", anyhow::Error::from(error)));
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(ExitCode::SUCCESS)
}

struct Conversation<'a> {
    runtime: &'a Runtime,
    client: &'a ControlClient,
    data: &'a DataDir,
    chat: &'a str,
    stderr: Screen,
}

impl Conversation<'_> {
    /// Sends a message and waits for its reply, with a question for each call that waits for a person.
    fn send(&self, text: String, lines: &mut Lines<'_>) -> Result<Waited, CommandError> {
        let message = NewMessage { text, chat: self.chat.to_owned(), unattended: false };
        let mut asked = BTreeSet::new();
        let mut waited = self.runtime.block_on(async { self.wait(&asked)?.for_reply(message, None).await });
        while let Ok(Waited::Asks { task, approval }) = &waited {
            let Ok(task) = task.parse() else { break };
            let answered = question::put(self.runtime, self.client, lines, approval);
            asked.insert(approval.clone());
            waited = match answered {
                Ok(()) => self.runtime.block_on(async { self.wait(&asked)?.for_task(&task, None).await }),
                Err(error) => Err(error),
            };
        }
        waited
    }

    /// Needs the runtime's context.
    fn wait(&self, asked: &BTreeSet<EventId>) -> Result<ReplyWait<'_>, CommandError> {
        let wait = ReplyWait::new(self.client, self.data, Some(self.stderr))?;
        Ok(wait.asking(asked.clone()))
    }
}
