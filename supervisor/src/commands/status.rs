//! `/status`: what runs, what waits, and what was used today.

use protocol::{now_ms, visible};
use store::line::{self, InLine, WaitsFor};
use store::sql::Connection;
use store::usage::{self, Running, Usage};
use store::{StoreError, asked, inbox, quotas};
use texts::{Language, Text};

use super::{Context, shortened};
use crate::age::since;

pub(super) fn carry_out(connection: &Connection, context: &Context<'_>) -> Result<String, StoreError> {
    let (now, chat, language) = (now_ms(), context.chat, context.language);
    let mut running = match usage::running(connection, chat)? {
        None => waiting_for(line::in_chat(connection, chat)?, language),
        Some(running) => in_words(&running, now, language),
    };
    for question in asked::in_chat(connection, chat)? {
        let question = &shortened(&question.question.text, language);
        running.push_str(&format!("\n{}", Text::StatusAsked { question }.to(language)));
    }
    let waiting = match usage::waiting(connection, chat)? {
        0 => Text::NothingWaits,
        count => Text::MessagesWait { count },
    };
    let used = today(&usage::today(connection, chat, now)?, language);
    let mut text = format!("{running}\n{}\n{used}", waiting.to(language));
    if context.models.is_without_model() {
        text.push_str(&format!("\n{}", Text::ModelNone.to(language)));
    }
    let user = context.origin.and_then(|origin| inbox::user_id(&chat.channel, origin));
    for line in quotas::told(connection, context.limits, chat, user.as_deref(), (now, language))? {
        text.push_str(&format!("\n{line}"));
    }
    Ok(text)
}

/// Why the next task of the chat has not begun, if there is one.
fn waiting_for(next: Option<InLine>, language: Language) -> String {
    let text = match next.map(|next| next.waits_for) {
        None => Text::NothingRuns,
        Some(WaitsFor::Worker { before: 0 }) => Text::StatusWaitsForWorker,
        Some(WaitsFor::Worker { before }) => Text::StatusWaitsBehind { before: before.into() },
        Some(WaitsFor::Sender) => Text::StatusWaitsForSender,
        Some(WaitsFor::File { name }) => {
            return Text::StatusFetching { name: &visible::escaped(&name) }.to(language);
        }
    };
    text.to(language)
}

fn in_words(running: &Running, now: i64, language: Language) -> String {
    let (age, text, turns) =
        (&since(running.since_ms, now), &shortened(&running.text, language), running.turns);
    let text = match &running.tool_name {
        _ if running.is_parked => Text::StatusParked { age, text, turns },
        None => Text::StatusRunning { age, text, turns },
        Some(tool) => Text::StatusRunningTool { age, text, turns, tool },
    };
    text.to(language)
}

fn today(usage: &Usage, language: Language) -> String {
    let Usage { tasks, turns, input_tokens: input, output_tokens: output, .. } = *usage;
    let Some(micros) = usage.cost_micros else {
        return Text::Today { tasks, turns, input, output }.to(language);
    };
    let cost = &format!("{}.{:04}", micros / 1_000_000, micros % 1_000_000 / 100);
    Text::TodayWithCost { tasks, turns, input, output, cost }.to(language)
}
