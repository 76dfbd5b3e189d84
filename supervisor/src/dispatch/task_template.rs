//! Builds the message that gives a task to the worker.

use protocol::{EarlierAttempts, EventId, HistoryMessage, Parked, SessionId, Task};
use rusqlite::Connection;
use settings::choices::Division;
use store::claim::Claimed;
use store::{StoreError, attachments, conversation, history, parked, prior_context};

#[derive(Debug)]
pub(crate) struct TaskTemplate {
    /// Replaces the worker's system prompt.
    pub system_prompt: Option<String>,
    /// The roots of the tool server.
    pub roots: Vec<String>,
    /// What of them a chat sees.
    pub division: Division,
}

#[derive(Debug)]
pub(crate) struct PriorContext {
    history: Vec<HistoryMessage>,
    earlier: EarlierAttempts,
    /// The turn in which it waited for a person.
    parked: Option<Box<Parked>>,
    /// The model that the chat has chosen.
    model: Option<String>,
    images: Vec<String>,
}

impl PriorContext {
    /// Reads the history of the chat, what earlier attempts did, and which images came with the message.
    pub(crate) fn of(connection: &Connection, task: &Claimed) -> Result<Self, StoreError> {
        let parked = parked::of(connection, &task.id)?.map(Box::new);
        let earlier = match (task.attempt, &parked) {
            (0 | 1, _) => EarlierAttempts::default(),
            (_, Some(parked)) if parked.conversation.is_some() => {
                prior_context::attempts_after_a_wait(connection, &task.id)?
            }
            _ => prior_context::earlier_attempts(connection, &task.id)?,
        };
        let images = attachments::images(connection, &task.id)?;
        let model = conversation::model(connection, &task.chat)?;
        Ok(Self { history: history::of_chat(connection, &task.chat)?, earlier, parked, images, model })
    }
}

impl TaskTemplate {
    /// The message for the worker. The parent of its events is `run`.
    pub(crate) fn task(&self, task: &Claimed, prior: PriorContext, run: &EventId) -> Task {
        let session = task.chat.session();
        let roots = self.roots_of(&session);
        Task {
            task_id: task.id.clone(),
            attempt: task.attempt,
            session_id: session,
            parent_event_id: run.clone(),
            text: task.text.clone(),
            origin: task.origin.clone(),
            model: prior.model,
            images: prior.images,
            history: prior.history,
            earlier: prior.earlier,
            parked: prior.parked,
            system_prompt: self.system_prompt.clone(),
            roots,
            date: task.date.clone(),
            quota: task.quota,
        }
    }

    fn roots_of(&self, session: &SessionId) -> Vec<String> {
        match self.division {
            Division::Shared => self.roots.clone(),
            Division::PerChat => {
                let own = session.directory_name();
                self.roots.iter().map(|root| format!("{}/{own}", root.trim_end_matches('/'))).collect()
            }
        }
    }
}
