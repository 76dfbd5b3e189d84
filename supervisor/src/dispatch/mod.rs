//! Gives tasks to the worker, one at a time, and stores the results.
//!
//! A result is committed only after the journal was read to its end, so a finished task has its whole event
//! tree. A task that is in progress while no worker runs goes back to the queue as a failed attempt.

pub(crate) mod decide;
mod requeue_abandoned;
mod state;
pub(crate) mod task_template;
pub(crate) mod worker;
mod worker_messages;

use std::sync::Arc;
use std::time::Duration;

use protocol::{EventId, ToWorker, now_ms};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::cancel_signal::CancelSignal;
use crate::channel::Channels;
use crate::children::ChildState;
use crate::children::link::{LineError, WorkerLink};
use crate::config::TaskSettings;
use crate::journal::Journal;
use crate::store::claim::{self, Claim};
use crate::store::{Store, StoreError, cancel};
use state::{DispatchState, Running, Work};
use task_template::{PriorContext, TaskTemplate};

/// A worker that is silent for this long is ended; it sends a heartbeat every 2 s.
const SILENCE: Duration = Duration::from_secs(30);
/// How long the worker may take to end a cancelled task before the worker itself is ended.
const CANCEL_GRACE_PERIOD: Duration = Duration::from_secs(5);
/// How long a claim is valid without a message from its worker.
const LEASE: Duration = Duration::from_secs(60);
/// The pause after the database failed.
const STORE_PAUSE: Duration = Duration::from_secs(1);

#[derive(Debug, Clone)]
pub(crate) struct Dispatcher {
    pub store: Store,
    /// Read to its end before each result.
    pub journal: Journal,
    /// This run's `process.started`.
    pub run: EventId,
    /// Sent when the running task may have to be cancelled.
    pub cancel_signal: CancelSignal,
    pub channels: Channels,
    pub settings: TaskSettings,
    pub task_template: Arc<TaskTemplate>,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum DisconnectReason {
    #[error("it closed its output")]
    Left,
    #[error("it was silent for {} s", SILENCE.as_secs())]
    Silent,
    #[error("it did not end a cancelled task within {} s", CANCEL_GRACE_PERIOD.as_secs())]
    WillNotStop,
    #[error(transparent)]
    Line(#[from] LineError),
}

impl Dispatcher {
    /// Serves one worker until it exits or has to be ended.
    pub(crate) async fn serve(
        &self,
        mut link: WorkerLink,
        child_state: &watch::Sender<ChildState>,
    ) -> DisconnectReason {
        let mut state = DispatchState::default();
        let mut changes = self.store.changes();
        let mut last_message = Instant::now();
        loop {
            let idle = state.ready && state.running.is_none();
            if idle {
                changes.mark_unchanged();
                if let Err(error) = self.give_task(&mut state, &link).await {
                    return error.into();
                }
            }
            let waits = state.ready && state.running.is_none();
            let stop_by = state.running.as_ref().and_then(|running| running.stop_by);
            tokio::select! {
                line = timeout_at(last_message + SILENCE, link.next()) => {
                    last_message = Instant::now();
                    match line {
                        Err(_) => return DisconnectReason::Silent,
                        Ok(None) => return DisconnectReason::Left,
                        Ok(Some(Err(error))) => return error.into(),
                        Ok(Some(Ok(message))) => self.handle(&mut state, message, child_state).await,
                    }
                }
                () = self.cancel_signal.notified(), if !waits => {
                    if let Err(error) = self.forward_cancel(&mut state, &link).await {
                        return error.into();
                    }
                }
                () = sleep_until(stop_by.unwrap_or(last_message)), if stop_by.is_some() => {
                    return DisconnectReason::WillNotStop;
                }
                _ = changes.changed(), if waits => {}
                () = sleep_until(state.due.unwrap_or(last_message)), if waits && state.due.is_some() => {}
            }
        }
    }

    async fn give_task(&self, state: &mut DispatchState, link: &WorkerLink) -> Result<(), LineError> {
        state.due = None;
        match self.claim().await {
            Ok(Work::Task(task, past)) => {
                let line = self.task_template.task(&task, past, &self.run);
                link.send(&ToWorker::Task(Box::new(line))).await?;
                tracing::info!(task_id = %task.id, attempt = task.attempt, "gave a task to the worker");
                state.running = Some(Running { task: *task, renewed: Instant::now(), stop_by: None });
            }
            Ok(Work::Nothing { until_ms }) => state.due = until_ms.map(instant_of),
            Err(error) => {
                tracing::error!(%error, "could not claim a task; trying again");
                state.due = Some(Instant::now() + STORE_PAUSE);
            }
        }
        Ok(())
    }

    async fn claim(&self) -> Result<Work, StoreError> {
        let run = self.run.clone();
        let claim = self.store.write(move |tx| match claim::claim(tx, LEASE, &run)? {
            Claim::Task(task) => {
                let past = PriorContext::of(tx, &task)?;
                Ok(Work::Task(task, past))
            }
            Claim::Nothing { until_ms } => Ok(Work::Nothing { until_ms }),
        });
        claim.await
    }

    async fn forward_cancel(&self, state: &mut DispatchState, link: &WorkerLink) -> Result<(), LineError> {
        let Some(running) = state.running.as_mut().filter(|running| running.stop_by.is_none()) else {
            return Ok(());
        };
        let (id, number) = (running.task.id.clone(), running.task.attempt);
        match self.store.write(move |tx| cancel::requested_by(tx, &id, number)).await {
            Ok(Some(by)) => {
                tracing::info!(task_id = %running.task.id, by, "cancelling the running task");
                running.stop_by = Some(Instant::now() + CANCEL_GRACE_PERIOD);
                link.send(&ToWorker::Cancel { task_id: running.task.id.clone() }).await
            }
            Ok(None) => Ok(()),
            Err(error) => {
                tracing::error!(%error, "could not check whether the running task is cancelled");
                Ok(())
            }
        }
    }
}

fn instant_of(time_ms: i64) -> Instant {
    Instant::now() + Duration::from_millis(u64::try_from(time_ms - now_ms()).unwrap_or(0))
}

/// A random number from 0 up to 1. Without randomness it is one half: a retry can do without jitter.
fn jitter() -> f64 {
    getrandom::u32().map_or(0.5, |random| f64::from(random) / (f64::from(u32::MAX) + 1.0))
}
