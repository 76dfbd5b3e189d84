//! Keeps one child alive until the supervisor stops.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use protocol::{Event, EventId, EventType};
use serde_json::{Value, json};
use tokio::process::Child;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::ChildState;
use super::end::{Ended, end};
use super::restart::{Exit, RestartPolicy};
use super::spawn::{Blueprint, SpawnError, spawn};
use crate::causes;
use crate::store::{Store, events};

/// What is particular to one child.
pub trait Attendant: Send {
    /// The program's name.
    const NAME: &'static str;

    /// What it is started with, anew for each start.
    fn blueprint(&self) -> Result<Blueprint, SpawnError>;

    /// Stays with a running child, owns its stdin, and says when it is ready. Returns when the child has
    /// ended or has to be ended.
    fn attend(
        &mut self,
        child: &mut Child,
        state: &watch::Sender<ChildState>,
    ) -> impl Future<Output = ()> + Send;

    /// Tidies up after a child that has ended by itself; the next one is not started before.
    fn after_exit(&mut self, how: &str) -> impl Future<Output = ()> + Send;
}

/// Keeps one child alive.
pub struct Keeper {
    store: Store,
    run: EventId,
    state: watch::Sender<ChildState>,
    refusal: Refusal,
    began: Instant,
    policy: RestartPolicy,
}

/// The child that refuses its settings, if one does: shared between the keepers and whoever waits for them.
#[derive(Debug, Clone, Default)]
pub struct Refusal {
    child: Arc<OnceLock<&'static str>>,
}

impl Refusal {
    /// Which child it is.
    pub fn of(&self) -> Option<&'static str> {
        self.child.get().copied()
    }
}

impl Keeper {
    /// A keeper whose child's state can be seen in the receiver.
    pub fn new(store: Store, run: EventId, refusal: Refusal) -> (Self, watch::Receiver<ChildState>) {
        let (state, seen) = watch::channel(ChildState::Starting);
        let (began, policy) = (Instant::now(), RestartPolicy::default());
        (Self { store, run, state, refusal, began, policy }, seen)
    }

    /// Starts the child, again and again, until it is told to stop; then ends it. A child that refuses its
    /// settings before it was ever ready stops everything: it would refuse them for ever.
    pub async fn keep<A: Attendant>(mut self, mut attendant: A, stop: CancellationToken) {
        let mut was_ever_ready = false;
        while !stop.is_cancelled() {
            let began = Instant::now();
            let Ended { how, refuses_its_settings } = self.one_life(&mut attendant, &stop).await;
            let was_ready = *self.state.borrow() == ChildState::Ready;
            was_ever_ready |= was_ready;
            self.state.send_replace(ChildState::Restarting);
            if refuses_its_settings && !was_ever_ready {
                let _ = self.refusal.child.set(A::NAME);
                stop.cancel();
            }
            if stop.is_cancelled() {
                return;
            }
            attendant.after_exit(&how).await;
            let exit = Exit { at: self.began.elapsed(), lived: began.elapsed(), was_ready };
            self.pause::<A>(exit, &how, &stop).await;
        }
    }

    /// From start to end; says how it ended.
    async fn one_life<A: Attendant>(&mut self, attendant: &mut A, stop: &CancellationToken) -> Ended {
        self.state.send_replace(ChildState::Starting);
        let began = Instant::now();
        let mut child = match attendant.blueprint().and_then(spawn) {
            Ok(child) => child,
            Err(error) => {
                tracing::error!(
                    child = A::NAME,
                    error = causes::in_one_line(&error),
                    "a child could not be started"
                );
                return Ended::before_its_start();
            }
        };
        let pid = child.id();
        let spawned =
            self.record(EventType::WorkerSpawned, None, json!({"child": A::NAME, "pid": pid})).await;
        tokio::select! {
            () = stop.cancelled() => {}
            () = attendant.attend(&mut child, &self.state) => {}
        }
        let ended = end(&mut child).await;
        let lived_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let payload = json!({"child": A::NAME, "pid": pid, "status": ended.how, "lived_ms": lived_ms});
        self.record(EventType::WorkerExited, Some(&spawned), payload).await;
        ended
    }

    async fn pause<A: Attendant>(&mut self, exit: Exit, how: &str, stop: &CancellationToken) {
        let restart = self.policy.after_exit(exit);
        let after_ms = u64::try_from(restart.after.as_millis()).unwrap_or(u64::MAX);
        tracing::warn!(child = A::NAME, status = how, after_ms, "a child has ended and is started again");
        if restart.loop_detected {
            tracing::error!(child = A::NAME, "a child keeps ending before it is ready; its own log says why");
            self.record(EventType::CrashLoopDetected, None, json!({"child": A::NAME, "status": how})).await;
        }
        wait(restart.after, stop).await;
    }

    async fn record(&self, event_type: EventType, parent: Option<&EventId>, payload: Value) -> EventId {
        let event = Event::now(event_type, Some(parent.unwrap_or(&self.run)), None, payload);
        let id = event.id.clone();
        if let Err(error) = self.store.write(move |tx| events::append(tx, &event)).await {
            tracing::error!(%error, %event_type, "an event about a child could not be stored");
        }
        id
    }
}

async fn wait(pause: Duration, stop: &CancellationToken) {
    tokio::select! {
        () = stop.cancelled() => {}
        () = tokio::time::sleep(pause) => {}
    }
}
