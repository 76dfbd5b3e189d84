//! `supervisor tasks`: the queue as a table, newest last, just above the prompt.

use clap::Args;
use clap::builder::PossibleValuesParser;
use progress_line::LateLine;
use protocol::now_ms;
use serde_json::json;
use store::queries::short_id::shown;
use store::queries::tasks::{Counts, Filter, STATES, Task, Undelivered, counts, tasks, undelivered};
use store::queries::{self, QueryError};

use crate::terminal::{Colour, Column, Screen, Table, width};
use settings::Span;
use supervisor::age::since;
use supervisor::data_dir::DataDir;

#[derive(Debug, Args)]
pub(crate) struct TasksArguments {
    /// Only tasks in this state; can be repeated.
    #[arg(long, value_name = "STATE", value_parser = PossibleValuesParser::new(STATES))]
    pub state: Vec<String>,
    /// Only tasks of this chat.
    #[arg(long, value_name = "CHAT", allow_hyphen_values = true)]
    pub chat: Option<String>,
    /// Only tasks that came in this last time span, such as 12h or 30d.
    #[arg(long, value_name = "SPAN")]
    pub since: Option<Span>,
    /// Show this many of the newest.
    #[arg(long, value_name = "NUMBER", default_value_t = 20,
          value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: u32,
    /// Print JSON: {"tasks": […], "undelivered": […], "counts": {…}}, times in milliseconds.
    #[arg(long)]
    pub json: bool,
}

const TASK_COLUMNS: &[Column] = &[
    Column::text("TASK", 8),
    Column::text("STATE", 11),
    Column::text("CHAT", 16),
    Column::number("AGE", 5),
    Column::number("TRIES", 5),
    Column::text("TEXT", 0),
];

const UNDELIVERED_COLUMNS: &[Column] = &[
    Column::text("TASK", 8),
    Column::text("CHAT", 16),
    Column::number("AGE", 5),
    Column::number("TRIES", 5),
    Column::number("PART", 4),
    Column::text("NOT DELIVERED BECAUSE", 0),
];

pub(super) fn run(data: &DataDir, arguments: &TasksArguments, screen: Screen) -> Result<String, QueryError> {
    let _line = LateLine::new("Reading the database");
    let connection = queries::open(data.database())?;
    let filter = Filter {
        states: STATES.into_iter().filter(|state| arguments.state.iter().any(|s| s == state)).collect(),
        chat: arguments.chat.clone(),
        since_ms: arguments.since.map(|span| span.before(now_ms())),
        limit: arguments.limit,
        ..Filter::default()
    };
    let tasks = tasks(&connection, &filter)?;
    let undelivered = undelivered(&connection, arguments.limit)?;
    let counts = counts(&connection)?;
    if arguments.json {
        let by_state: serde_json::Map<String, serde_json::Value> =
            counts.tasks.iter().map(|(state, count)| ((*state).to_owned(), json!(count))).collect();
        let counts = json!({"tasks": by_state, "undelivered": counts.undelivered});
        return Ok(super::pretty(&json!({"tasks": tasks, "undelivered": undelivered, "counts": counts})));
    }
    Ok(report(&tasks, &undelivered, &counts, now_ms(), screen))
}

fn report(tasks: &[Task], undelivered: &[Undelivered], counts: &Counts, now: i64, screen: Screen) -> String {
    let mut lines = Vec::new();
    if !tasks.is_empty() {
        lines.extend(task_table(tasks, now).lines(screen.columns, screen.paint));
        lines.push(String::new());
    }
    if !undelivered.is_empty() {
        lines.extend(undelivered_table(undelivered, now).lines(screen.columns, screen.paint));
        lines.push(String::new());
    }
    lines.push(width::fitted(&summary(counts, tasks.len()), screen.columns));
    lines.join("\n")
}

fn task_table(tasks: &[Task], now: i64) -> Table<'static> {
    let mut table = Table::new(TASK_COLUMNS);
    for task in tasks {
        table.row([
            (shown(&task.id).to_owned(), None),
            (task.state.clone(), colour_of(&task.state)),
            (task.chat_id.clone(), None),
            (since(task.created_at_ms, now), None),
            (task.attempt.to_string(), None),
            (task.text.clone(), None),
        ]);
        if task.waits_for_person {
            table.note(Colour::Faint, "waits for a person: `supervisor approvals`");
        }
        if let Some(error) = &task.error {
            let due = task.available_at_ms.saturating_sub(now);
            let again = match task.state == "queued" && due > 0 {
                true => format!("again in {}: ", since(0, due)),
                false => String::new(),
            };
            let colour = if task.state == "dead" { Colour::Bad } else { Colour::Faint };
            table.note(colour, &format!("{again}{error}"));
        }
    }
    table
}

fn undelivered_table(messages: &[Undelivered], now: i64) -> Table<'static> {
    let mut table = Table::new(UNDELIVERED_COLUMNS);
    for message in messages {
        let of_task = message.task_id.as_deref().map(|id| shown(id).to_owned());
        table.row([
            (of_task.unwrap_or_else(|| message.outbox_id.to_string()), None),
            (message.chat_id.clone(), None),
            (since(message.finished_at_ms.unwrap_or(now), now), None),
            (message.attempt.to_string(), None),
            (message.part.to_string(), None),
            (message.error.clone().unwrap_or_default(), Some(Colour::Bad)),
        ]);
    }
    table
}

/// How many there are of each, and how many are shown.
fn summary(counts: &Counts, shown: usize) -> String {
    let all: i64 = counts.tasks.iter().map(|(_, count)| count).sum();
    if all == 0 {
        return "No tasks yet.".to_owned();
    }
    let present = counts.tasks.iter().filter(|(_, count)| *count > 0);
    let mut parts: Vec<String> =
        present.map(|(state, count)| format!("{count} {}", state.replace('_', " "))).collect();
    if counts.undelivered > 0 {
        parts.push(format!("{} undelivered", counts.undelivered));
    }
    let some = match i64::try_from(shown) {
        Ok(shown) if shown < all => format!(" ({shown} shown)"),
        _ => String::new(),
    };
    format!("{}{some}", parts.join(", "))
}

fn colour_of(state: &str) -> Option<Colour> {
    match state {
        "done" => Some(Colour::Good),
        "in_progress" => Some(Colour::Busy),
        "dead" => Some(Colour::Bad),
        "queued" => Some(Colour::Doubtful),
        _ => Some(Colour::Faint),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(state: &str, error: Option<&str>) -> Task {
        Task {
            id: "01939b3e-0000-7000-8000-0000deadbeef".to_owned(),
            state: state.to_owned(),
            channel: "telegram".to_owned(),
            chat_id: "-1001234567890".to_owned(),
            text: "please look\nat 日本語 in every file of the workspace and tell me".to_owned(),
            attempt: 2,
            error: error.map(str::to_owned),
            created_at_ms: 0,
            available_at_ms: 7_260_000,
            finished_at_ms: None,
            waits_for_person: false,
            node: None,
        }
    }

    fn counted(pairs: &[(&'static str, i64)]) -> Counts {
        Counts { tasks: pairs.to_vec(), undelivered: 1 }
    }

    #[test]
    fn a_task_is_a_row_with_its_last_error_below() {
        let tasks = [task("queued", Some("the model is overloaded")), task("dead", Some("no luck"))];
        let counts = counted(&[("queued", 1), ("in_progress", 0), ("done", 40), ("dead", 1)]);
        let expected = "\
TASK      STATE   CHAT            AGE  TRIES  TEXT
deadbeef  queued  -1001234567890   2h      2  please look at 日本語 in every fi…
          again in 1m: the model is overloaded
deadbeef  dead    -1001234567890   2h      2  please look at 日本語 in every fi…
          no luck

1 queued, 40 done, 1 dead, 1 undelivered (2 shown)";
        let text = report(&tasks, &[], &counts, 7_200_000, Screen::PLAIN);
        assert_eq!(text, expected);
        assert!(text.lines().all(|line| width::of(line) <= Screen::PLAIN.columns), "{text}");
    }

    #[test]
    fn a_reply_that_nobody_got_has_a_row_of_its_own() {
        let message = Undelivered {
            outbox_id: 12,
            task_id: Some("01939b3e-0000-7000-8000-0000deadbeef".to_owned()),
            channel: "telegram".to_owned(),
            chat_id: "7".to_owned(),
            part: 1,
            attempt: 9,
            error: Some("Forbidden: bot was blocked by the user, and a reason that is far longer".to_owned()),
            finished_at_ms: Some(0),
        };
        let text = report(&[], &[message], &counted(&[("done", 1)]), 60_000, Screen::PLAIN);
        assert!(text.contains("deadbeef  7 ") && text.contains("Forbidden"), "{text}");
        assert!(text.lines().all(|line| width::of(line) <= Screen::PLAIN.columns), "{text}");
    }
}
