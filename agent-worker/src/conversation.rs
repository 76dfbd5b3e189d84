//! What the model gets to see of a task: the prompt, the chat's past, the message, and what followed.
//!
//! It only grows: a message that the model has seen is never changed, so a provider's prompt cache holds.

use protocol::{Role, Task, ToolSpec};

use crate::model::{Message, Request};
use crate::prompt;

/// One task's conversation with the model.
#[derive(Debug)]
pub struct Conversation {
    /// Who the model is and what rules it keeps.
    pub system: String,
    /// What was said and done, oldest first.
    pub messages: Vec<Message>,
    /// What the model may call, sorted by name.
    pub tools: Vec<ToolSpec>,
}

impl Conversation {
    /// The beginning: the past of the chat, then what the user wrote now.
    pub fn assemble(task: &Task, tools: Vec<ToolSpec>) -> Self {
        let past = task.history.iter().map(|message| match message.role {
            Role::User => Message::User(message.text.clone()),
            Role::Assistant => Message::Assistant { text: message.text.clone(), calls: Vec::new() },
        });
        let messages = past.chain([Message::User(task.text.clone())]).collect();
        Self { system: prompt::system(task), messages, tools }
    }

    /// The conversation as a request.
    pub fn request(&self) -> Request<'_> {
        Request { system: &self.system, messages: &self.messages, tools: &self.tools }
    }
}
