//! A conversation in the terminal: one message after the other, with line editing and a history.

use std::collections::BTreeSet;
use std::process::ExitCode;

use protocol::{EventId, visible};
use tokio::runtime::Runtime;

use super::super::control_client::ControlClient;
use super::super::error::CommandError;
use super::super::undo;
use super::super::{print, print_error};
use super::lines::{GOES_ON, Lines};
use super::reply_wait::{ReplyWait, Waited};
use super::{LEFT, how_to_see, question, reply_text};
use crate::channels::local::messages::NewMessage;
use crate::data_dir::DataDir;
use crate::terminal::Screen;

/// Reverts the file changes of the chat's last task that made any, as in other channels.
const UNDO: &str = "/undo";

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
    print(&format!(
        "Chat `{chat}`. Ctrl-C stops a task, Ctrl-D leaves. A line that ends in `{GOES_ON}` goes on."
    ));
    while let Some(text) = lines.next()? {
        if text.trim() == UNDO {
            match runtime.block_on(undo::last_of_chat(&client, chat)) {
                Ok(text) => print(&visible::escaped(&text)),
                Err(error) => print_error(&format!("{:#}", anyhow::Error::from(error))),
            }
            continue;
        }
        let message = NewMessage { text, chat: chat.to_owned() };
        let wait = |asked: &BTreeSet<EventId>| {
            ReplyWait::new(&client, data, Some(stderr)).map(|wait| wait.asking(asked.clone()))
        };
        let mut asked = BTreeSet::new();
        let mut waited = runtime.block_on(async { wait(&asked)?.for_reply(message, None).await });
        while let Ok(Waited::Asks { task, approval }) = &waited {
            let Ok(task) = task.parse() else { break };
            let answered = question::put(runtime, &client, &mut lines, approval);
            asked.insert(approval.clone());
            waited = match answered {
                Ok(()) => runtime.block_on(async { wait(&asked)?.for_task(&task).await }),
                Err(error) => Err(error),
            };
        }
        match waited {
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
