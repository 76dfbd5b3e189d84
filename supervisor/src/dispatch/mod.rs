//! Gives tasks to the worker, one at a time, and takes what comes back.
//!
//! A task's result is committed only after the journal was drained, so its tree is complete when it is
//! done. Whatever is in progress when no worker runs is given back to the queue as a failed attempt.

pub mod briefing;
pub mod cancelling;
pub mod decide;
mod desk;
mod giving_back;

use std::sync::Arc;
use std::time::Duration;

use protocol::{Event, EventId, FromWorker, TaskResult, ToWorker, now_ms};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::children::ChildState;
use crate::children::link::{LineError, WorkerLink};
use crate::config::TaskSettings;
use crate::journal::Journal;
use crate::random;
use crate::store::attempt;
use crate::store::claim::{self, Claim};
use crate::store::{Store, StoreError, cancel, events};
use briefing::{Briefing, Past};
use cancelling::CancelBell;
use desk::{Desk, Running, Work};

/// A worker that says nothing for this long is ended; it sends a heartbeat every 2 s.
const SILENCE: Duration = Duration::from_secs(30);
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
    pub bell: CancelBell,
    /// How often a task is tried.
    pub settings: TaskSettings,
    /// What every task is told.
    pub briefing: Arc<Briefing>,
}

/// Why a worker is no longer served.
#[derive(Debug, thiserror::Error)]
pub enum Parting {
    /// It closed its output.
    #[error("it closed its output")]
    Left,
    /// It said nothing for too long.
    #[error("it said nothing for {} s", SILENCE.as_secs())]
    Silent,
    /// It goes on with a task that was cancelled.
    #[error("it did not end a cancelled task within {} s", cancelling::PATIENCE.as_secs())]
    WillNotStop,
    /// It broke the protocol.
    #[error(transparent)]
    Line(#[from] LineError),
}

impl Dispatcher {
    /// Serves one worker until it leaves or has to.
    pub async fn serve(&self, mut link: WorkerLink, state: &watch::Sender<ChildState>) -> Parting {
        let mut desk = Desk::default();
        let mut changes = self.store.changes();
        let mut last_word = Instant::now();
        loop {
            let idle = desk.ready && desk.running.is_none();
            if idle {
                changes.mark_unchanged();
                if let Err(error) = self.hand_out(&mut desk, &link).await {
                    return error.into();
                }
            }
            let waits = desk.ready && desk.running.is_none();
            let stop_by = desk.running.as_ref().and_then(|running| running.stop_by);
            tokio::select! {
                line = timeout_at(last_word + SILENCE, link.next()) => {
                    last_word = Instant::now();
                    match line {
                        Err(_) => return Parting::Silent,
                        Ok(None) => return Parting::Left,
                        Ok(Some(Err(error))) => return error.into(),
                        Ok(Some(Ok(message))) => self.take(&mut desk, message, state).await,
                    }
                }
                () = self.bell.rung(), if !waits => {
                    if let Err(error) = self.pass_on_cancel(&mut desk, &link).await {
                        return error.into();
                    }
                }
                () = sleep_until(stop_by.unwrap_or(last_word)), if stop_by.is_some() => {
                    return Parting::WillNotStop;
                }
                _ = changes.changed(), if waits => {}
                () = sleep_until(desk.due.unwrap_or(last_word)), if waits && desk.due.is_some() => {}
            }
        }
    }

    async fn hand_out(&self, desk: &mut Desk, link: &WorkerLink) -> Result<(), LineError> {
        desk.due = None;
        match self.claim().await {
            Ok(Work::Task(task, past)) => {
                let line = self.briefing.task(&task, past, &self.run);
                link.send(&ToWorker::Task(Box::new(line))).await?;
                tracing::info!(task_id = %task.id, attempt = task.attempt, "a task was given to the worker");
                desk.running = Some(Running { task: *task, renewed: Instant::now(), stop_by: None });
            }
            Ok(Work::Nothing { until_ms }) => desk.due = until_ms.map(instant_of),
            Err(error) => {
                tracing::error!(%error, "no task could be claimed; trying again");
                desk.due = Some(Instant::now() + STORE_PAUSE);
            }
        }
        Ok(())
    }

    async fn claim(&self) -> Result<Work, StoreError> {
        let run = self.run.clone();
        let claim = self.store.write(move |tx| match claim::claim(tx, LEASE, &run)? {
            Claim::Task(task) => {
                let past = Past::of(tx, &task)?;
                Ok(Work::Task(task, past))
            }
            Claim::Nothing { until_ms } => Ok(Work::Nothing { until_ms }),
        });
        claim.await
    }

    async fn take(&self, desk: &mut Desk, message: FromWorker, state: &watch::Sender<ChildState>) {
        match message {
            FromWorker::Heartbeat { .. } => {
                if !desk.ready {
                    desk.ready = true;
                    state.send_replace(ChildState::Ready);
                }
                self.renew(desk).await;
            }
            FromWorker::Event(event) => self.keep_event(desk, event).await,
            FromWorker::Result(result) => self.finish(desk, result).await,
        }
    }

    /// Tells the worker to stop, if somebody asked for it.
    async fn pass_on_cancel(&self, desk: &mut Desk, link: &WorkerLink) -> Result<(), LineError> {
        let Some(running) = desk.running.as_mut().filter(|running| running.stop_by.is_none()) else {
            return Ok(());
        };
        let (id, number) = (running.task.id.clone(), running.task.attempt);
        match self.store.write(move |tx| cancel::requested_by(tx, &id, number)).await {
            Ok(Some(by)) => {
                tracing::info!(task_id = %running.task.id, by, "the running task is being cancelled");
                running.stop_by = Some(Instant::now() + cancelling::PATIENCE);
                link.send(&ToWorker::Cancel { task_id: running.task.id.clone() }).await
            }
            Ok(None) => Ok(()),
            Err(error) => {
                tracing::error!(%error, "whether the running task is to be cancelled could not be looked up");
                Ok(())
            }
        }
    }

    async fn renew(&self, desk: &mut Desk) {
        let Some(running) = desk.running.as_mut().filter(|running| running.renewed.elapsed() >= RENEWAL)
        else {
            return;
        };
        running.renewed = Instant::now();
        let (task, number) = (running.task.id.clone(), running.task.attempt);
        if let Err(error) = self.store.write(move |tx| claim::renew(tx, &task, number, LEASE)).await {
            tracing::warn!(%error, "a lease could not be renewed");
        }
    }

    async fn keep_event(&self, desk: &Desk, event: Event) {
        let running = desk.running.as_ref().map(|running| &running.task.id);
        let is_its_own = running.is_some() && event.task_id.as_ref() == running;
        if !is_its_own || !decide::is_for_the_worker_to_tell(event.event_type) {
            tracing::warn!(event_type = %event.event_type, "the worker sent an event that is not its to tell");
            return;
        }
        if let Err(error) = self.store.write_until_done(move |tx| events::append(tx, &event)).await {
            tracing::error!(%error, "an event of the worker could not be stored");
        }
    }

    async fn finish(&self, desk: &mut Desk, result: TaskResult) {
        let is_running =
            |running: &Running| running.task.id == result.task_id && running.task.attempt == result.attempt;
        if !desk.running.as_ref().is_some_and(is_running) {
            tracing::warn!(task_id = %result.task_id, "the worker sent a result of a task that it does not run");
            return;
        }
        let Some(Running { task, .. }) = desk.running.take() else { return };
        self.journal.drain().await;
        let ending = decide::ending(result.outcome, task.tries, &self.settings, random::unit());
        tracing::info!(task_id = %task.id, ending = decide::name(&ending), "a task came back");
        match self.store.write_until_done(move |tx| attempt::end(tx, &task, &ending)).await {
            Ok(true) => {}
            Ok(false) => tracing::warn!("a result came too late and was dropped"),
            Err(error) => tracing::error!(%error, "a result could not be stored"),
        }
    }
}

fn instant_of(time_ms: i64) -> Instant {
    Instant::now() + Duration::from_millis(u64::try_from(time_ms - now_ms()).unwrap_or(0))
}
