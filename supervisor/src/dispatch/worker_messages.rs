//! Handles what the worker sends: heartbeats, events and results.

use std::time::Duration;

use protocol::{Event, FromWorker, TaskResult};
use tokio::sync::watch;
use tokio::time::Instant;

use super::state::{DispatchState, Running};
use super::{Dispatcher, LEASE, decide, jitter};
use crate::children::ChildState;
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
        let Some(Running { task, .. }) = state.running.take() else { return };
        self.journal.drain().await;
        let ending = decide::ending(result.outcome, task.tries, &self.settings, jitter());
        tracing::info!(task_id = %task.id, ending = decide::name(&ending), "a task ended");
        let channels = self.channels.clone();
        match self.store.write_until_done(move |tx| attempt::end(tx, &channels, &task, &ending)).await {
            Ok(true) => {}
            Ok(false) => tracing::warn!("dropped a result that came too late"),
            Err(error) => tracing::error!(%error, "could not store a result"),
        }
    }
}
