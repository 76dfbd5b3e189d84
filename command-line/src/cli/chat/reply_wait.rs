//! Waits for a reply. On a terminal it shows meanwhile what the task does, and Ctrl-C stops the task, a
//! second one the waiting. Outside a conversation it says of each call that waits for a person how to decide
//! about it.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::io::{self, Write as _};
use std::time::Duration;

use protocol::event::Unreachable;
use protocol::{ErrorCode, EventBody, EventId, TaskId, visible};
use store::inbox::MessageStatus;
use store::queries::watch::Watcher;
use texts::{Language, Text};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::super::control_client::ControlClient;
use super::super::error::CommandError;
use super::super::print_error;
use super::question;
use crate::terminal::progress::Progress;
use crate::terminal::{Colour, Screen, growing};
use supervisor::channels::local::messages::{Growing, NewMessage};
use supervisor::control::tasks::TaskState;
use supervisor::data_dir::DataDir;

/// How long one request waits before the next one.
const WAIT_SECONDS: u64 = 30;

/// How often the line is drawn.
const REDRAW: Duration = Duration::from_millis(200);

/// How long the supervisor has for asking others before we say that it asked none.
const ASKING: Duration = Duration::from_secs(1);

/// From the beginning of a line, without what is there and below.
const CLEAR_BELOW: &str = "\r\u{1b}[J";

/// The pause after words could not be read.
const WORDS_PAUSE: Duration = Duration::from_secs(1);

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
    /// Where the lines are drawn.
    screen: Option<Screen>,
    /// How many are there above the last one.
    above: Cell<usize>,
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
        let interrupts = interrupts.map_err(CommandError::Signals)?;
        Ok(Self { client, data, screen, above: Cell::default(), interrupts, asked: None })
    }

    /// Returns when a call waits for a person, once for each but those that were asked about.
    pub(super) fn asking(self, asked: BTreeSet<EventId>) -> Self {
        Self { asked: Some(asked), ..self }
    }

    /// Waits until a task has ended, or the time is over.
    pub(super) async fn for_task(
        mut self,
        task: &TaskId,
        patience: Option<Duration>,
    ) -> Result<Waited, CommandError> {
        let waited = self.until_ended(task, patience).await;
        self.draw(&[]);
        waited
    }

    /// Sends a message and waits for its task.
    pub(super) async fn for_reply(
        self,
        message: NewMessage,
        patience: Option<Duration>,
    ) -> Result<Waited, CommandError> {
        let status: MessageStatus = self.client.send(self.client.post("/messages").json(&message)).await?;
        self.for_task(&status.task_id, patience).await
    }

    async fn until_ended(
        &mut self,
        task: &TaskId,
        patience: Option<Duration>,
    ) -> Result<Waited, CommandError> {
        let since = Instant::now();
        let mut shown = self.shown(task)?;
        let mut redraw = interval(REDRAW);
        redraw.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut reply = Box::pin(ask(self.client, task.clone(), WAIT_SECONDS.min(left(since, patience))));
        let mut growing = Box::pin(words_after(self.client, task.clone(), 0));
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
                words = &mut growing, if shown.as_ref().is_some_and(|shown| shown.screen.is_some()) => {
                    growing.set(words_after(self.client, task.clone(), words.number));
                    shown.iter_mut().for_each(|shown| shown.words.clone_from(&words.text));
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

    fn shown(&self, task: &TaskId) -> Result<Option<Shown>, CommandError> {
        match self.screen {
            Some(_) => Shown::new(self.data, task, self.screen).map(Some),
            // It only shows what waits for a person.
            None => Ok(Shown::new(self.data, task, None).ok()),
        }
    }

    /// Draws the lines if they have changed, and returns the approval that the waiting user is to be asked
    /// about. A user who is not to be asked reads how to answer.
    async fn redraw(&self, shown: &mut Shown, waited: Duration) -> Result<Option<EventId>, CommandError> {
        if let Some(lines) = shown.next(waited)? {
            self.draw(&lines);
        }
        for refused in shown.refused.drain(..) {
            self.draw(&[]);
            print_error(&question::refused(&refused));
        }
        if let Some(server) = shown.unreachable() {
            self.draw(&[]);
            print_error(&unreachable(&server));
        }
        match &self.asked {
            Some(known) => Ok(shown.progress.asked().filter(|approval| !known.contains(*approval)).cloned()),
            None => {
                if let Some((approval, others)) = shown.unanswered() {
                    self.draw(&[]);
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

    /// Draws these lines in the place of those before.
    fn draw(&self, lines: &[String]) {
        if self.screen.is_some() {
            let up = match self.above.replace(lines.len().saturating_sub(1)) {
                0 => String::new(),
                above => format!("\u{1b}[{above}A"),
            };
            let mut stderr = io::stderr().lock();
            let _ = write!(stderr, "{up}{CLEAR_BELOW}{}", lines.join("\r\n")).and_then(|()| stderr.flush());
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

/// What the model writes, once it is another text than that with this number.
async fn words_after(client: &ControlClient, task: TaskId, number: u64) -> Growing {
    let words = client.send(client.get(&format!("/messages/{task}/words?after={number}"))).await;
    match words {
        Ok(words) => words,
        // Who waits for the reply reads what is wrong.
        Err(_) => {
            tokio::time::sleep(WORDS_PAUSE).await;
            Growing { number, text: String::new() }
        }
    }
}

/// What somebody reads who waits for a model that cannot be reached.
fn unreachable(server: &Unreachable) -> String {
    let (address, cause) = (&visible::escaped(&server.address), &visible::escaped(&server.cause));
    Text::ProgressModelUnreachable { address, cause }.to(Language::English)
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
    /// What the model has written.
    words: String,
    /// The current lines.
    lines: Vec<String>,
    /// The call that waits for a person, since when, and whether we have said so.
    waits: Option<(EventId, Instant, bool)>,
    /// Why calls were refused because no person could be asked.
    refused: Vec<String>,
    /// The model's server of which we have said that it cannot be reached.
    said_unreachable: Option<Unreachable>,
}

impl Shown {
    fn new(data: &DataDir, task: &TaskId, screen: Option<Screen>) -> Result<Self, CommandError> {
        Ok(Self {
            watcher: Watcher::of_task(data.database(), task.as_str())?,
            progress: Progress::default(),
            screen,
            is_stopping: false,
            words: String::new(),
            lines: Vec::new(),
            waits: None,
            refused: Vec::new(),
            said_unreachable: None,
        })
    }

    /// The model's server that cannot be reached; once for each reason.
    fn unreachable(&mut self) -> Option<Unreachable> {
        let server = self.progress.unreachable()?;
        if self.said_unreachable.as_ref() == Some(server) {
            return None;
        }
        self.said_unreachable = Some(server.clone());
        Some(server.clone())
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

    /// The lines, if they are others than before.
    fn next(&mut self, waited: Duration) -> Result<Option<Vec<String>>, CommandError> {
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
        let mut lines = growing::lines(&self.words, columns);
        lines.push(screen.paint.paint(Colour::Faint, &line));
        let is_new = lines != self.lines;
        self.lines.clone_from(&lines);
        Ok(is_new.then_some(lines))
    }
}
