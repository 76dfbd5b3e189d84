//! `/chats`, `/unpair`, `/schedules`, `/usage` and `/health`: what the owner of the bot looks after from a
//! phone. The command line has the same, with more of each.

use protocol::now_ms;
use settings::quotas::DAY_MS;
use store::queries::usage::used;
use store::quotas::money_in_words;
use store::sql::Connection;
use store::{StoreError, pairing, schedules, timing};
use texts::{Language, Text};

use super::{Command, Context, counted, shortened};
use crate::health::PartState;

/// The days of `/usage`, today among them.
const DAYS: i64 = 7;
/// The most lines of a list.
const MAX_LINES: usize = 50;

/// Carries out a command that is for the owner alone.
pub(super) fn carry_out(
    connection: &Connection,
    command: &Command,
    context: &Context<'_>,
) -> Result<String, StoreError> {
    if !context.is_owner {
        return Ok(Text::OwnerAlone.to(context.language));
    }
    match command {
        Command::Chats => chats(connection, context),
        Command::Unpair { chat } => unpair(connection, context, chat),
        Command::Schedules => all_schedules(connection, context.language),
        Command::Usage => usage(connection, context.language),
        _ => Ok(health(context)),
    }
}

fn chats(connection: &Connection, context: &Context<'_>) -> Result<String, StoreError> {
    let language = context.language;
    let listed = context.access.configured().into_iter();
    let listed = listed.map(|chat| Text::ChatBySettings { chat: &chat }.to(language));
    let paired = pairing::paired(connection)?.into_iter();
    let paired =
        paired.map(|known| Text::ChatPaired { chat: &known.chat.id, title: &known.title }.to(language));
    Ok(list(listed.chain(paired), Text::NoChats, language))
}

/// The access ends at once, before the rows are stored: what fails is safe.
fn unpair(connection: &Connection, context: &Context<'_>, chat: &str) -> Result<String, StoreError> {
    let language = context.language;
    if context.access.configured().iter().any(|id| id == chat) {
        return Ok(Text::UnpairBySettings { chat }.to(language));
    }
    let by = context.chat.channel.as_str();
    let Some(unpaired) = pairing::unpair(connection, chat, by, context.run)? else {
        let (first, second) = (Text::UnpairUnknown { chat }.to(language), Text::UnpairUsage.to(language));
        return Ok(Text::Sentences { first: &first, second: &second }.to(language));
    };
    context.access.set_paired(&unpaired.id, false);
    Ok(Text::UnpairDone { chat }.to(language))
}

fn all_schedules(connection: &Connection, language: Language) -> Result<String, StoreError> {
    let line = |schedule: schedules::Schedule| {
        let zone = timing::zone(&schedule.timezone).unwrap_or(jiff::tz::TimeZone::UTC);
        let (at, text) = (&timing::shown(schedule.next_at_ms, &zone), &shortened(&schedule.text, language));
        let chat = &schedule.chat.id;
        match &schedule.every {
            Some(every) => Text::ScheduleRepeated { at, every, chat, text }.to(language),
            None => Text::ScheduleOnce { at, chat, text }.to(language),
        }
    };
    Ok(list(schedules::all(connection)?.into_iter().map(line), Text::NothingScheduled, language))
}

fn usage(connection: &Connection, language: Language) -> Result<String, StoreError> {
    let now = now_ms();
    let since = now - now.rem_euclid(DAY_MS) - (DAYS - 1) * DAY_MS;
    let used = used(connection, since, None)?;
    let models = used.iter().filter_map(|used| Some((used, used.model.as_ref()?)));
    let line = |(used, model): (&store::queries::usage::Used, &String)| {
        let cost = used.cost_micros.and_then(|micros| u64::try_from(micros).ok()).map(money_in_words);
        let (day, chat) = (used.day.as_str(), &format!("{}:{}", used.channel, used.chat));
        let (tasks, turns, input, output) = (used.tasks, used.turns, used.input_tokens, used.output_tokens);
        match &cost {
            Some(cost) => Text::UsageLineWithCost { day, chat, tasks, turns, input, output, cost, model },
            None => Text::UsageLine { day, chat, tasks, turns, input, output, model },
        }
        .to(language)
    };
    Ok(list(models.map(line), Text::NoUsage, language))
}

fn health(context: &Context<'_>) -> String {
    let report = context.board.report();
    let line = |part: crate::health::Part| {
        let state = if part.state == PartState::Failed { "FAILED" } else { part.state.as_str() };
        let remedy = part.remedy.map(|remedy| format!(" {remedy}")).unwrap_or_default();
        format!("{}: {state}, {}.{remedy}", part.name, part.detail.trim_end_matches('.'))
    };
    list(report.parts.into_iter().map(line), Text::HealthUnknown, context.language)
}

fn list(lines: impl Iterator<Item = String>, none: Text<'_>, language: Language) -> String {
    let mut lines: Vec<String> = lines.collect();
    if lines.len() > MAX_LINES {
        let count = counted(lines.len() - MAX_LINES);
        lines.truncate(MAX_LINES);
        lines.push(Text::ListMore { count }.to(language));
    }
    if lines.is_empty() { none.to(language) } else { lines.join("\n") }
}
