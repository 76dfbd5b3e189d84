//! `/status`: what runs, what waits, and what was used today.

use protocol::{now_ms, visible};
use rusqlite::Connection;
use store::line::{self, InLine, WaitsFor};
use store::usage::{self, Running, Usage};
use store::{StoreError, inbox, quotas};

use super::{Context, shortened};
use crate::terminal::age::since;

pub(super) fn carry_out(connection: &Connection, context: &Context<'_>) -> Result<String, StoreError> {
    let (now, chat) = (now_ms(), context.chat);
    let running = match usage::running(connection, chat)? {
        None => waiting_for(line::in_chat(connection, chat)?),
        Some(running) => in_words(&running, now),
    };
    let waiting = match usage::waiting(connection, chat)? {
        0 => "Nothing waits.".to_owned(),
        1 => "1 message waits.".to_owned(),
        many => format!("{many} messages wait."),
    };
    let mut text = format!("{running}\n{waiting}\n{}", today(&usage::today(connection, chat, now)?));
    let user = context.origin.and_then(|origin| inbox::user_id(&chat.channel, origin));
    for line in quotas::told(connection, context.limits, chat, user.as_deref(), now)? {
        text.push_str(&format!("\n{line}"));
    }
    Ok(text)
}

/// Why the next task of the chat has not begun, if there is one.
fn waiting_for(next: Option<InLine>) -> String {
    match next.map(|next| next.waits_for) {
        None => "Nothing runs.".to_owned(),
        Some(WaitsFor::Worker { before: 0 }) => "Waits for a free worker.".to_owned(),
        Some(WaitsFor::Worker { before }) => format!("Waits for a free worker, {before} before you."),
        Some(WaitsFor::Sender) => "Waits for the rest of a message.".to_owned(),
        Some(WaitsFor::File { name }) => format!("Fetching {}.", visible::escaped(&name)),
    }
}

fn in_words(running: &Running, now: i64) -> String {
    let tool = running.tool_name.as_ref().map(|tool| format!(", last tool {tool}")).unwrap_or_default();
    let age = since(running.since_ms, now);
    if running.is_parked {
        let (text, turns) = (shortened(&running.text), running.turns);
        return format!("Waiting for a decision for {age}: {text} (turn {turns})");
    }
    format!("Running for {age}: {} (turn {}{tool})", shortened(&running.text), running.turns)
}

fn today(usage: &Usage) -> String {
    let tasks = if usage.tasks == 1 { "task" } else { "tasks" };
    let mut text = format!(
        "Today (UTC): {} {tasks}, {} turns, {} tokens in, {} out",
        usage.tasks, usage.turns, usage.input_tokens, usage.output_tokens
    );
    if let Some(micros) = usage.cost_micros {
        text.push_str(&format!(", cost {}.{:04}", micros / 1_000_000, micros % 1_000_000 / 100));
    }
    text.push('.');
    text
}
