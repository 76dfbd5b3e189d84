//! `supervisor requeue` and `supervisor cancel`: through the running supervisor, or under the lock when none
//! runs.

use clap::Args;
use protocol::{TaskId, now_ms};
use serde::Serialize;
use serde_json::json;

use super::alone::{Alone, AloneError, Holder, holder};
use super::line::{Line, LineError};
use crate::control::error::ControlError;
use crate::control::tasks::{RequeueMany, RequeuedMany, TaskState};
use crate::data_dir::DataDir;
use crate::look::short_id::{resolve, shown};
use crate::look::{self, LookError};
use crate::store::StoreError;
use crate::store::cancel::{self, Cancellation};
use crate::store::requeue::{self, Ended, Filter, Many, Requeued};
use crate::terminal::COLUMNS;
use crate::terminal::age::Span;
use crate::terminal::width::wrapped;

/// Who asked, as the events say it.
const BY: &str = "cli";

/// What `supervisor requeue` takes.
#[derive(Debug, Args)]
pub struct RequeueArguments {
    /// These tasks, by the beginning or the end of their ids.
    #[arg(value_name = "TASK", required_unless_present_any = ["all_dead", "state"])]
    pub tasks: Vec<String>,
    /// All tasks that failed for good.
    #[arg(long, conflicts_with_all = ["tasks", "state"])]
    pub all_dead: bool,
    /// All tasks that ended like this.
    #[arg(long, value_name = "STATE", value_parser = ended, conflicts_with = "tasks")]
    pub state: Option<Ended>,
    /// Of those, only the ones that ended within this time, such as 12h or 2d.
    #[arg(long, value_name = "SPAN", conflicts_with = "tasks")]
    pub since: Option<Span>,
    /// Of those, only the ones of this chat.
    #[arg(long, value_name = "CHAT", allow_hyphen_values = true, conflicts_with = "tasks")]
    pub chat: Option<String>,
    /// Also tasks that are done: they are done once more.
    #[arg(long)]
    pub force: bool,
    /// Print JSON: an array with each task's id, its state, or why it was refused.
    #[arg(long)]
    pub json: bool,
}

/// What `supervisor cancel` takes.
#[derive(Debug, Args)]
pub struct CancelArguments {
    /// These tasks, by the beginning or the end of their ids.
    #[arg(value_name = "TASK", required = true)]
    pub tasks: Vec<String>,
    /// Print JSON: an array with each task's id, its state, or why it was refused.
    #[arg(long)]
    pub json: bool,
}

/// Why nothing could be asked.
#[derive(Debug, thiserror::Error)]
pub enum QueueError {
    /// The database could not be looked at, or no such task is in it.
    #[error(transparent)]
    Look(#[from] LookError),
    /// The database could not be taken.
    #[error(transparent)]
    Alone(#[from] AloneError),
    /// The running supervisor could not be asked.
    #[error(transparent)]
    Line(#[from] LineError),
    /// The database refused.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What became of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// The task.
    pub task_id: String,
    /// Its state now, if it was done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// Why it was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

/// What to print, and whether all of it was done.
#[derive(Debug)]
pub struct Said {
    /// The text.
    pub text: String,
    /// Whether no task was refused.
    pub all_done: bool,
}

/// Puts tasks back into the queue.
pub async fn requeue(data: &DataDir, arguments: &RequeueArguments) -> Result<Said, QueueError> {
    let state = arguments.state.or(arguments.all_dead.then_some(Ended::Dead));
    let outcomes = match state {
        Some(state) => requeue_all(data, arguments, state).await?,
        None => {
            let wish = if arguments.force { "requeue?force=true" } else { "requeue" };
            each(data, &arguments.tasks, wish, async |alone, task| {
                let (run, force) = (alone.run.clone(), arguments.force);
                let done = alone.store.write(move |tx| requeue::task(tx, &task, force, BY, &run)).await?;
                Ok(match done {
                    Requeued::Queued => Ok("queued"),
                    Requeued::Open { state } => Err(ControlError::TaskOpen(state)),
                    Requeued::Done => Err(ControlError::TaskDone),
                    Requeued::NothingToRun => Err(ControlError::NothingToRun),
                    Requeued::NoSuchTask => Err(ControlError::NoSuchTask),
                })
            })
            .await?
        }
    };
    Ok(said(&outcomes, arguments.json))
}

/// Cancels tasks.
pub async fn cancel(data: &DataDir, arguments: &CancelArguments) -> Result<Said, QueueError> {
    let outcomes = each(data, &arguments.tasks, "cancel", async |alone, task| {
        Ok(match alone.store.write(move |tx| cancel::task(tx, &task, BY)).await? {
            Cancellation::Cancelled => Ok("cancelled"),
            Cancellation::Asked => Ok("cancelling"),
            Cancellation::Ended { state } => Err(ControlError::TaskEnded(state)),
            Cancellation::NoSuchTask => Err(ControlError::NoSuchTask),
        })
    });
    Ok(said(&outcomes.await?, arguments.json))
}

/// Asks for one task after the other; a task that is refused does not hold up the next.
async fn each(
    data: &DataDir,
    given: &[String],
    wish: &str,
    alone_do: impl AsyncFn(&Alone, TaskId) -> Result<Result<&'static str, ControlError>, StoreError>,
) -> Result<Vec<Outcome>, QueueError> {
    let connection = look::open(&data.database())?;
    let tasks = given.iter().map(|id| resolve(&connection, id)).collect::<Result<Vec<_>, _>>()?;
    drop(connection);
    let holder = holder(data).await?;
    let mut outcomes = Vec::new();
    for task_id in tasks {
        let result = match &holder {
            Holder::Supervisor => {
                let line = Line::to(data)?;
                let request = line.client.post(line.address(&format!("/tasks/{task_id}/{wish}")));
                match line.ask::<TaskState>(request).await {
                    Ok(now) => Ok(now.state),
                    Err(LineError::Refused(why)) => Err(why),
                    Err(error) => return Err(error.into()),
                }
            }
            Holder::Ourselves(alone) => {
                let Ok(id) = task_id.parse() else { continue };
                alone_do(alone, id).await?.map(str::to_owned).map_err(|refused| refused.to_string())
            }
        };
        outcomes.push(match result {
            Ok(state) => Outcome { task_id, state: Some(state), refused: None },
            Err(why) => Outcome { task_id, state: None, refused: Some(why) },
        });
    }
    Ok(outcomes)
}

/// Puts back all that match, a bounded number at a time.
async fn requeue_all(
    data: &DataDir,
    arguments: &RequeueArguments,
    state: Ended,
) -> Result<Vec<Outcome>, QueueError> {
    if state == Ended::Done && !arguments.force {
        return Err(LineError::Refused(format!("{}: give --force", ControlError::TaskDone)).into());
    }
    let since_ms = arguments.since.map(|span| span.before(now_ms()));
    let holder = holder(data).await?;
    let mut tasks = Vec::new();
    loop {
        let many = match &holder {
            Holder::Supervisor => {
                let line = Line::to(data)?;
                let wish =
                    RequeueMany { state, since_ms, chat_id: arguments.chat.clone(), force: arguments.force };
                let request = line.client.post(line.address("/tasks/requeue")).json(&wish);
                let RequeuedMany { task_ids, more } = line.ask(request).await?;
                Many { tasks: task_ids, more }
            }
            Holder::Ourselves(Alone { store, run, .. }) => {
                let (run, filter) =
                    (run.clone(), Filter { state, since_ms, chat_id: arguments.chat.clone() });
                store.write(move |tx| requeue::matching(tx, &filter, BY, &run)).await?
            }
        };
        tasks.extend(many.tasks);
        if !many.more {
            break;
        }
    }
    let queued =
        |task: TaskId| Outcome { task_id: task.to_string(), state: Some("queued".to_owned()), refused: None };
    Ok(tasks.into_iter().map(queued).collect())
}

/// A state in which tasks end, as it is typed.
fn ended(text: &str) -> Result<Ended, String> {
    let all = [Ended::Dead, Ended::Cancelled, Ended::Skipped, Ended::Done];
    let names = || all.map(Ended::as_str).join(", ");
    all.into_iter().find(|state| state.as_str() == text).ok_or_else(|| format!("one of {}", names()))
}

fn said(outcomes: &[Outcome], json: bool) -> Said {
    let all_done = outcomes.iter().all(|outcome| outcome.refused.is_none());
    let text = if json {
        super::pretty(&json!(outcomes))
    } else if outcomes.is_empty() {
        "No task matches.".to_owned()
    } else {
        outcomes.iter().map(in_words).collect::<Vec<_>>().join("\n")
    };
    Said { text, all_done }
}

fn in_words(outcome: &Outcome) -> String {
    let task = shown(&outcome.task_id);
    match (&outcome.state, &outcome.refused) {
        (Some(state), _) => format!("{task}  {state}"),
        (None, why) => {
            let why = format!("refused: {}", why.as_deref().unwrap_or("no reason was given"));
            let indent = format!("\n{}", " ".repeat(task.len() + 2));
            format!("{task}  {}", wrapped(&why, COLUMNS - task.len() - 2).join(&indent))
        }
    }
}
