//! The answer to a task that ended early: the steps done, those open, and the next one.
//!
//! Pure text from [`TaskProgress`]; it claims nothing else.

use std::fmt::Write as _;

use protocol::Outcome;
use texts::{Language, Text};

use crate::budget::{Limit, Limits};
use crate::repetition::EQUAL_ROUNDS;
use crate::task_progress::{CallRecord, TaskProgress};

const MAX_CALLS: usize = 20;

/// The longest reply, in bytes. It fits into a line however it is escaped; channels split far below it.
const MAX_REPLY_BYTES: usize = 1024 * 1024;

pub(crate) fn at_limit(limits: &Limits, limit: Limit, progress: &TaskProgress) -> String {
    let language = progress.language;
    let mut text = Text::StoppedAtLimit { limit: &limits.describe(limit, language) }.to(language);
    if !progress.tools_answered {
        let silent = Text::ToolServerSilent.to(language);
        text = Text::Sentences { first: &text, second: &silent }.to(language);
    }
    let next = if limit.is_daily() { Text::AskAgainTomorrow } else { Text::AskAgainSmaller };
    format!("{text}{}{}", done(progress, language), open(next, language))
}

/// The answer when the same calls kept leading to the same results.
pub(crate) fn stalled(progress: &TaskProgress) -> String {
    let (language, rounds) = (progress.language, i64::try_from(EQUAL_ROUNDS).unwrap_or(i64::MAX));
    let text = Text::StoppedStalled { rounds }.to(language);
    format!("{text}{}{}", done(progress, language), open(Text::AskAgainRephrased, language))
}

pub(crate) fn cancelled(progress: &TaskProgress) -> String {
    format!("{}{}", Text::PressCancelled.to(progress.language), done(progress, progress.language))
}

/// A failure with what was done until then; the log has it in English.
pub(crate) fn failed(error: &str, progress: &TaskProgress, language: Language) -> String {
    let error = error.trim_end_matches('.');
    if progress.calls.is_empty() && progress.earlier.is_empty() {
        return format!("{error}.");
    }
    format!("{error}.{}{}", done(progress, language), open(Text::AskAgainFixed, language))
}

/// What is open, and the next step.
fn open(next: Text<'_>, language: Language) -> String {
    let (open, next) = (Text::NoAnswerYet.to(language), next.to(language));
    format!("\n\n{}", Text::Sentences { first: &open, second: &next }.to(language))
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

fn done(progress: &TaskProgress, language: Language) -> String {
    let calls: Vec<&CallRecord> = progress.earlier.iter().chain(&progress.calls).collect();
    let head = if calls.is_empty() { Text::DoneNothing } else { Text::DoneSoFar };
    let mut text = format!("\n\n{}", head.to(language));
    let skipped = calls.len().saturating_sub(MAX_CALLS);
    if skipped > 0 {
        let count = i64::try_from(skipped).unwrap_or(i64::MAX);
        let _ = write!(text, "\n- {}", Text::EarlierCalls { count }.to(language));
    }
    for call in &calls[skipped..] {
        let _ = write!(text, "\n- {}", call.told(language));
    }
    if !progress.last_note.is_empty() {
        let noted = Text::LastNoted { note: &progress.last_note }.to(language);
        let _ = write!(text, "\n\n{noted}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn call(arguments: &str, outcome: Option<&str>) -> CallRecord {
        CallRecord { outcome: outcome.map(str::to_owned), ..CallRecord::running("ls", arguments) }
    }

    #[test]
    fn a_silent_tool_server_is_named() {
        let limits = Limits { wall_time: Duration::from_secs(9), ..Limits::UNBOUNDED };
        let text = at_limit(&limits, Limit::WallTime, &TaskProgress::default());
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
