//! What stands for the turns of a task that had to be left out: the model's own summary of them, and one
//! line for each call that no summary covers.
//!
//! It is one message behind the user's. The summary is asked for once; what is left out later is listed.

use std::fmt::Write as _;

use crate::model::Message;
use crate::task_progress::CallRecord;
use crate::untrusted;

/// The most calls that are listed; of more, the newest are.
const MAX_CALLS: usize = 40;

/// What stands for turns that were left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CompactionNote {
    /// The model's summary of the first of them.
    summary: Option<String>,
    /// The calls of the others, a line each.
    calls: Vec<String>,
}

impl CompactionNote {
    /// A recap that begins with a summary.
    pub(crate) fn new(summary: String) -> Self {
        Self { summary: Some(summary), calls: Vec::new() }
    }

    /// The same recap with the calls of turns that no summary covers.
    pub(crate) fn with(mut self, lost: &[Message]) -> Self {
        self.calls.extend(calls_of(lost).iter().map(CallRecord::to_string));
        let surplus = self.calls.len().saturating_sub(MAX_CALLS);
        self.calls.drain(..surplus);
        self
    }

    /// The message, of at most `max_bytes`.
    pub(crate) fn message(&self, max_bytes: usize) -> Message {
        let mut text = "[To save room, earlier steps of yours at this task are left out.".to_owned();
        if let Some(summary) = &self.summary {
            let _ = write!(text, "\nYour summary of them:\n{summary}");
        }
        if !self.calls.is_empty() {
            let _ =
                write!(text, "\nCalls that you made and that are left out:\n- {}", self.calls.join("\n- "));
        }
        text.push_str("\nGo on from there.]");
        Message::User(untrusted::cut_middle(&text, max_bytes))
    }
}

/// The calls in some messages, with the status lines of their results.
fn calls_of(messages: &[Message]) -> Vec<CallRecord> {
    let mut made: Vec<(&str, CallRecord)> = Vec::new();
    for message in messages {
        match message {
            Message::User(_) => {}
            Message::Assistant { calls, .. } => made.extend(calls.iter().map(|call| {
                let (name, arguments) = (call.name.clone(), call.arguments.clone());
                (call.id.as_str(), CallRecord { name, arguments, outcome: None })
            })),
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
        let arguments = format!(r#"{{"path":"{path}"}}"#);
        let call = ToolCall { id: id.into(), name: "ls".into(), arguments };
        [
            Message::Assistant { text: String::new(), calls: vec![call] },
            Message::ToolResult { call_id: id.into(), text: "exit 0\nx".into() },
        ]
    }

    #[test]
    fn it_holds_the_summary_and_lists_what_came_after_it() {
        let recap = CompactionNote::new("I found the bug.".to_owned()).with(&turn("1", "a"));
        let Message::User(text) = recap.message(10_000) else { panic!("no message of the user") };
        assert_eq!(
            text,
            "[To save room, earlier steps of yours at this task are left out.\nYour summary of them:\n\
             I found the bug.\nCalls that you made and that are left out:\n- ls {\"path\":\"a\"}: exit 0\n\
             Go on from there.]"
        );
    }

    #[test]
    fn it_lists_the_newest_calls_within_its_bound() {
        let recap = (0..60)
            .fold(CompactionNote::default(), |recap, number| recap.with(&turn("same", &number.to_string())));
        assert_eq!(recap.calls.len(), MAX_CALLS);
        assert!(recap.calls[0].contains("\"20\"") && recap.calls[39].contains("\"59\""));
        let Message::User(text) = recap.message(300) else { panic!("no message of the user") };
        assert!(text.len() <= 300 && text.ends_with("Go on from there.]"), "{text}");
    }
}
