//! `/chats`, `/unpair`, `/schedules`, `/usage` and `/health`: what the owner of the bot looks after from a
//! phone. The command line has the same, with more of each.

use protocol::now_ms;
use rusqlite::Connection;
use store::queries::usage::used;
use store::quotas::money_in_words;
use store::{StoreError, pairing, schedules, timing};

use super::{Command, Context, shortened};
use crate::health::PartState;

pub(super) const UNPAIR_USAGE: &str = "/unpair ID takes a pairing back; /chats lists the IDs.";
const OWNER_ALONE: &str = "Only the owner of this bot can do that.";

const DAY_MS: i64 = 86_400_000;
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
        return Ok(OWNER_ALONE.to_owned());
    }
    match command {
        Command::Chats => chats(connection, context),
        Command::Unpair { chat } => unpair(connection, context, chat),
        Command::Schedules => all_schedules(connection),
        Command::Usage => usage(connection),
        _ => Ok(health(context)),
    }
}

fn chats(connection: &Connection, context: &Context<'_>) -> Result<String, StoreError> {
    let listed = context.access.configured().into_iter().map(|id| format!("{id}: by the settings"));
    let paired = pairing::paired(connection)?.into_iter();
    let paired = paired.map(|known| format!("{}: {}, paired", known.chat.id, known.title));
    Ok(list(listed.chain(paired), "No chat may use this bot."))
}

/// The access ends at once, before the rows are stored: what fails is safe.
fn unpair(connection: &Connection, context: &Context<'_>, chat: &str) -> Result<String, StoreError> {
    if context.access.configured().iter().any(|id| id == chat) {
        return Ok(format!("{chat} is allowed by the settings of the bot, and only there it ends."));
    }
    let by = context.chat.channel.as_str();
    let Some(unpaired) = pairing::unpair(connection, chat, by, context.run)? else {
        return Ok(format!("No chat with the ID {chat} was paired. {UNPAIR_USAGE}"));
    };
    context.access.set_paired(&unpaired.id, false);
    Ok(format!("{chat} may not use this bot any more, and what it has asked for is cancelled."))
}

fn all_schedules(connection: &Connection) -> Result<String, StoreError> {
    let line = |schedule: schedules::Schedule| {
        let zone = timing::zone(&schedule.timezone).unwrap_or(jiff::tz::TimeZone::UTC);
        let every = schedule.every.map(|every| format!(", then {every}")).unwrap_or_default();
        let (chat, text) = (&schedule.chat, shortened(&schedule.text));
        format!("{}{every}, in {}: {text}", timing::shown(schedule.next_at_ms, &zone), chat.id)
    };
    Ok(list(schedules::all(connection)?.into_iter().map(line), "Nothing is scheduled."))
}

fn usage(connection: &Connection) -> Result<String, StoreError> {
    let now = now_ms();
    let since = now - now.rem_euclid(DAY_MS) - (DAYS - 1) * DAY_MS;
    let used = used(connection, since, None)?;
    let models = used.iter().filter_map(|used| Some((used, used.model.as_ref()?)));
    let line = |(used, model): (&store::queries::usage::Used, &String)| {
        let cost = used.cost_micros.and_then(|micros| u64::try_from(micros).ok()).map(money_in_words);
        let cost = cost.map(|cost| format!(", cost {cost}")).unwrap_or_default();
        format!(
            "{} {}:{}: {} tasks, {} turns, {} tokens in, {} out{cost} ({model})",
            used.day, used.channel, used.chat, used.tasks, used.turns, used.input_tokens, used.output_tokens
        )
    };
    Ok(list(models.map(line), "No model was used in the last 7 days."))
}

fn health(context: &Context<'_>) -> String {
    let report = context.board.report();
    let line = |part: crate::health::Part| {
        let state = match part.state {
            PartState::Ok => "ok",
            PartState::Degraded => "degraded",
            PartState::Failed => "FAILED",
            PartState::Off => "off",
        };
        let remedy = part.remedy.map(|remedy| format!(" {remedy}")).unwrap_or_default();
        format!("{}: {state}, {}.{remedy}", part.name, part.detail.trim_end_matches('.'))
    };
    list(report.parts.into_iter().map(line), "Nothing is known yet.")
}

fn list(lines: impl Iterator<Item = String>, none: &str) -> String {
    let mut lines: Vec<String> = lines.collect();
    if lines.len() > MAX_LINES {
        let more = lines.len() - MAX_LINES;
        lines.truncate(MAX_LINES);
        lines.push(format!("… and {more} more: the command line shows all."));
    }
    if lines.is_empty() { none.to_owned() } else { lines.join("\n") }
}
