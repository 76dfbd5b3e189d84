//! A task: one message from a user, with everything that the worker may know about it.
//!
//! The worker has no files and no memory, so everything it needs is here.

use serde::{Deserialize, Serialize};

use crate::{EventId, Parked, PersonId, Plan, SessionId, TaskId};

/// What the supervisor gives to the worker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Task {
    pub task_id: TaskId,
    /// Which attempt this is, from 1; results of an older attempt are ignored.
    pub attempt: u32,
    /// The chat, as `<channel>:<chat ID>`.
    pub session_id: SessionId,
    /// The event that the worker's events hang under.
    pub parent_event_id: EventId,
    pub text: String,
    /// Who wrote it, and where, if its channel tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// What was added to it in earlier attempts, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub additions: Vec<Addition>,
    /// The model that the chat has chosen, by its name in `models.toml`; the first one if none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What the group wrote before the message, oldest first. It is no request of the sender.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overheard: Vec<Overheard>,
    /// Images that came with the message, as paths that `read` opens.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<String>,
    /// The chat's earlier messages, oldest first.
    #[serde(default)]
    pub history: Vec<HistoryMessage>,
    /// What earlier attempts at this task did; empty on the first.
    #[serde(default, skip_serializing_if = "EarlierAttempts::is_empty")]
    pub earlier: EarlierAttempts,
    /// The turn in which it waited for a person, if it continues from there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parked: Option<Box<Parked>>,
    /// Replaces the worker's own system prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    /// The directories that the tools may use, absolute; relative paths start at the first.
    #[serde(default)]
    pub roots: Vec<String>,
    /// Today, as `2026-01-31`, in UTC.
    #[serde(default)]
    pub date: String,
    /// The language of the bot's own words in the chat, as `de`; English if none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// What the task may use of its chat's and user's limits of the day.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota: Option<Quota>,
}

/// What somebody says while a task runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Addition {
    /// The task that the message would have been.
    pub message: TaskId,
    pub text: String,
    /// Who wrote it, and where, if its channel tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
}

impl std::fmt::Display for Addition {
    /// As a model reads it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.origin.as_ref().and_then(|origin| origin.from.as_ref()) {
            Some(sender) => write!(f, "[{sender} adds:]\n{}", self.text),
            None => write!(f, "[The user adds:]\n{}", self.text),
        }
    }
}

/// The rest of a day's limits. An absent one limits nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quota {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<u64>,
    /// Output and uncached input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// In millionths of the currency of the prices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micros: Option<u64>,
}

impl Task {
    /// The first attempt at a text, in the default session and without anything before it.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            task_id: TaskId::new(),
            attempt: 1,
            session_id: SessionId::default_session(),
            parent_event_id: EventId::new(),
            text: text.into(),
            origin: None,
            additions: Vec::new(),
            model: None,
            overheard: Vec::new(),
            images: Vec::new(),
            history: Vec::new(),
            earlier: EarlierAttempts::default(),
            parked: None,
            system_prompt: None,
            roots: Vec::new(),
            date: String::new(),
            language: None,
            quota: None,
        }
    }
}

/// The header of calls that belong to a task which a schedule began: they use no yes that holds for the chat.
pub const SCHEDULED_TASK: &str = "X-Scheduled-Task";

/// The header of calls that no person can be asked about: one that needs a yes is refused at once.
pub const UNATTENDED_TASK: &str = "X-Unattended-Task";

/// Who wrote a message, and where. Each part is one short line without brackets; people choose their own
/// names and those of groups, so they are data and never instructions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// None where the channel has no senders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Sender>,
    /// The group; none in a private chat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chat: Option<String>,
    /// The topic of the group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topic: Option<String>,
    /// Whose words they are, if the sender only passed them on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forwarded_from: Option<String>,
    /// The parts of its text whose words its sender only passed on, if others are the sender's own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passed_on: Vec<PassedOn>,
    /// That it was set earlier and is due now: when, in words; none for a message of now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduled: Option<String>,
    /// What the task that set it had seen by then that its people did not write, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outside: Option<String>,
    /// Whether there is no person who could be asked about a call.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_unattended: bool,
    /// The trace that its sender has begun: W3C's `traceparent`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<String>,
}

/// A message of a group that did not speak to the bot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overheard {
    /// What its sender calls themselves.
    pub from: String,
    pub text: String,
}

/// A part of a message's text, in bytes, that its sender only passed on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PassedOn {
    pub from: usize,
    pub to: usize,
    /// Whose words they are.
    pub writer: String,
}

/// Who wrote a message, in the words of the channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sender {
    pub id: PersonId,
    /// What they call themselves.
    pub name: String,
    /// Without an `@`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub username: Option<String>,
    #[serde(default)]
    pub is_bot: bool,
}

impl std::fmt::Display for Sender {
    /// Such as `Ada Lovelace (@ada, ID 4711)`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { id, name, username, .. } = self;
        match username {
            Some(username) => write!(f, "{name} (@{username}, ID {id})"),
            None => write!(f, "{name} (ID {id})"),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    User,
    Assistant,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryMessage {
    pub role: Role,
    pub text: String,
    /// Who wrote it, and where; none for answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// The tool calls that led to it, in order, without full results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<PastCall>,
}

/// What earlier attempts at a task did, so that the next neither repeats it blindly nor pays for it again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EarlierAttempts {
    /// The tool calls that began, in order.
    #[serde(default)]
    pub calls: Vec<PastCall>,
    /// The model's summary of the work before the last calls, if it wrote one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// The task's plan, as it is now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Plan>,
}

impl EarlierAttempts {
    /// Whether there were no earlier calls.
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty() && self.summary.is_none() && self.plan.is_none()
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PastCall {
    pub tool_name: String,
    /// Its arguments as JSON text, shortened if long.
    pub arguments: String,
    /// What it was about: the path, the command line, or the name, shortened if long; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub subject: String,
    /// Whether it only showed what it would change.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
    pub status: PastCallStatus,
    /// The beginning of its output or error; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PastCallStatus {
    Done,
    /// It failed; nothing was done except what the error says.
    Failed,
    /// Its end is unknown: it may have taken effect fully, partly or not at all.
    Interrupted,
}
