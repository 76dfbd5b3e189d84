//! Builds the message that gives a task to the worker.

use protocol::{EarlierAttempts, EventId, HistoryMessage, Task};
use rusqlite::Connection;

use crate::store::claim::Claimed;
use crate::store::{StoreError, attachments, conversation, history, prior_context};

#[derive(Debug)]
pub(crate) struct TaskTemplate {
    /// Replaces the worker's system prompt.
    pub system_prompt: Option<String>,
    pub roots: Vec<String>,
}

#[derive(Debug)]
pub(crate) struct PriorContext {
    history: Vec<HistoryMessage>,
    earlier: EarlierAttempts,
    /// The model that the chat has chosen.
    model: Option<String>,
    images: Vec<String>,
}

impl PriorContext {
    /// Reads the history of the chat, what earlier attempts did, and which images came with the message.
    pub(crate) fn of(connection: &Connection, task: &Claimed) -> Result<Self, StoreError> {
        let earlier = match task.attempt {
            0 | 1 => EarlierAttempts::default(),
            _ => prior_context::earlier_attempts(connection, &task.id)?,
        };
        let images = attachments::images(connection, &task.id)?;
        let model = conversation::model(connection, &task.chat)?;
        Ok(Self { history: history::of_chat(connection, &task.chat)?, earlier, images, model })
    }
}

impl TaskTemplate {
    /// The message for the worker. The parent of its events is `run`.
    pub(crate) fn task(&self, task: &Claimed, prior: PriorContext, run: &EventId) -> Task {
        Task {
            task_id: task.id.clone(),
            attempt: task.attempt,
            session_id: task.chat.session(),
            parent_event_id: run.clone(),
            text: task.text.clone(),
            origin: task.origin.clone(),
            model: prior.model,
            images: prior.images,
            history: prior.history,
            earlier: prior.earlier,
            system_prompt: self.system_prompt.clone(),
            roots: self.roots.clone(),
            date: task.date.clone(),
        }
    }
}
