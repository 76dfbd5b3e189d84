//! `supervisor prune`: deletes old tasks, events and journal files.

use clap::Args;
use progress_line::{ProgressLine, Unit};
use protocol::now_ms;
use serde_json::json;
use store::Location;
use store::queries::{self, QueryError};
use store::retention::{Pruned, count};

use super::control_client::post;
use super::database_access::{DatabaseAccess, ExclusiveStore, database_access};
use super::error::CommandError;
use settings::Span;
use supervisor::control::retention::PruneRequest;
use supervisor::data_dir::DataDir;
use supervisor::retention::{SHORTEST, prune};

#[derive(Debug, Args)]
pub(crate) struct PruneArguments {
    /// How long ago a task must have ended, such as 30d or 12w; at least an hour.
    #[arg(long, value_name = "SPAN", value_parser = old_enough)]
    pub older_than: Span,
    /// Only show what would be deleted.
    #[arg(long)]
    pub dry_run: bool,
    /// Print JSON: {"tasks": …, "events_of_tasks": …, "other_events": …, "journal_files": …}.
    #[arg(long)]
    pub json: bool,
}

pub(super) async fn run(data: &DataDir, arguments: &PruneArguments) -> Result<String, CommandError> {
    let before_ms = arguments.older_than.before(now_ms());
    if arguments.dry_run {
        let would = count(&queries::open(data.database())?, before_ms).map_err(QueryError::from)?;
        return Ok(report(would, arguments.json, "Would delete"));
    }
    let progress = ProgressLine::new();
    let (pruned, shrunk) = match database_access(data).await? {
        DatabaseAccess::ViaSupervisor => {
            progress.step("The supervisor deletes what is old");
            let request = PruneRequest { older_than_seconds: arguments.older_than.0.as_secs() };
            (post(data, "/prune", &request).await?, false)
        }
        DatabaseAccess::Exclusive(exclusive) => {
            (prune_directly(data, &exclusive, before_ms, &progress).await?, true)
        }
    };
    drop(progress);
    let text = report(pruned, arguments.json, "Deleted");
    let hint = "\nThe freed space is reused. To shrink the file, prune while the supervisor is not running.";
    Ok(if shrunk || arguments.json { text } else { text + hint })
}

async fn prune_directly(
    data: &DataDir,
    exclusive: &ExclusiveStore,
    before_ms: i64,
    progress: &ProgressLine,
) -> Result<Pruned, CommandError> {
    let would = count(&queries::open(data.database())?, before_ms).map_err(QueryError::from)?;
    let events = |pruned: Pruned| (pruned.events_of_tasks + pruned.other_events).unsigned_abs();
    progress.step_of("Deleting old events", events(would), Unit::Things);
    let seen = |batch| progress.advance(events(batch));
    let run = Some(exclusive.run.clone());
    let pruned = prune(&exclusive.store, &data.journal(), run, before_ms, seen).await?;
    if let Location::File(file) = data.database() {
        progress.step("Making the database file smaller");
        store::open::make_smaller(&file).map_err(CommandError::Vacuum)?;
    }
    Ok(pruned)
}

fn report(pruned: Pruned, json: bool, verb: &str) -> String {
    let Pruned { tasks, events_of_tasks, other_events, journal_files } = pruned;
    if json {
        return super::pretty(&json!(pruned));
    }
    format!(
        "{verb}:\n  {tasks} tasks with {events_of_tasks} events\n  {other_events} other events\n  \
         {journal_files} journal files"
    )
}

fn old_enough(text: &str) -> Result<Span, String> {
    let span: Span = text.parse().map_err(|error: settings::InvalidSpan| error.to_string())?;
    if span.0 < SHORTEST { Err("at least one hour (1h)".to_owned()) } else { Ok(span) }
}
