//! All that happened in the order of time, for a person who asks why a row is missed.

use std::fmt::Write as _;
use std::time::Instant;

use super::MEMBERS;
use super::inspection::Inspection;
use super::person::GROUP;

/// How much of a text is shown, in characters.
const SHOWN_CHARS: usize = 100;

/// A line for each word, message, sign, event and outage, with its second.
pub(super) fn of(of: &Inspection<'_>) -> String {
    let mut lines: Vec<(f64, String)> = Vec::new();
    let second = |at: Instant| at.saturating_duration_since(of.begun).as_secs_f64();
    let beginning = |text: &str| text.chars().take(SHOWN_CHARS).collect::<String>().replace('\n', " ");
    for one in of.ledger.written() {
        lines.push((second(one.at), format!("{} {} writes {} ({:?})", one.chat, one.by, one.word, one.fate)));
    }
    for sent in of.telegram.sent_that(|_| true) {
        let kind = if sent.is_progress { "progress " } else { "" };
        let what = format!("{} {}{} {}", sent.chat_id, kind, sent.method, beginning(&sent.text));
        lines.push((second(sent.at), what));
    }
    for chat in MEMBERS.iter().map(|member| member.id).chain([GROUP.id]) {
        lines.extend(of.telegram.signs(chat).into_iter().map(|at| (second(at), format!("{chat} sign"))));
    }
    for (from, to) in &of.troubles.outages {
        lines.push((second(*from), format!("outage until {:.3}", second(*to))));
    }
    let now = (Instant::now(), protocol::now_ms());
    for event in of.system.database().events() {
        let ago = std::time::Duration::from_millis((now.1 - event.time_ms).unsigned_abs());
        let at = now.0.checked_sub(ago).map_or(0.0, second);
        let task = event.task_id.as_ref().map_or("", |task| task.as_str());
        let body = serde_json::to_string(&event.body).unwrap_or_default();
        lines.push((at, format!("{task} {}", beginning(&body))));
    }
    lines.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut text = String::new();
    lines.iter().for_each(|(at, what)| writeln!(text, "{at:9.3} {what}").unwrap_or_default());
    text
}
