//! `supervisor requeue` and `supervisor cancel`: through the running supervisor, or directly if none is
//! running.

use clap::Args;
use protocol::{TaskId, now_ms};
use serde::Serialize;
use serde_json::json;
use store::StoreError;
use store::cancel;
use store::queries;
use store::queries::short_id::{resolve, shown};
use store::requeue::{self, Ended, Filter, RequeuedMany};

use super::BY;
use super::control_client::{ControlClient, post};
use super::database_access::{DatabaseAccess, ExclusiveStore, database_access};
use super::error::CommandError;
use crate::terminal::COLUMNS;
use crate::terminal::width::wrapped;
use settings::Span;
use supervisor::control::error::ControlError;
use supervisor::control::tasks::{TaskState, state_of_cancelled, state_of_requeued};
use supervisor::data_dir::DataDir;

#[derive(Debug, Args)]
pub(crate) struct RequeueArguments {
    /// These tasks, by the beginning or end of their IDs.
    #[arg(value_name = "TASK", required_unless_present_any = ["all_dead", "state"])]
    pub tasks: Vec<String>,
    /// All dead tasks.
    #[arg(long, conflicts_with_all = ["tasks", "state"])]
    pub all_dead: bool,
    /// All tasks in this state.
    #[arg(long, value_name = "STATE", value_parser = ended, conflicts_with = "tasks")]
    pub state: Option<Ended>,
    /// Only tasks that ended in this last time span, such as 12h or 2d.
    #[arg(long, value_name = "SPAN", conflicts_with = "tasks")]
    pub since: Option<Span>,
    /// Only tasks of this chat.
    #[arg(long, value_name = "CHAT", allow_hyphen_values = true, conflicts_with = "tasks")]
    pub chat: Option<String>,
    /// Also requeue tasks that are done: they run again.
    #[arg(long)]
    pub force: bool,
    /// Print JSON: an array with each task's ID and its state or why it was refused.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CancelArguments {
    /// These tasks, by the beginning or end of their IDs.
    #[arg(value_name = "TASK", required = true)]
    pub tasks: Vec<String>,
    /// Print JSON: an array with each task's ID and its state or why it was refused.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Outcome {
    pub task_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

#[derive(Debug)]
pub(super) struct CommandOutput {
    pub text: String,
    pub succeeded: bool,
}

pub(super) async fn requeue(
    data: &DataDir,
    arguments: &RequeueArguments,
) -> Result<CommandOutput, CommandError> {
    let state = arguments.state.or(arguments.all_dead.then_some(Ended::Dead));
    let outcomes = match state {
        Some(state) => requeue_all(data, arguments, state).await?,
        None => {
            let action = if arguments.force { "requeue?force=true" } else { "requeue" };
            each(data, &arguments.tasks, action, async |exclusive, task| {
                let (run, force) = (exclusive.run.clone(), arguments.force);
                let write = exclusive.store.write(move |tx| requeue::task(tx, &task, force, BY, &run));
                Ok(state_of_requeued(write.await?))
            })
            .await?
        }
    };
    Ok(output(&outcomes, arguments.json))
}

pub(super) async fn cancel(
    data: &DataDir,
    arguments: &CancelArguments,
) -> Result<CommandOutput, CommandError> {
    let outcomes = each(data, &arguments.tasks, "cancel", async |exclusive, task| {
        let channels = exclusive.channels.clone();
        let write = exclusive.store.write(move |tx| cancel::task(tx, &channels, &task, BY));
        Ok(state_of_cancelled(write.await?))
    });
    Ok(output(&outcomes.await?, arguments.json))
}

/// The state of a task after a command on the database itself; the inner error is the task's.
type DirectResult = Result<Result<&'static str, ControlError>, StoreError>;

/// Handles the tasks one by one; a refused task does not stop the next.
async fn each(
    data: &DataDir,
    given: &[String],
    action: &str,
    run_directly: impl AsyncFn(&ExclusiveStore, TaskId) -> DirectResult,
) -> Result<Vec<Outcome>, CommandError> {
    let connection = queries::open(data.database())?;
    let tasks = given.iter().map(|id| resolve(&connection, id)).collect::<Result<Vec<_>, _>>()?;
    drop(connection);
    let access = database_access(data).await?;
    let mut outcomes = Vec::new();
    for task_id in tasks {
        let result = match &access {
            DatabaseAccess::ViaSupervisor => {
                let client = ControlClient::new(data)?;
                let request = client.post(&format!("/tasks/{task_id}/{action}"));
                match client.send::<TaskState>(request).await {
                    Ok(now) => Ok(now.state),
                    Err(CommandError::Refused(why)) => Err(why),
                    Err(error) => return Err(error),
                }
            }
            DatabaseAccess::Exclusive(exclusive) => {
                let Ok(id) = task_id.parse() else { continue };
                run_directly(exclusive, id).await?.map(str::to_owned).map_err(|refused| refused.to_string())
            }
        };
        outcomes.push(match result {
            Ok(state) => Outcome { task_id, state: Some(state), refused: None },
            Err(why) => Outcome { task_id, state: None, refused: Some(why) },
        });
    }
    Ok(outcomes)
}

/// Requeues all matching tasks, a bounded number at a time.
async fn requeue_all(
    data: &DataDir,
    arguments: &RequeueArguments,
    state: Ended,
) -> Result<Vec<Outcome>, CommandError> {
    if state == Ended::Done && !arguments.force {
        return Err(CommandError::Refused(format!("{}: give --force", ControlError::TaskDone)));
    }
    let (since_ms, chat_id) = (arguments.since.map(|span| span.before(now_ms())), arguments.chat.clone());
    let filter = Filter { state, since_ms, chat_id, force: arguments.force };
    let access = database_access(data).await?;
    let mut tasks = Vec::new();
    loop {
        let many: RequeuedMany = match &access {
            DatabaseAccess::ViaSupervisor => post(data, "/tasks/requeue", &filter).await?,
            DatabaseAccess::Exclusive(ExclusiveStore { store, run, .. }) => {
                let (run, filter) = (run.clone(), filter.clone());
                store.write(move |tx| requeue::matching(tx, &filter, BY, &run)).await?
            }
        };
        tasks.extend(many.task_ids);
        if !many.more {
            break;
        }
    }
    let queued =
        |task: TaskId| Outcome { task_id: task.to_string(), state: Some("queued".to_owned()), refused: None };
    Ok(tasks.into_iter().map(queued).collect())
}

fn ended(text: &str) -> Result<Ended, String> {
    let all = [Ended::Dead, Ended::Cancelled, Ended::Skipped, Ended::Done];
    let names = || all.map(Ended::as_str).join(", ");
    all.into_iter().find(|state| state.as_str() == text).ok_or_else(|| format!("one of {}", names()))
}

fn output(outcomes: &[Outcome], json: bool) -> CommandOutput {
    let succeeded = outcomes.iter().all(|outcome| outcome.refused.is_none());
    let text = if json {
        super::pretty(&json!(outcomes))
    } else if outcomes.is_empty() {
        "No matching tasks.".to_owned()
    } else {
        outcomes.iter().map(line).collect::<Vec<_>>().join("\n")
    };
    CommandOutput { text, succeeded }
}

fn line(outcome: &Outcome) -> String {
    let task = shown(&outcome.task_id);
    match (&outcome.state, &outcome.refused) {
        (Some(state), _) => format!("{task}  {state}"),
        (None, why) => {
            let why = format!("refused: {}", why.as_deref().unwrap_or("unknown"));
            let indent = format!("\n{}", " ".repeat(task.len() + 2));
            format!("{task}  {}", wrapped(&why, COLUMNS - task.len() - 2).join(&indent))
        }
    }
}
