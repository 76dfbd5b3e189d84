//! The note that replaces dropped turns of a task: the model's summary of the first of them, and one line
//! for each later call.
//!
//! It is one message after the user's, and has the task's plan as it is now, so that no turn that leaves
//! takes it along.

use std::fmt::Write as _;

use protocol::Plan;
use serde::{Deserialize, Serialize};

use crate::model::Message;
use crate::task_progress::CallRecord;
use crate::untrusted;

/// The most calls that are listed: the newest.
const MAX_CALLS: usize = 40;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CompactionNote {
    /// The model's summary of the first of them.
    summary: Option<String>,
    /// The calls of the others, one line each.
    calls: Vec<String>,
    plan: Option<Plan>,
}

impl CompactionNote {
    pub(crate) fn new(summary: String) -> Self {
        Self { summary: Some(summary), ..Self::default() }
    }

    /// The note with the calls of more turns, which the summary does not cover.
    pub(crate) fn with(mut self, dropped: &[Message]) -> Self {
        self.calls.extend(calls_of(dropped).iter().map(CallRecord::to_string));
        let surplus = self.calls.len().saturating_sub(MAX_CALLS);
        self.calls.drain(..surplus);
        self
    }

    /// The note with the plan as it is now.
    pub(crate) fn with_plan(self, plan: Option<Plan>) -> Self {
        Self { plan, ..self }
    }

    /// The message, of at most `max_bytes`.
    pub(crate) fn message(&self, max_bytes: usize) -> Message {
        let mut text = "[To save room, your earlier steps of this task were removed or shortened.".to_owned();
        if let Some(plan) = &self.plan {
            let _ = write!(text, "\nYour plan, as far as it came:\n{plan}");
        }
        if let Some(summary) = &self.summary {
            let _ = write!(text, "\nYour summary of them:\n{summary}");
        }
        if !self.calls.is_empty() {
            let _ = write!(text, "\nCalls that you made in removed steps:\n- {}", self.calls.join("\n- "));
        }
        text.push_str("\nContinue from there.]");
        Message::User(untrusted::cut_middle(&text, max_bytes))
    }
}

/// The calls in some messages, with the status lines of their results.
pub(crate) fn calls_of(messages: &[Message]) -> Vec<CallRecord> {
    let mut made: Vec<(&str, CallRecord)> = Vec::new();
    for message in messages {
        match message {
            Message::User(_) | Message::Image(_) => {}
            Message::Assistant { calls, .. } => made.extend(
                calls.iter().map(|call| (call.id.as_str(), CallRecord::running(&call.name, &call.arguments))),
            ),
            Message::ToolResult { call_id, text } => {
                let status = text.lines().next().map(str::to_owned);
                let call = made.iter_mut().find(|(id, call)| id == call_id && call.outcome.is_none());
                if let Some((_, call)) = call {
                    call.outcome = status;
                }
            }
        }
    }
    made.into_iter().map(|(_, call)| call).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ToolCall;

    fn turn(id: &str, path: &str) -> [Message; 2] {
        let call = ToolCall::new(id, "ls", format!(r#"{{"path":"{path}"}}"#));
        [
            Message::assistant("", vec![call]),
            Message::ToolResult { call_id: id.into(), text: "exit 0\nx".into() },
        ]
    }

    #[test]
    fn it_lists_the_newest_calls_within_its_bound() {
        let note = (0..60)
            .fold(CompactionNote::default(), |note, number| note.with(&turn("same", &number.to_string())));
        assert_eq!(note.calls.len(), MAX_CALLS);
        assert!(note.calls[0].contains("\"20\"") && note.calls[39].contains("\"59\""));
        let Message::User(text) = note.message(300) else { panic!("no message of the user") };
        assert!(text.len() <= 300 && text.ends_with("Continue from there.]"), "{text}");
    }
}
