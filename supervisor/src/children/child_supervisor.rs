//! Starts one child and restarts it whenever it exits, until the supervisor stops.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use protocol::event::{CrashLoopDetected, WorkerExited, WorkerSpawned};
use protocol::{Event, EventBody, EventId, millis};
use store::{Store, events};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::ChildState;
use super::child::Child;
use super::launcher::Launcher;
use super::restart::{Exit, RestartPolicy};
use super::spawn::{Given, SpawnError};
use super::terminate::{ExitReport, terminate};
use crate::metrics::Meters;
use process::error_chain;

/// What differs between the children.
pub(crate) trait ManagedChild: Send {
    /// The program's name.
    const NAME: &'static str;

    /// What to give it; asked for before each start.
    fn given(&self) -> Result<Given, SpawnError>;

    /// Works with a running child, owns its stdin, and reports when it is ready. Returns when the child has
    /// exited or has to be ended.
    fn serve(
        &mut self,
        process: &mut Child,
        state: &watch::Sender<ChildState>,
    ) -> impl Future<Output = ()> + Send;

    /// Lets a child finish what it does, when the run ends; runs before the child is ended.
    fn finish(&mut self, process: &mut Child) -> impl Future<Output = ()> + Send;

    /// Cleans up after a child that exited; runs before the next start.
    fn after_exit(&mut self, status: &str) -> impl Future<Output = ()> + Send;
}

/// Restarts one child until the supervisor stops.
pub(crate) struct ChildSupervisor {
    launcher: Arc<Launcher>,
    store: Store,
    run: EventId,
    state: watch::Sender<ChildState>,
    rejection: SettingsRejection,
    meters: Meters,
    began: Instant,
    policy: RestartPolicy,
}

/// The child that rejected its settings, if one did: set by its `ChildSupervisor`, read at the end of the
/// run.
pub(crate) type SettingsRejection = Arc<OnceLock<&'static str>>;

impl ChildSupervisor {
    /// Also returns a receiver for the child's state.
    pub(crate) fn new(
        launcher: Arc<Launcher>,
        store: Store,
        run: EventId,
        rejection: SettingsRejection,
        meters: Meters,
    ) -> (Self, watch::Receiver<ChildState>) {
        let (state, receiver) = watch::channel(ChildState::Starting);
        let (began, policy) = (Instant::now(), RestartPolicy::default());
        (Self { launcher, store, run, state, rejection, meters, began, policy }, receiver)
    }

    /// Starts the child and restarts it whenever it exits, until `stop`; then ends it. A child that rejects
    /// its settings before it was ever ready stops the supervisor: another start would not help.
    pub(crate) async fn supervise<A: ManagedChild>(mut self, mut child: A, stop: CancellationToken) {
        let mut was_ever_ready = false;
        self.meters.restarts_of(A::NAME);
        while !stop.is_cancelled() {
            let began = Instant::now();
            let ExitReport { status, rejected_settings } = self.run_once(&mut child, &stop).await;
            let was_ready = self.state.borrow().is_ready();
            was_ever_ready |= was_ready;
            self.state.send_replace(ChildState::Restarting);
            if rejected_settings && !was_ever_ready {
                let _ = self.rejection.set(A::NAME);
                stop.cancel();
            }
            if stop.is_cancelled() {
                return;
            }
            child.after_exit(&status).await;
            let exit = Exit { at: self.began.elapsed(), lived: began.elapsed(), was_ready };
            self.pause::<A>(exit, &status, &stop).await;
        }
    }

    async fn run_once<A: ManagedChild>(&mut self, managed: &mut A, stop: &CancellationToken) -> ExitReport {
        self.state.send_replace(ChildState::Starting);
        let began = Instant::now();
        let started = match managed.given() {
            Ok(given) => tokio::select! {
                () = stop.cancelled() => return ExitReport::never_started(),
                started = self.launcher.launch(A::NAME, given) => started,
            },
            Err(error) => Err(error),
        };
        let mut child = match started {
            Ok(child) => child,
            Err(error) => {
                tracing::error!(child = A::NAME, error = error_chain(&error), "could not start a child");
                return ExitReport::never_started();
            }
        };
        let pid = Some(child.pid());
        let spawned = self.record(WorkerSpawned { child: A::NAME.to_owned(), pid }, None).await;
        tokio::select! {
            () = stop.cancelled() => managed.finish(&mut child).await,
            () = managed.serve(&mut child, &self.state) => {}
        }
        let ended = terminate(&mut child).await;
        let exited = WorkerExited {
            child: A::NAME.to_owned(),
            pid,
            status: ended.status.clone(),
            lived_ms: millis(began.elapsed()),
        };
        self.record(exited, Some(&spawned)).await;
        ended
    }

    async fn pause<A: ManagedChild>(&mut self, exit: Exit, status: &str, stop: &CancellationToken) {
        self.meters.restarts_of(A::NAME).inc();
        let restart = self.policy.after_exit(exit);
        let after_ms = millis(restart.after);
        tracing::warn!(child = A::NAME, status, after_ms, "a child exited; restarting it");
        if restart.loop_detected {
            tracing::error!(child = A::NAME, "a child keeps exiting before it is ready; see its log");
            let crash_loop = CrashLoopDetected { child: A::NAME.to_owned(), status: status.to_owned() };
            self.record(crash_loop, None).await;
        }
        stop.run_until_cancelled(tokio::time::sleep(restart.after)).await;
    }

    async fn record(&self, body: impl Into<EventBody>, parent: Option<&EventId>) -> EventId {
        let event = Event::now(body, Some(parent.unwrap_or(&self.run)), None);
        let id = event.id.clone();
        if let Err(error) = self.store.write(move |tx| events::append(tx, &event)).await {
            tracing::error!(%error, "could not store an event about a child");
        }
        id
    }
}
