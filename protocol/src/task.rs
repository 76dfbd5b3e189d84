//! A task: one message from a user, with all that the worker may know about it.
//!
//! The worker has no files and no memory; whatever it needs is in here.

use serde::{Deserialize, Serialize};

use crate::{EventId, SessionId, TaskId};

/// What the supervisor gives to the worker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// The task's id.
    pub task_id: TaskId,
    /// Which attempt this is, from 1; results of an older attempt are ignored.
    pub attempt: u32,
    /// The chat, as `chat:<id>`.
    pub session_id: SessionId,
    /// The event that the worker's events hang under.
    pub parent_event_id: EventId,
    /// What the user wrote.
    pub text: String,
    /// What was said in this chat before, oldest first.
    #[serde(default)]
    pub history: Vec<HistoryMessage>,
    /// Replaces the worker's own system prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    /// The directories that the tools may use, absolute; relative paths start at the first.
    #[serde(default)]
    pub roots: Vec<String>,
    /// Today, as `2026-01-31`, in UTC.
    #[serde(default)]
    pub date: String,
}

/// Who said something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The person in the chat.
    User,
    /// Autonous.
    Assistant,
}

/// One message of a chat's past.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryMessage {
    /// Who said it.
    pub role: Role,
    /// What was said.
    pub text: String,
}
