//! `supervisor follow`: prints events as they come.

use std::io::{self, Write as _};
use std::thread::sleep;
use std::time::Duration;

use clap::Args;
use protocol::{Event, visible};
use serde_json::json;
use store::queries::QueryError;
use store::queries::short_id::shown;
use store::queries::watch::Watcher;

use super::tree_text;
use crate::terminal::Screen;
use crate::terminal::width::fitted;
use supervisor::data_dir::DataDir;

/// How often the database is asked.
const LOOK_EVERY: Duration = Duration::from_millis(100);

#[derive(Debug, Args)]
pub(crate) struct FollowArguments {
    /// Print the events of this task, from its first to its last [default: all events from now on].
    pub task: Option<String>,
    /// Print JSON: one event per line.
    #[arg(long)]
    pub json: bool,
}

/// Prints until the task has ended, or until the reader has gone.
pub(super) fn run(
    data: &DataDir,
    arguments: &FollowArguments,
    screen: Option<Screen>,
) -> Result<(), QueryError> {
    let mut watcher = match &arguments.task {
        Some(task) => Watcher::of_task(data.database(), task)?,
        None => Watcher::from_now(data.database())?,
    };
    let mut stdout = io::stdout().lock();
    loop {
        // Asked first: what comes after that is read next.
        let has_ended = watcher.has_ended()?;
        for event in watcher.newer()? {
            let line = line(&event, arguments, screen);
            if writeln!(stdout, "{line}").and_then(|()| stdout.flush()).is_err() {
                return Ok(());
            }
        }
        if has_ended {
            return Ok(());
        }
        sleep(LOOK_EVERY);
    }
}

fn line(event: &Event, arguments: &FollowArguments, screen: Option<Screen>) -> String {
    if arguments.json {
        return visible::json(&json!(event).to_string()).into_owned();
    }
    let task = match (&arguments.task, &event.task_id) {
        (None, Some(task)) => format!("{:<8}  ", shown(task.as_str())),
        (None, None) => format!("{:<8}  ", "-"),
        (Some(_), _) => String::new(),
    };
    let line = format!("{}  {task}{}", tree_text::clock(event.time_ms), tree_text::line(event));
    let line = visible::escaped(&line);
    // A line that is kept in a file is not cut.
    screen.map_or_else(|| line.to_string(), |screen| fitted(&line, screen.columns))
}
