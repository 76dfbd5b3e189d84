//! The words for a task that ended early: what was done, what is open, and what to do about it.
//!
//! Pure text from [`Progress`]; it claims nothing that is not in there.

use std::fmt::Write as _;

use crate::budget::{Limit, Limits};
use crate::progress::{CallMade, Progress};

/// The most calls that an answer lists, and the most characters of one call's arguments.
const MAX_CALLS: usize = 20;
const MAX_ARGUMENT_CHARS: usize = 120;

/// The longest reply, in bytes. Channels split far below it, and a line holds it however it is escaped.
const MAX_REPLY_BYTES: usize = 1024 * 1024;

/// The answer when a limit ended the task.
pub fn at_limit(limits: &Limits, limit: Limit, progress: &Progress) -> String {
    let mut text = format!("I had to stop at the limit of {}.", limits.in_words(limit));
    if !progress.tools_answered {
        text.push_str(" The tool server did not answer in this time.");
    }
    text.push_str(&done(progress));
    text.push_str("\n\nOpen: there is no final answer to your message yet. ");
    text.push_str("Ask again with a smaller step, or raise the limit.");
    text
}

/// The answer when somebody cancelled the task.
pub fn cancelled(progress: &Progress) -> String {
    format!("Cancelled.{}", done(progress))
}

/// The message when the task failed.
pub fn failed(error: &str, progress: &Progress) -> String {
    let error = error.trim_end_matches('.');
    if progress.calls.is_empty() { format!("{error}.") } else { format!("{error}.{}", done(progress)) }
}

/// A reply that fits into a line, whatever the model or a tool wrote.
pub fn bounded(mut reply: String) -> String {
    if reply.len() > MAX_REPLY_BYTES {
        reply.truncate(reply.floor_char_boundary(MAX_REPLY_BYTES));
        let _ = write!(reply, "\n(cut after {MAX_REPLY_BYTES} bytes)");
    }
    reply
}

fn done(progress: &Progress) -> String {
    let calls = &progress.calls;
    let mut text = "\n\nDone so far:".to_owned();
    if calls.is_empty() {
        text.push_str(" no tool was called.");
    }
    let skipped = calls.len().saturating_sub(MAX_CALLS);
    if skipped > 0 {
        let _ = write!(text, "\n- {skipped} earlier calls");
    }
    for call in &calls[skipped..] {
        let _ = write!(text, "\n- {}", line(call));
    }
    if !progress.said.is_empty() {
        let _ = write!(text, "\n\nThe last thing I noted: {}", progress.said);
    }
    text
}

fn line(call: &CallMade) -> String {
    let mut arguments: String = call.arguments.chars().take(MAX_ARGUMENT_CHARS).collect();
    if arguments.len() < call.arguments.len() {
        arguments.push('…');
    }
    let outcome = call.outcome.as_deref().unwrap_or("was running, its outcome is unknown");
    format!("{} {arguments}: {outcome}", call.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const LIMITS: Limits = Limits { max_turns: 2, wall_time: Duration::from_secs(9), max_tokens: 7 };

    fn call(arguments: &str, outcome: Option<&str>) -> CallMade {
        CallMade {
            name: "ls".to_owned(),
            arguments: arguments.to_owned(),
            outcome: outcome.map(str::to_owned),
        }
    }

    #[test]
    fn a_limit_names_what_was_done_what_was_under_way_and_what_is_open() {
        let calls = vec![call("{}", Some("exit 0")), call(r#"{"path":"a"}"#, None)];
        let progress =
            Progress { calls, said: "nearly".to_owned(), tools_answered: true, ..Progress::default() };
        assert_eq!(
            at_limit(&LIMITS, Limit::Turns, &progress),
            "I had to stop at the limit of 2 turns (AUTONOUS_CONTROL_MAX_TURNS).\n\n\
             Done so far:\n- ls {}: exit 0\n\
             - ls {\"path\":\"a\"}: was running, its outcome is unknown\n\n\
             The last thing I noted: nearly\n\n\
             Open: there is no final answer to your message yet. \
             Ask again with a smaller step, or raise the limit."
        );
    }

    #[test]
    fn a_tool_server_that_never_answered_is_named() {
        let text = at_limit(&LIMITS, Limit::WallTime, &Progress::default());
        assert!(text.contains("9 seconds") && text.contains("The tool server did not answer"), "{text}");
        assert!(text.contains("no tool was called"), "{text}");
    }

    #[test]
    fn a_long_past_is_shortened() {
        let calls = (0..25).map(|_| call(&"é".repeat(200), Some("exit 0"))).collect();
        let text = cancelled(&Progress { calls, ..Progress::default() });
        assert!(text.contains("\n- 5 earlier calls\n") && text.lines().count() == 24, "{text}");
        assert!(text.contains(&format!("{}…: exit 0", "é".repeat(120))), "{text}");
    }

    #[test]
    fn a_reply_is_cut_between_characters() {
        let reply = bounded("é".repeat(MAX_REPLY_BYTES));
        assert!(reply.len() < MAX_REPLY_BYTES + 40 && reply.ends_with("é\n(cut after 1048576 bytes)"));
        assert_eq!(bounded("short".to_owned()), "short");
    }
}
