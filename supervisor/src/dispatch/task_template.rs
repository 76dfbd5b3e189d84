//! What the worker is told with a task.

use protocol::{EarlierAttempts, EventId, HistoryMessage, Task};
use rusqlite::Connection;

use crate::store::claim::Claimed;
use crate::store::{StoreError, history, prior_context};

/// What every task is told.
#[derive(Debug)]
pub struct TaskTemplate {
    /// In place of the worker's own system prompt.
    pub system_prompt: Option<String>,
    /// The directories that tools may use.
    pub roots: Vec<String>,
}

/// What happened before an attempt.
#[derive(Debug)]
pub struct PriorContext {
    history: Vec<HistoryMessage>,
    earlier: EarlierAttempts,
}

impl PriorContext {
    /// What was said in the chat, and what earlier attempts at the task did.
    pub fn of(connection: &Connection, task: &Claimed) -> Result<Self, StoreError> {
        let earlier = match task.attempt {
            0 | 1 => EarlierAttempts::default(),
            _ => prior_context::earlier_attempts(connection, &task.id)?,
        };
        Ok(Self { history: history::of_chat(connection, &task.chat)?, earlier })
    }
}

impl TaskTemplate {
    /// The line for the worker. Its events hang under `run`.
    pub fn task(&self, task: &Claimed, prior: PriorContext, run: &EventId) -> Task {
        Task {
            task_id: task.id.clone(),
            attempt: task.attempt,
            session_id: task.chat.session(),
            parent_event_id: run.clone(),
            text: task.text.clone(),
            history: prior.history,
            earlier: prior.earlier,
            system_prompt: self.system_prompt.clone(),
            roots: self.roots.clone(),
            date: task.date.clone(),
        }
    }
}
