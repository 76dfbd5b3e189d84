//! The answer to a task that ended early: the steps done, those open, and the next one.
//!
//! Pure text from [`TaskProgress`]; it claims nothing else.

use std::fmt::Write as _;

use protocol::Outcome;

use crate::budget::{Limit, Limits};
use crate::repetition::EQUAL_ROUNDS;
use crate::task_progress::{CallRecord, TaskProgress};

const MAX_CALLS: usize = 20;

/// The longest reply, in bytes. It fits into a line however it is escaped; channels split far below it.
const MAX_REPLY_BYTES: usize = 1024 * 1024;

const OPEN: &str = "\n\nOpen: there is no final answer to your message yet. ";

pub(crate) fn at_limit(limits: &Limits, limit: Limit, progress: &TaskProgress) -> String {
    let mut text = format!("I had to stop at the limit of {}.", limits.describe(limit));
    if !progress.tools_answered {
        text.push_str(" The tool server did not answer in that time.");
    }
    text.push_str(&done(progress));
    text.push_str(OPEN);
    text.push_str(if limit.is_daily() {
        "Ask again once the limit is free again."
    } else {
        "Ask again with a smaller step, or raise the limit."
    });
    text
}

/// The answer when the same calls kept leading to the same results.
pub(crate) fn stalled(progress: &TaskProgress) -> String {
    let (done, rounds) = (done(progress), EQUAL_ROUNDS);
    format!(
        "I had to stop: I made the same calls {rounds} times in a row with the same results.\
         {done}{OPEN}Rephrase the request, or tell me what I am missing."
    )
}

pub(crate) fn cancelled(progress: &TaskProgress) -> String {
    format!("Cancelled.{}", done(progress))
}

pub(crate) fn failed(error: &str, progress: &TaskProgress) -> String {
    let error = error.trim_end_matches('.');
    if progress.calls.is_empty() && progress.earlier.is_empty() {
        return format!("{error}.");
    }
    format!("{error}.{}{OPEN}Ask again once the cause is fixed.", done(progress))
}

/// An outcome that fits into a line, whatever the model or a tool wrote.
pub(crate) fn bounded(outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::Done { reply, format } => Outcome::Done { reply: cut(reply), format },
        Outcome::Failed { error, told, retryable, retry_after_ms } => {
            Outcome::Failed { error: cut(error), told: told.map(cut), retryable, retry_after_ms }
        }
        Outcome::Cancelled { reply } => Outcome::Cancelled { reply: cut(reply) },
        Outcome::Parked(parked) => Outcome::Parked(parked),
    }
}

fn cut(mut reply: String) -> String {
    if reply.len() > MAX_REPLY_BYTES {
        reply.truncate(reply.floor_char_boundary(MAX_REPLY_BYTES));
        let _ = write!(reply, "\n(cut after {MAX_REPLY_BYTES} bytes)");
    }
    reply
}

fn done(progress: &TaskProgress) -> String {
    let calls: Vec<&CallRecord> = progress.earlier.iter().chain(&progress.calls).collect();
    let mut text = "\n\nDone so far:".to_owned();
    if calls.is_empty() {
        text.push_str(" no tool was called.");
    }
    let skipped = calls.len().saturating_sub(MAX_CALLS);
    if skipped > 0 {
        let _ = write!(text, "\n- {skipped} earlier calls");
    }
    for call in &calls[skipped..] {
        let _ = write!(text, "\n- {call}");
    }
    if !progress.last_note.is_empty() {
        let _ = write!(text, "\n\nThe last thing I noted: {}", progress.last_note);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const LIMITS: Limits = Limits {
        max_turns: 2,
        wall_time: Duration::from_secs(9),
        max_tokens: 7,
        context_tokens: 1,
        max_output_tokens: None,
        quota: protocol::Quota { turns: None, tokens: None, cost_micros: None },
    };

    fn call(arguments: &str, outcome: Option<&str>) -> CallRecord {
        CallRecord { outcome: outcome.map(str::to_owned), ..CallRecord::running("ls", arguments) }
    }

    #[test]
    fn a_silent_tool_server_is_named() {
        let text = at_limit(&LIMITS, Limit::WallTime, &TaskProgress::default());
        assert!(text.contains("9 seconds") && text.contains("The tool server did not answer"), "{text}");
        assert!(text.contains("no tool was called"), "{text}");
    }

    #[test]
    fn only_the_last_calls_are_listed() {
        let calls = (0..25).map(|_| call(&"é".repeat(200), Some("exit 0"))).collect();
        let text = cancelled(&TaskProgress { calls, ..TaskProgress::default() });
        assert!(text.contains("\n- 5 earlier calls\n") && text.lines().count() == 24, "{text}");
        assert!(text.contains(&format!("{}…: exit 0", "é".repeat(120))), "{text}");
    }

    #[test]
    fn a_reply_is_cut_between_characters() {
        let reply = cut("é".repeat(MAX_REPLY_BYTES));
        assert!(reply.len() < MAX_REPLY_BYTES + 40 && reply.ends_with("é\n(cut after 1048576 bytes)"));
        assert_eq!(cut("short".to_owned()), "short");
    }
}
