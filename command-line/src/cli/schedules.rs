//! `supervisor schedules`: what the chats want to be done later, the next one first.

use clap::Args;
use protocol::now_ms;
use serde_json::json;
use store::queries::{self, QueryError};
use store::schedules::{Listed, Schedule, all};
use store::timing;

use crate::terminal::{Column, Screen, Table};
use supervisor::age::since;
use supervisor::data_dir::DataDir;

#[derive(Debug, Args)]
pub(crate) struct SchedulesArguments {
    /// Print JSON: {"schedules": [{"schedule_id", "chat", "text", "next_at_ms", …}]}, times in milliseconds.
    #[arg(long)]
    pub json: bool,
}

const SCHEDULE_COLUMNS: &[Column] = &[
    Column::text("CHAT", 16),
    Column::number("IN", 5),
    Column::text("NEXT", 34),
    Column::text("EVERY", 14),
    Column::number("LEFT", 5),
    Column::text("TEXT", 0),
];

pub(super) fn run(
    data: &DataDir,
    arguments: &SchedulesArguments,
    screen: Screen,
) -> Result<String, QueryError> {
    let schedules = all(&queries::open(data.database())?)?;
    if arguments.json {
        let listed: Vec<Listed> = schedules.into_iter().map(Listed::from).collect();
        return Ok(super::pretty(&json!({"schedules": listed})));
    }
    Ok(table(&schedules, now_ms(), screen))
}

fn table(schedules: &[Schedule], now: i64, screen: Screen) -> String {
    if schedules.is_empty() {
        return "Nothing is scheduled.".to_owned();
    }
    let mut table = Table::new(SCHEDULE_COLUMNS);
    for schedule in schedules {
        let zone = timing::zone(&schedule.timezone).unwrap_or(jiff::tz::TimeZone::UTC);
        let cells = [
            schedule.chat.id.clone(),
            since(now, schedule.next_at_ms),
            timing::shown(schedule.next_at_ms, &zone),
            schedule.every.clone().unwrap_or_else(|| "once".to_owned()),
            schedule.times_left.map(|times| times.to_string()).unwrap_or_default(),
            schedule.text.clone(),
        ];
        table.row(cells.map(|cell| (cell, None)));
    }
    table.lines(screen.columns, screen.paint).join("\n")
}

#[cfg(test)]
mod tests {
    use store::fixture::test_chat;

    use super::*;
    use crate::terminal::width;

    #[test]
    fn each_schedule_is_a_row_that_fits() {
        let schedule = Schedule {
            id: "s".to_owned(),
            chat: test_chat(4711),
            text: "call Anna\nand Bert".to_owned(),
            every: Some("0 9 * * 1-5".to_owned()),
            timezone: "Europe/Berlin".to_owned(),
            until_ms: None,
            times_left: Some(3),
            next_at_ms: 7_200_000,
            origin: None,
            created_at_ms: 0,
        };
        let text = table(&[schedule], 0, Screen::PLAIN);
        assert!(text.lines().all(|line| width::of(line) <= Screen::PLAIN.columns), "{text}");
        let row = text.lines().last().unwrap_or_default();
        for part in ["4711", "2h", "1970-01-01 03:00 Europe/Berlin", "0 9 * * 1-5", " 3 "] {
            assert!(row.contains(part), "{part}: {text}");
        }
        assert_eq!(table(&[], 0, Screen::PLAIN), "Nothing is scheduled.");
    }
}
