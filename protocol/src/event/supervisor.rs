//! What the supervisor records: itself, its children, tasks and replies.

use serde::{Deserialize, Serialize};

use super::RequestFailed;
use crate::{EventId, MessageId, TaskId};

/// The supervisor started; the root of everything in this run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessStarted {
    pub pid: u32,
    pub version: String,
    pub control_url: String,
    pub tool_url: String,
}

/// A limit of the day keeps a task waiting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuotaExhausted {
    /// Such as `20 tasks a day for this chat`.
    pub limit: String,
    /// When it is free again, in milliseconds since the epoch.
    pub until_ms: i64,
}

/// A child process started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerSpawned {
    pub child: String,
    /// None if it ended at once.
    pub pid: Option<u32>,
}

/// A child process ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerExited {
    pub child: String,
    pub pid: Option<u32>,
    /// The exit code or signal, in words.
    pub status: String,
    pub lived_ms: u64,
}

/// A child keeps ending before it is ready.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CrashLoopDetected {
    pub child: String,
    /// How it ended the last time, in words.
    pub status: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatabasePruned {
    /// Records older than this were deleted, in milliseconds since the epoch.
    pub before_ms: i64,
    pub tasks: i64,
    /// How many full files of the journal.
    pub journal_files: i64,
    pub events: i64,
}

/// The journal is not what was read of it before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalTampered {
    /// What was found, in words.
    pub error: String,
    /// Where: the file's number, from 1, and the offset in it.
    pub file: u64,
    pub offset: u64,
    /// The hash of the record that was read last.
    pub expected_hash: String,
    /// The hash of the file as it is now, where there is one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub found_hash: Option<String>,
    /// How many records were read before and are gone, and the first and the last of them.
    pub missing_records: usize,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub first_missing_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub last_missing_id: Option<String>,
}

/// Somebody accepted the journal as it is, after it had been tampered with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalAccepted {
    pub reason: String,
    /// The hash of the last record before, and of the one from which the journal is checked from now on.
    pub expected_hash: String,
    pub accepted_hash: String,
}

/// A message was stored as a task, or a task that had ended was queued again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskQueued {
    pub channel: String,
    pub chat_id: String,
    pub text: String,
    /// The message's ID in its chat.
    pub message_id: Option<MessageId>,
    /// Absent the first time.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub requeued: Option<Requeued>,
}

/// `task.edited`: its sender has changed the message before anybody worked on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskEdited {
    /// What it says now.
    pub text: String,
}

/// `task.added`: somebody has added a message to a task that runs, and its model reads it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskAdded {
    /// The task that the message would have been.
    pub message: TaskId,
    /// The message's ID in its chat.
    pub message_id: Option<MessageId>,
    pub text: String,
}

/// Who queued a task again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Requeued {
    /// Always `requeued`.
    pub reason: String,
    pub by: String,
    pub requeues: u32,
    /// How many attempts it has had.
    pub attempt: u32,
}

/// A chat wants something to be done later.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScheduleCreated {
    pub schedule_id: String,
    pub channel: String,
    pub chat_id: String,
    pub text: String,
    /// A line of cron; absent for one time only.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub every: Option<String>,
    /// The IANA name of its time zone.
    pub timezone: String,
    pub next_at_ms: i64,
}

/// A schedule was ended before its time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScheduleCancelled {
    pub schedule_id: String,
    pub by: String,
}

/// A schedule was due and became the event's task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScheduleDue {
    pub schedule_id: String,
    pub due_at_ms: i64,
    pub late_ms: i64,
    /// Absent if that was the last time.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub next_at_ms: Option<i64>,
}

/// A schedule was due and not run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScheduleMissed {
    pub schedule_id: String,
    pub due_at_ms: i64,
    pub reason: String,
    /// Absent if that was the last time.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub next_at_ms: Option<i64>,
}

/// A task was given to a worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskClaimed {
    pub attempt: u32,
    /// The node that runs it, where several share a database.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
}

/// A task ended and its reply was queued.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskDone {
    pub attempt: u32,
}

/// A task failed for the last time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskDead {
    pub attempt: u32,
    pub error: String,
}

/// Calls of a task wait for a person, and so long no worker has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskParked {
    pub attempt: u32,
    /// The approvals that are waited for.
    pub approval_ids: Vec<EventId>,
}

/// A task was cancelled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskCancelled {
    /// Absent when no attempt was running.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    pub by: Option<String>,
}

/// A message was stored and deliberately not run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskSkipped {
    /// Absent, as `chat_id`, when the task had been queued before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chat_id: Option<String>,
    pub reason: String,
    /// Of a message that belongs to the task of an earlier one.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub part: Option<TaskPart>,
}

/// What a message adds to a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskPart {
    pub part_of: TaskId,
    pub text: String,
}

/// An attempt at a task, or at sending a message, that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptFailed {
    pub attempt: u32,
    pub error: String,
}

/// What failed will be tried again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RetryScheduled {
    /// An attempt at a task or at sending a message.
    Attempt {
        #[serde(flatten)]
        failed: AttemptFailed,
        /// When the next attempt may begin.
        delay_ms: u64,
    },
    Request {
        #[serde(flatten)]
        failed: RequestFailed,
        /// When the next request begins.
        wait_ms: u64,
    },
}

/// What failed will not be tried again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RetryExhausted {
    /// Sending a message.
    Attempt(AttemptFailed),
    Request(RequestFailed),
}

/// A message was put into the outbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplyQueued {
    /// `text`, `edit`, `document`, `voice` or `reaction`.
    pub kind: String,
    /// The text, a file's caption, or an emoji.
    pub text: String,
    /// The message that is edited or reacted to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_message_id: Option<MessageId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<usize>,
    pub channel: String,
    pub chat_id: String,
    /// Which part of the reply it is, from 1.
    pub part: u32,
    pub of: usize,
}

/// A message was delivered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplySent {
    /// The message's ID in its chat, where the channel gives one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_id: Option<MessageId>,
}

/// A message that was given up is queued again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplyRequeued {
    /// Its row in the outbox.
    pub outbox_id: i64,
    /// Who asked: `cli` or `control`.
    pub by: String,
}

/// The operator allowed a chat that asked for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChatPaired {
    pub channel: String,
    pub chat_id: String,
    /// What people call it.
    pub title: String,
    /// Who allowed it: `cli` or `control`.
    pub by: String,
}

/// The operator took that back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChatUnpaired {
    pub channel: String,
    pub chat_id: String,
    /// Who: `cli` or `control`.
    pub by: String,
}

/// A chat has another ID now, under which its messages, history and replies go on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChatMoved {
    pub channel: String,
    pub from: String,
    pub to: String,
}

/// A chat's workspace is on this node from now on: its tasks run there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChatPlaced {
    pub channel: String,
    pub chat_id: String,
    pub node: String,
    /// The node where it was; none for a new chat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Why: `first message`, `node gone`, or who asked.
    pub by: String,
}

/// A node leads from now on: it receives for the channels, and runs schedules.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaderElected {
    pub node: String,
    /// Counts the leaders of the database.
    pub epoch: i64,
}

/// Nothing was heard of a node for as long as its lease: what ran there is put back into the queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeGone {
    pub node: String,
    /// How many tasks ran there.
    pub tasks: u64,
}
