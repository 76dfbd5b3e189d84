//! What the model sees of a task: the prompt, the chat's history, the message, and what followed.
//!
//! It only grows: a message that the model has seen never changes, so the provider's prompt cache holds.
//! The one exception is [`crate::compaction`].

use std::ops::Range;

use protocol::{Addition, Envelope, Task, TaskId, ToolSpec};

use crate::budget::Limits;
use crate::compaction_note::CompactionNote;
use crate::model::{Image, Message, Request};
use crate::past;
use crate::prompt::{self, PromptForm};
use crate::small_result;
use crate::task_progress::TaskProgress;
use crate::transcript::Transcript;
use crate::untrusted;
use crate::window::{self, WindowBounds};

/// The share of the window that is reserved for a reply of unknown length, as a divisor, and its maximum.
const REPLY_SHARE: usize = 8;
const MAX_REPLY_TOKENS: usize = 8192;

const MIN_NOTE_TOKENS: usize = 64;

/// The most images in a request.
const MAX_IMAGES: usize = 10;

#[derive(Debug)]
pub(crate) struct Conversation {
    pub(crate) system: String,
    pub(crate) messages: Vec<Message>,
    /// As the model is shown them.
    tools: Vec<ToolSpec>,
    form: PromptForm,
    /// The size of the prompt and the tools, in tokens.
    pub(crate) fixed_tokens: usize,
    /// The messages of the task's own request, which are never dropped.
    pub(crate) pinned: Range<usize>,
    note: Option<CompactionNote>,
    /// What people added to the request, in order.
    additions: Vec<Addition>,
    /// The model's window, in tokens; smaller once a provider has refused what should have fitted.
    window: usize,
    /// The longest reply that was asked for, in tokens.
    max_output: Option<usize>,
    has_shrunk: bool,
}

impl Conversation {
    /// The beginning: the chat's history and the work behind it, what earlier attempts did, then the user's
    /// `message`.
    pub(crate) fn assemble(
        task: &Task,
        message: String,
        tools: &[ToolSpec],
        limits: &Limits,
        form: PromptForm,
    ) -> Self {
        let mut messages: Vec<Message> = task.history.iter().map(past::history_message).collect();
        messages.extend(past::work_record(&task.history, limits.context_tokens).map(Message::User));
        let start = messages.len();
        messages.extend(past::earlier_attempts(task).map(Message::User));
        messages.push(Message::User(message));
        let pinned = start..messages.len();
        let (system, tools) = (prompt::system(task, form), prompt::shown(tools, form));
        let fixed_tokens = window::fixed_tokens(&system, &tools);
        Self {
            system,
            messages,
            tools,
            form,
            fixed_tokens,
            pinned,
            note: None,
            additions: Vec::new(),
            window: limits.context_tokens,
            max_output: limits.max_output_tokens,
            has_shrunk: false,
        }
    }

    /// Continues with what an earlier attempt had seen and written.
    pub(crate) fn resume(
        task: &Task,
        transcript: Transcript,
        tools: &[ToolSpec],
        limits: &Limits,
        form: PromptForm,
    ) -> Self {
        let Transcript { messages, pinned, note, additions } = transcript;
        let begun = Self::assemble(task, String::new(), tools, limits, form);
        Self { messages, pinned, note, additions, ..begun }
    }

    /// What another attempt resumes.
    pub(crate) fn transcript(&self) -> Transcript {
        let (messages, pinned, note) = (self.messages.clone(), self.pinned.clone(), self.note.clone());
        Transcript { messages, pinned, note, additions: self.additions.clone() }
    }

    pub(crate) fn has_addition(&self, message: &TaskId) -> bool {
        self.additions.iter().any(|addition| addition.message == *message)
    }

    /// Adds what somebody said meanwhile.
    pub(crate) fn add(&mut self, addition: Addition) {
        self.messages.push(Message::User(addition.to_string()));
        self.additions.push(addition);
    }

    /// Puts additions that were dropped with their turns before the request, where they stay.
    pub(crate) fn keep_additions(&mut self) {
        for addition in self.additions.iter().rev() {
            let said = Message::User(addition.to_string());
            if !self.messages.contains(&said) {
                self.messages.insert(self.pinned.start, said);
                self.pinned.end += 1;
            }
        }
    }

    /// Replaces the tools after the tool server was restarted with other ones.
    pub(crate) fn replace_tools(&mut self, tools: &[ToolSpec]) {
        self.tools = prompt::shown(tools, self.form);
        self.fixed_tokens = window::fixed_tokens(&self.system, &self.tools);
    }

    pub(crate) fn request(&self) -> Request<'_> {
        let Self { system, messages, tools, .. } = self;
        Request { system, messages, tools, ..Request::default() }
    }

    pub(crate) fn user_request(&self) -> &str {
        let end = self.pinned.end - usize::from(self.note.is_some());
        match self.messages[..end].last() {
            Some(Message::User(text)) => text,
            Some(Message::Assistant { .. } | Message::ToolResult { .. } | Message::Image(_)) | None => "",
        }
    }

    /// Removes the compaction note, to be put back with more in it.
    pub(crate) fn take_note(&mut self) -> Option<CompactionNote> {
        let note = self.note.take()?;
        self.pinned.end -= 1;
        self.messages.remove(self.pinned.end);
        Some(note)
    }

    /// Puts a note of at most `room` tokens after the user's message, if there is room for one.
    pub(crate) fn put_note(&mut self, note: CompactionNote, room: usize) {
        if room < MIN_NOTE_TOKENS {
            return;
        }
        let max_bytes = window::bytes_of(room - MIN_NOTE_TOKENS / 2);
        self.messages.insert(self.pinned.end, note.message(max_bytes));
        self.pinned.end += 1;
        self.note = Some(note);
    }

    /// The result of a call as this model reads it.
    pub(crate) fn result_text(&self, envelope: &Envelope) -> String {
        match self.form {
            PromptForm::Full | PromptForm::Compact => {
                untrusted::result(envelope, self.gives_instructions(&envelope.meta.tool))
            }
            PromptForm::Small => small_result::text(envelope),
        }
    }

    /// Ends a turn's results with what a small model must read before its next reply.
    pub(crate) fn end_results(&mut self) {
        if self.form != PromptForm::Small {
            return;
        }
        let calls = self.messages[self.pinned.end..].iter().flat_map(Message::calls);
        // A search shows no file as a whole.
        let calls = calls.filter(|call| call.name != "grep");
        let calls: Vec<&str> = calls.map(|call| call.arguments.as_str()).collect();
        let last_word = small_result::last_word(self.user_request(), &calls);
        if let Some(Message::ToolResult { text, .. }) = self.messages.last_mut() {
            text.push('\n');
            text.push_str(&last_word);
        }
    }

    /// What a small model is asked when it answers at once, without having looked at anything.
    pub(crate) fn doubt(&self, progress: &TaskProgress) -> Option<&'static str> {
        let is_first = progress.usage.turns == 1 && progress.calls.is_empty();
        (self.form == PromptForm::Small && is_first && !self.tools.is_empty())
            .then_some(small_result::SECOND_LOOK)
    }

    /// Adds a result, shortened to its share of the window.
    pub(crate) fn push_result(&mut self, call_id: String, text: &str) {
        let text = untrusted::shorten(text, self.bounds().result_bytes());
        self.messages.push(Message::ToolResult { call_id, text });
    }

    /// Adds an image. Requests have bounds in bytes, too, so beyond a number the oldest one leaves.
    pub(crate) fn push_image(&mut self, image: Image) {
        self.messages.push(Message::Image(image));
        let mut shown = self.messages.iter_mut().rev().filter_map(Message::shown_image);
        if let Some(oldest) = shown.nth(MAX_IMAGES) {
            oldest.picture = None;
        }
    }

    pub(crate) fn is_read_only(&self, tool: &str) -> bool {
        self.tools.iter().any(|spec| spec.name == tool && spec.annotations.read_only)
    }

    /// Whether a tool's output is the operator's instructions. That of an unknown tool is not.
    pub(crate) fn gives_instructions(&self, tool: &str) -> bool {
        self.tools.iter().any(|spec| spec.name == tool && spec.annotations.instructions)
    }

    pub(crate) fn tokens(&self) -> usize {
        self.messages.iter().map(window::tokens_of).sum()
    }

    /// The room for messages: the window without the prompt, the tools and a reply.
    pub(crate) fn bounds(&self) -> WindowBounds {
        let usual = (self.window / REPLY_SHARE).min(MAX_REPLY_TOKENS);
        // Servers count the longest reply towards the window, whether it is written or not.
        let reply = self.max_output.unwrap_or(usual).min(self.window / 2);
        WindowBounds { limit: self.window.saturating_sub(reply + self.fixed_tokens) }
    }

    /// Shrinks the window after a provider refused what should have fitted; false if it was shrunk before.
    pub(crate) fn shrink(&mut self) -> bool {
        let has_shrunk = std::mem::replace(&mut self.has_shrunk, true);
        if !has_shrunk {
            let sent = self.fixed_tokens + self.tokens();
            self.window = sent.min(self.window) / 10 * 8;
        }
        !has_shrunk
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::model::test_tool;

    #[test]
    fn additions_outlive_their_turns_in_order_and_the_request_stays_what_it_was() {
        let (task, limits) = (Task::new("hi"), Limits::UNBOUNDED);
        let mut conversation = Conversation::assemble(&task, "hi".to_owned(), &[], &limits, PromptForm::Full);
        let says = |text: &str| Addition { message: TaskId::new(), text: text.to_owned(), origin: None };
        for text in ["one", "two", "three"] {
            conversation.add(says(text));
        }
        conversation.messages.truncate(2);
        conversation.keep_additions();
        conversation.keep_additions();
        let said: Vec<String> = conversation.messages.iter().map(|message| format!("{message:?}")).collect();
        assert_eq!(said.len(), 4, "{said:?}");
        for (message, text) in said.iter().zip(["two", "three", "hi", "one"]) {
            assert!(message.contains(text), "{said:?}");
        }
        assert_eq!(conversation.user_request(), "hi");
        let last = conversation.additions[2].message.clone();
        let (transcript, no_tools) = (conversation.transcript(), []);
        let resumed = Conversation::resume(&task, transcript, &no_tools, &limits, PromptForm::Full);
        assert!(resumed.has_addition(&last) && !resumed.has_addition(&TaskId::new()));
    }

    #[test]
    fn a_tool_is_trusted_for_its_annotation_and_never_for_its_name() {
        let spec = |name: &str, annotations: Value| ToolSpec {
            annotations: serde_json::from_value(annotations).unwrap(),
            ..test_tool(name, "", json!({}))
        };
        let old = json!({"readOnly": true, "destructive": false, "idempotent": true, "openWorld": false});
        let mut new = old.clone();
        new["instructions"] = json!(true);
        let tools = [spec("handbook", new), spec("skill", old)];
        let (task, limits) = (Task::new("hi"), Limits::UNBOUNDED);
        let conversation =
            Conversation::assemble(&task, task.text.clone(), &tools, &limits, PromptForm::Full);
        assert!(conversation.gives_instructions("handbook"));
        assert!(!conversation.gives_instructions("skill") && !conversation.gives_instructions("unknown"));
    }
}
