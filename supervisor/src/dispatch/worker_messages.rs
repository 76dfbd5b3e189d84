//! Handles what a worker sends: heartbeats, events and results.

use std::sync::Arc;
use std::time::Duration;

use protocol::{Event, FromWorker, TaskResult, now_ms};
use store::attempt::Ending;
use store::sql::Connection;
use store::{attempt, claim, events};
use texts::Text;
use tokio::sync::watch;
use tokio::time::Instant;

use super::decide::Try;
use super::state::{DispatchState, Running};
use super::{Dispatcher, LEASE, decide, jitter};
use crate::children::ChildState;
use crate::children::link::Messages;
use crate::health::{PartName, Reading, model};

/// A lease is renewed at most this often.
const RENEWAL: Duration = Duration::from_secs(15);

impl Dispatcher {
    /// Handles what came together, in order. Events that follow each other share a commit.
    pub(super) async fn handle(
        &self,
        state: &mut DispatchState,
        messages: Messages,
        child_state: &watch::Sender<ChildState>,
    ) {
        let mut events = Vec::new();
        for message in messages {
            match message {
                FromWorker::Event { event } => events.extend(self.accept(state, event)),
                FromWorker::Heartbeat { model, waits_for_person, .. } => {
                    // A person may take longer than any limit of a task.
                    if let Some(running) = state.running.as_mut().filter(|_| waits_for_person) {
                        running.progress_by = Instant::now() + self.progress_limit();
                    }
                    if !state.ready {
                        state.ready = true;
                        self.introduce(model);
                        child_state.send_replace(ChildState::ready());
                    }
                    self.renew(state).await;
                }
                FromWorker::Added { task_id, message } => {
                    self.store_events(std::mem::take(&mut events)).await;
                    let running = state.running.as_ref().filter(|running| running.task.id == task_id);
                    if let Some(running) = running {
                        self.added(running, &message).await;
                    }
                }
                FromWorker::Words { task_id, text } => {
                    let running = state.running.as_ref().filter(|running| running.task.id == task_id);
                    running.iter().for_each(|running| running.saying.say(&text));
                }
                FromWorker::Result(result) => {
                    self.store_events(std::mem::take(&mut events)).await;
                    self.finish(state, result).await;
                }
            }
        }
        self.store_events(events).await;
    }

    /// The first worker that is ready says which model it asks.
    fn introduce(&self, model: Option<String>) {
        model.iter().for_each(|model| self.models.introduce(model));
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
        match self.store.write(move |tx| claim::renew(tx, &task, number, LEASE)).await {
            Ok(is_ours) => running.is_lost = !is_ours,
            Err(error) => tracing::warn!(%error, "could not renew a lease"),
        }
    }

    /// The event, if it is one that the worker may tell.
    fn accept(&self, state: &mut DispatchState, event: Event) -> Option<Event> {
        let is_of = |running: &&mut Running| event.task_id.as_ref() == Some(&running.task.id);
        let its_own = state.running.as_mut().filter(is_of);
        let Some(running) = its_own.filter(|_| decide::is_for_the_worker_to_tell(&event.body)) else {
            let event_type = event.body.event_type();
            tracing::warn!(event_type, "the worker sent an event that is not its to tell");
            return None;
        };
        running.progress_by = Instant::now() + self.progress_limit();
        self.meters.model(&event.body);
        if let Some(reading) = model::reading(&event.body) {
            self.board.set(PartName::Model, reading);
        }
        Some(event)
    }

    async fn store_events(&self, events: Vec<Event>) {
        if events.is_empty() {
            return;
        }
        // Cloned for each try.
        let events: Arc<[Event]> = events.into();
        let append = move |tx: &Connection| events.iter().try_for_each(|event| events::append(tx, event));
        if let Err(error) = self.store.write_until_done(append).await {
            tracing::error!(%error, "could not store events of the worker");
        }
    }

    async fn finish(&self, state: &mut DispatchState, result: TaskResult) {
        let is_running =
            |running: &Running| running.task.id == result.task_id && running.task.attempt == result.attempt;
        if !state.running.as_ref().is_some_and(is_running) {
            let task_id = &result.task_id;
            tracing::warn!(%task_id, "the worker sent a result for a task that it is not running");
            return;
        }
        let Some(Running { task, saying, unfinished, .. }) = state.running.take() else { return };
        // From here on, no draft begins.
        drop(saying);
        self.journal.drain().await;
        let failing = task.failing_since_ms.map_or(0, |since| now_ms().saturating_sub(since));
        let failing_for = Some(Duration::from_millis(u64::try_from(failing).unwrap_or(0)));
        let tried = Try { number: task.tries, failing_for, language: task.language };
        let ending = decide::ending(result.outcome, tried, &self.settings, jitter());
        tracing::info!(task_id = %task.id, ending = decide::name(&ending), "a task ended");
        let is_done = matches!(ending, Ending::Done { .. });
        let (channels, ended) = (self.channels.clone(), task.clone());
        match self.store.write_until_done(move |tx| attempt::end(tx, &channels, &ended, &ending)).await {
            Ok(true) if is_done => {}
            Ok(true) => self.approvals_changed.notify_one(),
            Ok(false) => tracing::warn!("dropped a result that came too late"),
            Err(error) => {
                tracing::error!(%error, "could not store a result; the attempt counts as failed");
                self.requeue(task, Text::ResultNotStored).await;
            }
        }
        drop(unfinished);
    }
}
