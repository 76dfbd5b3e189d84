//! Handles what a worker sends: heartbeats, events and results.

use std::time::Duration;

use protocol::{Event, FromWorker, TaskResult};
use tokio::sync::watch;
use tokio::time::Instant;

use super::state::{DispatchState, Running};
use super::{Dispatcher, LEASE, decide, jitter};
use crate::children::ChildState;
use crate::health::{PartName, Reading, model};
use crate::store::{attempt, claim, events};

/// A lease is renewed at most this often.
const RENEWAL: Duration = Duration::from_secs(15);

impl Dispatcher {
    pub(super) async fn handle(
        &self,
        state: &mut DispatchState,
        message: FromWorker,
        child_state: &watch::Sender<ChildState>,
    ) {
        match message {
            FromWorker::Heartbeat { model, .. } => {
                if !state.ready {
                    state.ready = true;
                    self.introduce(model);
                    child_state.send_replace(ChildState::Ready);
                }
                self.renew(state).await;
            }
            FromWorker::Event { event } => self.store_event(state, event).await,
            FromWorker::Result(result) => self.finish(state, result).await,
        }
    }

    /// The first worker that is ready says which model it asks.
    fn introduce(&self, model: Option<String>) {
        if let Some(model) = model
            && self.board.part(PartName::Model).is_none()
        {
            self.board.set(PartName::Model, Reading::untried(format!("{model}, not asked yet")));
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
            tracing::warn!(%error, "could not renew a lease");
        }
    }

    async fn store_event(&self, state: &mut DispatchState, event: Event) {
        let is_of = |running: &&mut Running| event.task_id.as_ref() == Some(&running.task.id);
        let its_own = state.running.as_mut().filter(is_of);
        if let Some(running) = its_own
            && decide::is_for_the_worker_to_tell(event.body.event_type())
        {
            running.progress_by = Instant::now() + self.progress_limit();
        } else {
            tracing::warn!(
                event_type = event.body.event_type(),
                "the worker sent an event that is not its to tell"
            );
            return;
        }
        if let Some(reading) = model::reading(&event.body) {
            self.board.set(PartName::Model, reading);
        }
        if let Err(error) = self.store.write_until_done(move |tx| events::append(tx, &event)).await {
            tracing::error!(%error, "could not store an event of the worker");
        }
    }

    async fn finish(&self, state: &mut DispatchState, result: TaskResult) {
        let is_running =
            |running: &Running| running.task.id == result.task_id && running.task.attempt == result.attempt;
        if !state.running.as_ref().is_some_and(is_running) {
            tracing::warn!(task_id = %result.task_id, "the worker sent a result for a task that it is not \
             running");
            return;
        }
        let Some(Running { task, unfinished, .. }) = state.running.take() else { return };
        self.journal.drain().await;
        let ending = decide::ending(result.outcome, task.tries, &self.settings, jitter());
        tracing::info!(task_id = %task.id, ending = decide::name(&ending), "a task ended");
        let (channels, ended) = (self.channels.clone(), task.clone());
        match self.store.write_until_done(move |tx| attempt::end(tx, &channels, &ended, &ending)).await {
            Ok(true) => {}
            Ok(false) => tracing::warn!("dropped a result that came too late"),
            Err(error) => {
                tracing::error!(%error, "could not store a result; the attempt counts as failed");
                self.requeue(task, "The result of the attempt could not be stored.").await;
            }
        }
        drop(unfinished);
    }
}
