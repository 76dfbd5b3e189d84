//! A conversation in the terminal: one message after the other, with line editing and a history.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;

use protocol::{EventId, visible};
use rustyline::completion::Completer;
use rustyline::config::Configurer as _;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Config, Editor, Helper};
use tokio::runtime::Runtime;

use super::super::control_client::ControlClient;
use super::super::error::CommandError;
use super::super::undo;
use super::super::{print, print_error};
use super::reply_wait::{ReplyWait, Waited};
use super::{LEFT, how_to_see, question, reply_text};
use crate::channels::local::messages::NewMessage;
use crate::data_dir::DataDir;
use crate::terminal::Screen;

const PROMPT: &str = "> ";

/// Ends a line that the next one continues.
const GOES_ON: char = '\\';

/// Reverts the file changes of the chat's last task that made any, as in other channels.
const UNDO: &str = "/undo";

const HISTORY_ENTRIES: usize = 1000;

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

pub(super) struct Lines<'a> {
    editor: Editor<Continued, FileHistory>,
    history: &'a Path,
}

impl<'a> Lines<'a> {
    fn open(history: &'a Path) -> Result<Self, CommandError> {
        let config = Config::builder().max_history_size(HISTORY_ENTRIES).map_err(CommandError::Keys)?;
        let config = config.auto_add_history(true).build();
        let mut editor = Editor::with_config(config).map_err(CommandError::Keys)?;
        editor.set_helper(Some(Continued));
        // The first time there is none.
        let _ = editor.load_history(history);
        Ok(Self { editor, history })
    }

    /// A short answer, which is no message and not kept; none when somebody does not answer.
    pub(super) fn ask(&mut self, prompt: &str) -> Result<Option<String>, CommandError> {
        self.editor.set_auto_add_history(false);
        let line = self.editor.readline(prompt);
        self.editor.set_auto_add_history(true);
        match line {
            Ok(line) => Ok(Some(line)),
            Err(ReadlineError::Eof | ReadlineError::Interrupted) => Ok(None),
            Err(error) => Err(CommandError::Keys(error)),
        }
    }

    /// The next message; none when somebody leaves.
    fn next(&mut self) -> Result<Option<String>, CommandError> {
        let mut is_leaving = false;
        loop {
            match self.editor.readline(PROMPT) {
                Ok(line) if line.trim().is_empty() => {}
                Ok(line) => {
                    // Without it, only the history of this conversation is lost.
                    let _ = self.editor.append_history(self.history);
                    return Ok(Some(joined(&line).into_owned()));
                }
                Err(ReadlineError::Eof) => return Ok(None),
                Err(ReadlineError::Interrupted) if is_leaving => return Ok(None),
                Err(ReadlineError::Interrupted) => {
                    is_leaving = true;
                    print_error("Nothing runs. Ctrl-C again, or Ctrl-D, leaves.");
                }
                Err(error) => return Err(CommandError::Keys(error)),
            }
        }
    }
}

/// The message without the marks that its lines go on.
fn joined(text: &str) -> Cow<'_, str> {
    if text.contains("\\\n") { Cow::Owned(text.replace("\\\n", "\n")) } else { Cow::Borrowed(text) }
}

/// Reads on while a line ends in [`GOES_ON`].
struct Continued;

impl Helper for Continued {}
impl Completer for Continued {
    type Candidate = String;
}
impl Hinter for Continued {
    type Hint = String;
}
impl Highlighter for Continued {}
impl Validator for Continued {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let goes_on = context.input().ends_with(GOES_ON);
        Ok(if goes_on { ValidationResult::Incomplete } else { ValidationResult::Valid(None) })
    }
}
