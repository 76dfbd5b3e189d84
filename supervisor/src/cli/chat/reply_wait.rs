//! Waits for a reply. On a terminal it shows meanwhile what the task does, and Ctrl-C stops the task, a
//! second one the waiting. Outside a conversation it says of each call that waits for a person how to decide
//! about it.

use std::collections::BTreeSet;
use std::io::{self, Write as _};
use std::time::Duration;

use protocol::{ErrorCode, EventBody, EventId, TaskId};
use store::inbox::MessageStatus;
use store::queries::watch::Watcher;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::super::control_client::ControlClient;
use super::super::error::CommandError;
use super::super::print_error;
use super::question;
use crate::channels::local::messages::NewMessage;
use crate::control::tasks::TaskState;
use crate::data_dir::DataDir;
use crate::terminal::progress::Progress;
use crate::terminal::{Colour, Screen};

/// How long one request waits before the next one.
const WAIT_SECONDS: u64 = 30;

/// How often the line is drawn.
const REDRAW: Duration = Duration::from_millis(200);

/// How long the supervisor has for asking others before we say that it asked none.
const ASKING: Duration = Duration::from_secs(1);

/// From the line's beginning, without what was there.
const CLEAR_LINE: &str = "\r\u{1b}[K";

pub(super) enum Waited {
    Ended(MessageStatus),
    /// The user stopped waiting; the task continues.
    Left(String),
    /// A call of the task waits for a person, and the waiting user is to be asked.
    Asks {
        task: String,
        approval: EventId,
    },
}

pub(super) struct ReplyWait<'a> {
    client: &'a ControlClient,
    data: &'a DataDir,
    /// Where the line is drawn.
    screen: Option<Screen>,
    interrupts: Option<Signal>,
    /// The approvals that the waiting user was asked about; none if the user is not to be asked.
    asked: Option<BTreeSet<EventId>>,
}

impl<'a> ReplyWait<'a> {
    /// `screen` is the terminal behind stderr. Needs a runtime.
    pub(super) fn new(
        client: &'a ControlClient,
        data: &'a DataDir,
        screen: Option<Screen>,
    ) -> Result<Self, CommandError> {
        let interrupts = screen.map(|_| signal(SignalKind::interrupt())).transpose();
        Ok(Self { client, data, screen, interrupts: interrupts.map_err(CommandError::Signals)?, asked: None })
    }

    /// Returns when a call waits for a person, once for each but those that were asked about.
    pub(super) fn asking(self, asked: BTreeSet<EventId>) -> Self {
        Self { asked: Some(asked), ..self }
    }

    /// Waits for a task again.
    pub(super) async fn for_task(mut self, task: &TaskId) -> Result<Waited, CommandError> {
        let waited = self.until_ended(task, None).await;
        self.draw("");
        waited
    }

    /// Sends a message and waits until its task has ended, or the time is over.
    pub(super) async fn for_reply(
        mut self,
        message: NewMessage,
        patience: Option<Duration>,
    ) -> Result<Waited, CommandError> {
        let status: MessageStatus = self.client.send(self.client.post("/messages").json(&message)).await?;
        let task = status.task_id;
        let waited = self.until_ended(&task, patience).await;
        self.draw("");
        waited
    }

    async fn until_ended(
        &mut self,
        task: &TaskId,
        patience: Option<Duration>,
    ) -> Result<Waited, CommandError> {
        let since = Instant::now();
        let mut shown = match self.screen {
            Some(_) => Some(Shown::new(self.data, task, self.screen)?),
            // It only shows what waits for a person.
            None => Shown::new(self.data, task, None).ok(),
        };
        let mut redraw = interval(REDRAW);
        redraw.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut reply = Box::pin(ask(self.client, task.clone(), WAIT_SECONDS.min(left(since, patience))));
        loop {
            tokio::select! {
                status = &mut reply => {
                    let status: MessageStatus = status?;
                    if !status.is_open() {
                        if let Some(shown) = &mut shown {
                            self.redraw(shown, since.elapsed()).await?;
                        }
                        return Ok(Waited::Ended(status));
                    }
                    let left = left(since, patience);
                    if left == 0 {
                        let waited = patience.unwrap_or_default().as_secs();
                        return Err(CommandError::TooLate(waited, task.to_string()));
                    }
                    reply.set(ask(self.client, task.clone(), WAIT_SECONDS.min(left)));
                }
                () = interrupted(&mut self.interrupts) => {
                    let Some(shown) = &mut shown else { continue };
                    if std::mem::replace(&mut shown.is_stopping, true) {
                        return Ok(Waited::Left(task.to_string()));
                    }
                    self.stop(task).await?;
                }
                _ = redraw.tick(), if shown.is_some() => {
                    let Some(shown) = &mut shown else { continue };
                    if let Some(approval) = self.redraw(shown, since.elapsed()).await? {
                        return Ok(Waited::Asks { task: task.to_string(), approval });
                    }
                }
            }
        }
    }

    /// Draws the line if it has changed, and returns the approval that the waiting user is to be asked about.
    /// A user who is not to be asked reads how to answer.
    async fn redraw(&self, shown: &mut Shown, waited: Duration) -> Result<Option<EventId>, CommandError> {
        if let Some(line) = shown.next(waited)? {
            self.draw(&line);
        }
        for refused in shown.refused.drain(..) {
            print_error(&question::refused(&refused));
        }
        match &self.asked {
            Some(known) => Ok(shown.progress.asked().filter(|approval| !known.contains(*approval)).cloned()),
            None => {
                if let Some((approval, others)) = shown.unanswered() {
                    self.draw("");
                    print_error(&question::how_to_answer(self.client, &approval, others).await);
                }
                Ok(None)
            }
        }
    }

    /// Asks for the task's end. One that has ended meanwhile needs none.
    async fn stop(&self, task: &TaskId) -> Result<(), CommandError> {
        let request = self.client.post(&format!("/tasks/{task}/cancel"));
        match self.client.send::<TaskState>(request).await {
            Ok(_) | Err(CommandError::Refused(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn draw(&self, line: &str) {
        if self.screen.is_some() {
            let mut stderr = io::stderr().lock();
            let _ = write!(stderr, "{CLEAR_LINE}{line}").and_then(|()| stderr.flush());
        }
    }
}

async fn interrupted(interrupts: &mut Option<Signal>) {
    match interrupts {
        Some(interrupts) => {
            interrupts.recv().await;
        }
        None => std::future::pending().await,
    }
}

async fn ask(client: &ControlClient, task: TaskId, seconds: u64) -> Result<MessageStatus, CommandError> {
    client.send(client.get(&format!("/messages/{task}?wait_seconds={seconds}"))).await
}

/// How many seconds are left.
fn left(since: Instant, patience: Option<Duration>) -> u64 {
    patience.map_or(u64::MAX, |patience| patience.saturating_sub(since.elapsed()).as_secs())
}

/// The drawing while the task runs.
struct Shown {
    watcher: Watcher,
    progress: Progress,
    /// None where nothing is drawn.
    screen: Option<Screen>,
    is_stopping: bool,
    /// The current text.
    line: String,
    /// The call that waits for a person, since when, and whether we have said so.
    waits: Option<(EventId, Instant, bool)>,
    /// Why calls were refused because no person could be asked.
    refused: Vec<String>,
}

impl Shown {
    fn new(data: &DataDir, task: &TaskId, screen: Option<Screen>) -> Result<Self, CommandError> {
        let watcher = Watcher::of_task(&data.database(), task.as_str())?;
        let progress = Progress::default();
        Ok(Self {
            watcher,
            progress,
            screen,
            is_stopping: false,
            line: String::new(),
            waits: None,
            refused: Vec::new(),
        })
    }

    /// A call that waits for a person, and whether others were asked about it; each call once.
    fn unanswered(&mut self) -> Option<(EventId, Option<bool>)> {
        let asked = self.progress.asked()?;
        if self.waits.as_ref().is_none_or(|(approval, ..)| approval != asked) {
            self.waits = Some((asked.clone(), Instant::now(), false));
        }
        let (approval, since, said) = self.waits.as_mut()?;
        if *said || since.elapsed() < ASKING {
            return None;
        }
        *said = true;
        Some((approval.clone(), self.watcher.has_asked_in_a_chat(approval)))
    }

    /// The line, if it is another one than before.
    fn next(&mut self, waited: Duration) -> Result<Option<String>, CommandError> {
        for event in self.watcher.newer()? {
            self.progress.take(&event);
            if let EventBody::ToolCallFailed(failed) = event.body
                && let Some(failure) = failed.call.failure
                && failure.error_code == ErrorCode::ApprovalRequired.as_str()
                && self.progress.asked().is_none()
            {
                self.refused.push(failure.error);
            }
        }
        let Some(screen) = self.screen else { return Ok(None) };
        // In the last column, some terminals begin a new line.
        let columns = screen.columns - 1;
        let line = if self.is_stopping {
            "stopping · Ctrl-C again leaves".to_owned()
        } else {
            self.progress.line(waited, columns)
        };
        let is_new = line != self.line;
        self.line = line;
        Ok(is_new.then(|| screen.paint.paint(Colour::Faint, &self.line)))
    }
}
