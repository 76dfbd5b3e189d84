//! Gives tasks to the worker, one at a time, and takes what comes back.
//!
//! A task's result is committed only after the journal was drained, so its tree is complete when it is
//! done. Whatever is in progress when no worker runs is given back to the queue as a failed attempt.

pub mod decide;
mod requeue_abandoned;
mod state;
pub mod task_template;
pub mod worker;

use std::sync::Arc;
use std::time::Duration;

use protocol::{Event, EventId, FromWorker, TaskResult, ToWorker, now_ms};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::cancel_signal::CancelSignal;
use crate::channel::Channels;
use crate::children::ChildState;
use crate::children::link::{LineError, WorkerLink};
use crate::config::TaskSettings;
use crate::journal::Journal;
use crate::random;
use crate::store::attempt;
use crate::store::claim::{self, Claim};
use crate::store::{Store, StoreError, cancel, events};
use state::{DispatchState, Running, Work};
use task_template::{PriorContext, TaskTemplate};

/// A worker that says nothing for this long is ended; it sends a heartbeat every 2 s.
const SILENCE: Duration = Duration::from_secs(30);
/// How long the worker may take to end a cancelled task before the worker itself is ended.
const CANCEL_GRACE_PERIOD: Duration = Duration::from_secs(5);
/// How long a claim holds without news from its worker.
const LEASE: Duration = Duration::from_secs(60);
/// A lease is renewed at most this often.
const RENEWAL: Duration = Duration::from_secs(15);
/// The pause after the database refused a claim.
const STORE_PAUSE: Duration = Duration::from_secs(1);

/// Gives out tasks.
#[derive(Debug, Clone)]
pub struct Dispatcher {
    /// Where the tasks are.
    pub store: Store,
    /// Drained before each result.
    pub journal: Journal,
    /// This run's `process.started`.
    pub run: EventId,
    /// Rung when the task that runs may be one to cancel.
    pub cancel_signal: CancelSignal,
    /// Formats replies.
    pub channels: Channels,
    /// How often a task is tried.
    pub settings: TaskSettings,
    /// What every task is told.
    pub task_template: Arc<TaskTemplate>,
}

/// Why a worker is no longer served.
#[derive(Debug, thiserror::Error)]
pub enum DisconnectReason {
    /// It closed its output.
    #[error("it closed its output")]
    Left,
    /// It said nothing for too long.
    #[error("it said nothing for {} s", SILENCE.as_secs())]
    Silent,
    /// It goes on with a task that was cancelled.
    #[error("it did not end a cancelled task within {} s", CANCEL_GRACE_PERIOD.as_secs())]
    WillNotStop,
    /// It broke the protocol.
    #[error(transparent)]
    Line(#[from] LineError),
}

impl Dispatcher {
    /// Serves one worker until it leaves or has to.
    pub async fn serve(
        &self,
        mut link: WorkerLink,
        child_state: &watch::Sender<ChildState>,
    ) -> DisconnectReason {
        let mut state = DispatchState::default();
        let mut changes = self.store.changes();
        let mut last_word = Instant::now();
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
                line = timeout_at(last_word + SILENCE, link.next()) => {
                    last_word = Instant::now();
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
                () = sleep_until(stop_by.unwrap_or(last_word)), if stop_by.is_some() => {
                    return DisconnectReason::WillNotStop;
                }
                _ = changes.changed(), if waits => {}
                () = sleep_until(state.due.unwrap_or(last_word)), if waits && state.due.is_some() => {}
            }
        }
    }

    async fn give_task(&self, state: &mut DispatchState, link: &WorkerLink) -> Result<(), LineError> {
        state.due = None;
        match self.claim().await {
            Ok(Work::Task(task, past)) => {
                let line = self.task_template.task(&task, past, &self.run);
                link.send(&ToWorker::Task(Box::new(line))).await?;
                tracing::info!(task_id = %task.id, attempt = task.attempt, "a task was given to the worker");
                state.running = Some(Running { task: *task, renewed: Instant::now(), stop_by: None });
            }
            Ok(Work::Nothing { until_ms }) => state.due = until_ms.map(instant_of),
            Err(error) => {
                tracing::error!(%error, "no task could be claimed; trying again");
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

    async fn handle(
        &self,
        state: &mut DispatchState,
        message: FromWorker,
        child_state: &watch::Sender<ChildState>,
    ) {
        match message {
            FromWorker::Heartbeat { .. } => {
                if !state.ready {
                    state.ready = true;
                    child_state.send_replace(ChildState::Ready);
                }
                self.renew(state).await;
            }
            FromWorker::Event { event } => self.store_event(state, event).await,
            FromWorker::Result(result) => self.finish(state, result).await,
        }
    }

    /// Tells the worker to stop, if somebody asked for it.
    async fn forward_cancel(&self, state: &mut DispatchState, link: &WorkerLink) -> Result<(), LineError> {
        let Some(running) = state.running.as_mut().filter(|running| running.stop_by.is_none()) else {
            return Ok(());
        };
        let (id, number) = (running.task.id.clone(), running.task.attempt);
        match self.store.write(move |tx| cancel::requested_by(tx, &id, number)).await {
            Ok(Some(by)) => {
                tracing::info!(task_id = %running.task.id, by, "the running task is being cancelled");
                running.stop_by = Some(Instant::now() + CANCEL_GRACE_PERIOD);
                link.send(&ToWorker::Cancel { task_id: running.task.id.clone() }).await
            }
            Ok(None) => Ok(()),
            Err(error) => {
                tracing::error!(%error, "whether the running task is to be cancelled could not be looked up");
                Ok(())
            }
        }
    }

    async fn renew(&self, state: &mut DispatchState) {
        let Some(running) = state.running.as_mut().filter(|running| running.renewed.elapsed() >= RENEWAL)
        else {
            return;
        };
        running.renewed = Instant::now();
        let (task, number) = (running.task.id.clone(), running.task.attempt);
        if let Err(error) = self.store.write(move |tx| claim::renew(tx, &task, number, LEASE)).await {
            tracing::warn!(%error, "a lease could not be renewed");
        }
    }

    async fn store_event(&self, state: &DispatchState, event: Event) {
        let running = state.running.as_ref().map(|running| &running.task.id);
        let is_its_own = running.is_some() && event.task_id.as_ref() == running;
        if !is_its_own || !decide::is_for_the_worker_to_tell(event.body.event_type()) {
            tracing::warn!(
                event_type = event.body.event_type(),
                "the worker sent an event that is not its to tell"
            );
            return;
        }
        if let Err(error) = self.store.write_until_done(move |tx| events::append(tx, &event)).await {
            tracing::error!(%error, "an event of the worker could not be stored");
        }
    }

    async fn finish(&self, state: &mut DispatchState, result: TaskResult) {
        let is_running =
            |running: &Running| running.task.id == result.task_id && running.task.attempt == result.attempt;
        if !state.running.as_ref().is_some_and(is_running) {
            tracing::warn!(task_id = %result.task_id, "the worker sent a result of a task that it does not run");
            return;
        }
        let Some(Running { task, .. }) = state.running.take() else { return };
        self.journal.drain().await;
        let ending = decide::ending(result.outcome, task.tries, &self.settings, random::unit());
        tracing::info!(task_id = %task.id, ending = decide::name(&ending), "a task came back");
        let channels = self.channels.clone();
        match self.store.write_until_done(move |tx| attempt::end(tx, &channels, &task, &ending)).await {
            Ok(true) => {}
            Ok(false) => tracing::warn!("a result came too late and was dropped"),
            Err(error) => tracing::error!(%error, "a result could not be stored"),
        }
    }
}

fn instant_of(time_ms: i64) -> Instant {
    Instant::now() + Duration::from_millis(u64::try_from(time_ms - now_ms()).unwrap_or(0))
}
