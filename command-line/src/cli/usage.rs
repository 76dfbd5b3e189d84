//! `supervisor usage`: what was used, by day, chat and model.

use clap::Args;
use progress_line::LateLine;
use protocol::now_ms;
use serde_json::json;
use settings::quotas::DAY_MS;
use store::queries::usage::{Used, used};
use store::queries::{self, QueryError};
use store::quotas::money_in_words;

use crate::terminal::{Column, Screen, Table, width};
use supervisor::data_dir::DataDir;

#[derive(Debug, Args)]
pub(crate) struct UsageArguments {
    /// So many days, today among them; days begin at 00:00 UTC.
    #[arg(long, value_name = "NUMBER", default_value_t = 7,
          value_parser = clap::value_parser!(u32).range(1..=3650))]
    pub days: u32,
    /// Only this chat.
    #[arg(long, value_name = "CHAT", allow_hyphen_values = true)]
    pub chat: Option<String>,
    /// Print JSON: {"usage": […]}, money in millionths.
    #[arg(long)]
    pub json: bool,
}

const COLUMNS: &[Column] = &[
    Column::text("DAY (UTC)", 10),
    Column::text("CHAT", 20),
    Column::number("TASKS", 6),
    Column::number("TURNS", 6),
    Column::number("IN", 10),
    Column::number("OUT", 9),
    Column::number("COST", 12),
    Column::text("MODEL", 0),
];

pub(super) fn run(data: &DataDir, arguments: &UsageArguments, screen: Screen) -> Result<String, QueryError> {
    let _line = LateLine::new("Reading the database");
    let connection = queries::open(data.database())?;
    let now = now_ms();
    let since = now - now.rem_euclid(DAY_MS) - i64::from(arguments.days - 1) * DAY_MS;
    let usage = used(&connection, since, arguments.chat.as_deref())?;
    if arguments.json {
        return Ok(super::pretty(&json!({"usage": usage})));
    }
    Ok(report(&usage, screen))
}

fn report(usage: &[Used], screen: Screen) -> String {
    if usage.is_empty() {
        return width::fitted("Nothing was used on these days.", screen.columns);
    }
    let mut table = Table::new(COLUMNS);
    for used in usage {
        let number = |number: i64| if used.model.is_some() { number.to_string() } else { String::new() };
        let cost = used.cost_micros.map(|cost| money_in_words(u64::try_from(cost).unwrap_or(0)));
        let seconds = || format!("commands, {} s", used.command_ms / 1000);
        table.row([
            (used.day.clone(), None),
            (format!("{}:{}", used.channel, used.chat), None),
            (used.tasks.to_string(), None),
            (number(used.turns), None),
            (number(used.input_tokens), None),
            (number(used.output_tokens), None),
            (cost.unwrap_or_default(), None),
            (used.model.clone().unwrap_or_else(seconds), None),
        ]);
    }
    table.lines(screen.columns, screen.paint).join("\n")
}
