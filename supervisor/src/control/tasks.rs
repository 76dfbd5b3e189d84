//! `POST /tasks/{id}/cancel`, `POST /tasks/{id}/requeue` and `POST /tasks/requeue`.
//!
//! For people and the command line; `/cancel` in a chat does the same.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use protocol::TaskId;
use serde::{Deserialize, Serialize};
use store::cancel::{self, Cancellation};
use store::requeue::{self, Ended, Filter, Requeued, RequeuedMany};

use super::body::{self, Body, invalid};
use super::error::ControlError;
use super::{BY, Control};

const FILTER_HINT: &str = "Send {\"state\": \"dead\"}, optionally with \"since_ms\" and \"chat_id\"; the \
                           states are dead, cancelled, skipped and, with \"force\": true, done.";
const FORCE_HINT: &str = "The only parameter is ?force=true.";

/// The state of a task after the request.
#[derive(Debug, Serialize, Deserialize)]
pub struct TaskState {
    pub task_id: TaskId,
    /// `cancelled`, `cancelling` or `queued`.
    pub state: String,
}

/// The query of `POST /tasks/{id}/requeue`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Force {
    #[serde(default)]
    force: bool,
}

/// Cancels a task: 200 if it was queued, 202 if it is running and will be stopped.
pub(crate) async fn cancel(
    State(control): State<Arc<Control>>,
    Path(task): Path<String>,
) -> Result<(StatusCode, Json<TaskState>), ControlError> {
    let task_id: TaskId = task.parse().map_err(|_| ControlError::NoSuchTask)?;
    let cancelled = cancel_task(&control, &task_id, BY).await?;
    let status = if cancelled == Cancellation::Asked { StatusCode::ACCEPTED } else { StatusCode::OK };
    let state = state_of_cancelled(cancelled)?.to_owned();
    Ok((status, Json(TaskState { task_id, state })))
}

/// Cancels a task, or has it stopped; an error says why it cannot be.
pub(crate) async fn cancel_task(
    control: &Control,
    task: &TaskId,
    by: &'static str,
) -> Result<Cancellation, ControlError> {
    let (id, channels) = (task.clone(), control.channels.clone());
    let cancelled = control.store.write(move |tx| cancel::task(tx, &channels, &id, by)).await?;
    state_of_cancelled(cancelled.clone())?;
    control.inbound.cancel_signal.send_replace(());
    Ok(cancelled)
}

pub(crate) async fn requeue(
    State(control): State<Arc<Control>>,
    Path(task): Path<String>,
    force: Result<Query<Force>, QueryRejection>,
) -> Result<Json<TaskState>, ControlError> {
    let task_id: TaskId = task.parse().map_err(|_| ControlError::NoSuchTask)?;
    let Query(Force { force }) = force.map_err(|error| invalid(error.body_text(), FORCE_HINT))?;
    let state = requeue_task(&control, &task_id, force, BY).await?.to_owned();
    Ok(Json(TaskState { task_id, state }))
}

/// Puts a task that has ended back into the queue, and returns its state.
pub(crate) async fn requeue_task(
    control: &Control,
    task: &TaskId,
    force: bool,
    by: &'static str,
) -> Result<&'static str, ControlError> {
    let (id, run) = (task.clone(), control.run.clone());
    let requeued = control.store.write(move |tx| requeue::task(tx, &id, force, by, &run)).await?;
    state_of_requeued(requeued)
}

pub(crate) async fn requeue_many(
    State(control): State<Arc<Control>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<RequeuedMany>, ControlError> {
    let filter: Filter = body::parse(&headers, body, FILTER_HINT)?;
    if filter.state == Ended::Done && !filter.force {
        return Err(ControlError::TaskDone);
    }
    let run = control.run.clone();
    Ok(Json(control.store.write(move |tx| requeue::matching(tx, &filter, BY, &run)).await?))
}

/// The task's state after a request to cancel it, or why it was refused.
pub fn state_of_cancelled(cancellation: Cancellation) -> Result<&'static str, ControlError> {
    match cancellation {
        Cancellation::Cancelled => Ok("cancelled"),
        Cancellation::Asked => Ok("cancelling"),
        Cancellation::Ended { state } => Err(ControlError::TaskEnded(state)),
        Cancellation::NoSuchTask => Err(ControlError::NoSuchTask),
    }
}

/// The task's state after a request to requeue it, or why it was refused.
pub fn state_of_requeued(requeued: Requeued) -> Result<&'static str, ControlError> {
    match requeued {
        Requeued::Queued => Ok("queued"),
        Requeued::Open { state } => Err(ControlError::TaskOpen(state)),
        Requeued::Done => Err(ControlError::TaskDone),
        Requeued::NothingToRun => Err(ControlError::NothingToRun),
        Requeued::NoSuchTask => Err(ControlError::NoSuchTask),
    }
}
