//! What came before a task: the chat's messages, and what earlier attempts at the task did.
//!
//! Pure text from the task. Tool output is marked as untrusted, as always.

use std::fmt::Write as _;

use protocol::{HistoryMessage, PastCallStatus, Role, Task};

use crate::model::Message;
use crate::origin;
use crate::task_progress::CallRecord;
use crate::untrusted;

/// The most calls of all earlier attempts that are listed: the newest.
const MAX_CALLS_OF_ATTEMPTS: usize = 40;

/// The most bytes of one earlier call's output.
const MAX_OUTPUT_BYTES: usize = 400;

/// A message of the chat's history, without the calls behind it: a model that is shown calls as a part of an
/// answer writes such lines itself instead of calling.
pub(crate) fn history_message(past: &HistoryMessage) -> Message {
    match past.role {
        Role::User => Message::User(origin::signed(&past.text, past.origin.as_ref())),
        Role::Assistant => Message::assistant(past.text.clone(), Vec::new()),
    }
}

const BEGINNING: &str = "[An earlier attempt to answer the next message was cut off. This is what it did, \
     so that nothing is done twice.";

const AFTER_A_WAIT: &str = "[An attempt to go on from here was cut off. This is what it did, so that nothing \
     is done twice.";

/// What the model reads about earlier attempts at the task, if there were any.
pub(crate) fn earlier_attempts(task: &Task) -> Option<String> {
    (!task.earlier.is_empty()).then(|| told(BEGINNING, task))
}

/// What the model reads about attempts that continued the turn that waited for a person, and were cut
/// off: what came before that turn is in the conversation.
pub(crate) fn attempts_after_a_wait(task: &Task) -> Option<String> {
    let did_nothing = task.earlier.calls.is_empty() && task.earlier.summary.is_none();
    (!did_nothing).then(|| told(AFTER_A_WAIT, task))
}

fn told(beginning: &str, task: &Task) -> String {
    let mut text = beginning.to_owned();
    if let Some(summary) = &task.earlier.summary {
        let _ = write!(text, "\nIts own summary:\n{summary}");
    }
    if let Some(plan) = &task.earlier.plan {
        let _ = write!(text, "\nIts plan, as far as it came; go on with it:\n{plan}");
    }
    let calls = &task.earlier.calls;
    let skipped = calls.len().saturating_sub(MAX_CALLS_OF_ATTEMPTS);
    if !calls.is_empty() {
        text.push_str("\nIts calls, in order:");
    }
    if skipped > 0 {
        let _ = write!(text, "\n- {skipped} earlier calls");
    }
    for call in &calls[skipped..] {
        let _ = write!(text, "\n- {}", CallRecord::from(call));
        if call.status == PastCallStatus::Interrupted {
            text.push_str("; it may have had its effect, so look before you repeat it");
        }
        if !call.output.is_empty() {
            let output = untrusted::cut_middle(&call.output, MAX_OUTPUT_BYTES);
            let _ = write!(text, "\n{}", untrusted::mark(&output));
        }
    }
    text.push_str("\nContinue from there. You may have to read a file again before you can change it.]");
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::{EarlierAttempts, PastCall};

    fn call(tool: &str, status: PastCallStatus, output: &str) -> PastCall {
        let (tool_name, arguments) = (tool.to_owned(), "{}".to_owned());
        let output = output.to_owned();
        PastCall { tool_name, arguments, status, output, subject: String::new(), dry_run: false }
    }

    fn told(earlier: EarlierAttempts) -> Option<String> {
        earlier_attempts(&Task { earlier, ..Task::new("go") })
    }

    #[test]
    fn only_the_last_calls_of_a_long_attempt_are_listed() {
        let calls = (0..60).map(|_| call("ls", PastCallStatus::Done, &"x".repeat(5000))).collect();
        let text = told(EarlierAttempts { calls, ..EarlierAttempts::default() }).unwrap();
        assert!(text.contains("- 20 earlier calls") && text.len() < 40 * 700, "{}", text.len());
    }
}
