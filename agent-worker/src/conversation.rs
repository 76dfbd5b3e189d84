//! What the model gets to see of a task: the prompt, the chat's past, the message, and what followed.
//!
//! It only grows: a message that the model has seen is not changed, so a provider's prompt cache holds.
//! The one exception is an outgrown window, which [`crate::compaction`] deals with.

use std::ops::Range;
use std::sync::Arc;

use protocol::{Task, ToolSpec};

use crate::compaction_note::CompactionNote;
use crate::model::{Message, Request};
use crate::prior_context;
use crate::prompt;
use crate::untrusted;
use crate::window::{self, WindowBounds};

/// What is kept free for the model's reply, as a divisor of the window, and at most this many tokens.
const REPLY_SHARE: usize = 8;
const MAX_REPLY_TOKENS: usize = 8192;

/// The least room, in tokens, that a recap is worth.
const MIN_RECAP_TOKENS: usize = 64;

/// One task's conversation with the model.
#[derive(Debug)]
pub struct Conversation {
    /// Who the model is and what rules it keeps.
    pub system: String,
    /// What was said and done, oldest first.
    pub messages: Vec<Message>,
    tools: Arc<Vec<ToolSpec>>,
    /// What the prompt and the tools take, in tokens.
    fixed_tokens: usize,
    /// The messages of the task's own request, which stay whatever happens.
    pub(crate) pinned: Range<usize>,
    /// What stands for turns that had to be left out.
    recap: Option<CompactionNote>,
    /// The model's window, in tokens; smaller once a provider has refused what should have fitted.
    window: usize,
    has_shrunk: bool,
}

impl Conversation {
    /// The beginning: the past of the chat, what earlier attempts did, then what the user wrote now.
    pub fn assemble(task: &Task, tools: Arc<Vec<ToolSpec>>, window: usize) -> Self {
        let mut messages: Vec<Message> = task.history.iter().map(prior_context::message).collect();
        let start = messages.len();
        messages.extend(prior_context::earlier_attempts(task).map(Message::User));
        messages.push(Message::User(task.text.clone()));
        let pinned = start..messages.len();
        let system = prompt::system(task);
        let fixed_tokens = fixed_tokens(&system, &tools);
        Self { system, messages, tools, fixed_tokens, pinned, recap: None, window, has_shrunk: false }
    }

    /// Takes another catalogue: the tool server was started anew with other tools.
    pub(crate) fn replace_tools(&mut self, tools: Arc<Vec<ToolSpec>>) {
        self.fixed_tokens = fixed_tokens(&self.system, &tools);
        self.tools = tools;
    }

    /// The conversation as a request.
    pub fn request(&self) -> Request<'_> {
        Request { system: &self.system, messages: &self.messages, tools: &self.tools }
    }

    /// What the task asks for, as the user wrote it.
    pub(crate) fn user_request(&self) -> &str {
        let behind = self.pinned.end - usize::from(self.recap.is_some());
        match self.messages[..behind].last() {
            Some(Message::User(text)) => text,
            Some(Message::Assistant { .. } | Message::ToolResult { .. }) | None => "",
        }
    }

    /// Takes what stands for left-out turns away, to be put back with more in it.
    pub(crate) fn take_recap(&mut self) -> Option<CompactionNote> {
        let recap = self.recap.take()?;
        self.pinned.end -= 1;
        self.messages.remove(self.pinned.end);
        Some(recap)
    }

    /// Puts a recap behind the user's message, within so many tokens; where there is no room, none.
    pub(crate) fn put_recap(&mut self, recap: CompactionNote, room: usize) {
        if room < MIN_RECAP_TOKENS {
            return;
        }
        let max_bytes = window::bytes_of(room - MIN_RECAP_TOKENS / 2);
        self.messages.insert(self.pinned.end, recap.message(max_bytes));
        self.pinned.end += 1;
        self.recap = Some(recap);
    }

    /// Adds a result, cut to its share of the window.
    pub(crate) fn push_result(&mut self, call_id: String, text: &str) {
        let text = untrusted::shorten(text, self.bounds().result_bytes());
        self.messages.push(Message::ToolResult { call_id, text });
    }

    /// Whether a tool is known to change nothing; one that nobody knows is not.
    pub(crate) fn is_read_only(&self, tool: &str) -> bool {
        self.tools.iter().any(|spec| spec.name == tool && spec.annotations.read_only)
    }

    /// Whether a tool's output is the operator's instructions. That of an unknown tool is not.
    pub(crate) fn gives_instructions(&self, tool: &str) -> bool {
        self.tools.iter().any(|spec| spec.name == tool && spec.annotations.instructions)
    }

    /// What all messages take, in tokens.
    pub(crate) fn tokens(&self) -> usize {
        self.messages.iter().map(window::tokens_of).sum()
    }

    /// What the messages may take: the window without the prompt, the tools and room for a reply.
    pub(crate) fn bounds(&self) -> WindowBounds {
        let reply = (self.window / REPLY_SHARE).min(MAX_REPLY_TOKENS);
        WindowBounds { limit: self.window.saturating_sub(reply + self.fixed_tokens) }
    }

    /// What the prompt and the tools take, in tokens.
    pub(crate) fn fixed_tokens(&self) -> usize {
        self.fixed_tokens
    }

    /// Takes the window for smaller than it was said to be, after a provider refused what should have
    /// fitted; false when that was done before.
    pub(crate) fn shrink(&mut self) -> bool {
        let has_shrunk = std::mem::replace(&mut self.has_shrunk, true);
        if !has_shrunk {
            let sent = self.fixed_tokens + self.tokens();
            self.window = sent.min(self.window) / 10 * 8;
        }
        !has_shrunk
    }
}

fn fixed_tokens(system: &str, tools: &[ToolSpec]) -> usize {
    let length =
        |tool: &ToolSpec| tool.name.len() + tool.description.len() + tool.input_schema.to_string().len();
    window::tokens_of_text(system.len() + tools.iter().map(length).sum::<usize>())
}

#[cfg(test)]
mod tests {
    use protocol::{Annotations, Risk};
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_tool_is_trusted_for_its_annotation_and_never_for_its_name() {
        let spec = |name: &str, annotations: Value| ToolSpec {
            name: name.to_owned(),
            description: String::new(),
            risk: Risk::Low,
            annotations: serde_json::from_value::<Annotations>(annotations).unwrap(),
            input_schema: json!({}),
            output_schema: json!({}),
        };
        let old = json!({"readOnly": true, "destructive": false, "idempotent": true, "openWorld": false});
        let mut new = old.clone();
        new["instructions"] = json!(true);
        let tools = Arc::new(vec![spec("handbook", new), spec("skill", old)]);
        let task =
            json!({"task_id": "t", "attempt": 1, "session_id": "s", "parent_event_id": "e", "text": "hi"});
        let conversation = Conversation::assemble(&serde_json::from_value(task).unwrap(), tools, 1000);
        assert!(conversation.gives_instructions("handbook"));
        assert!(!conversation.gives_instructions("skill") && !conversation.gives_instructions("unknown"));
    }
}
