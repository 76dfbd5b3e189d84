//! Gives tasks to the workers and stores the results: one slot for each worker, with one task at a time.
//!
//! One idle slot at a time looks at the queue, so that a commit wakes one of them and not all. What a slot
//! knows of its task is its own: a worker that dies or hangs costs that task alone.
//!
//! A result is committed only after the journal was read to its end, so a finished task has its whole event
//! tree. A task whose worker exited goes back to the queue as a failed attempt.

pub(crate) mod decide;
mod requeue_abandoned;
mod state;
mod steer;
pub(crate) mod worker;
mod worker_messages;

use std::sync::Arc;
use std::time::Duration;

use channel::Channels;
use protocol::{EventId, SessionId, Task, ToWorker, now_ms};
use settings::choices::Division;
use settings::choices::Words as _;
use store::claim::{self, Claim, Claimed};
use store::conversation::PriorContext;
use store::{Store, StoreError, cancel, held};
use tokio::sync::{Mutex, Notify, watch};
use tokio::time::error::Elapsed;
use tokio::time::{Instant, sleep_until, timeout_at};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::cancel_signal::CancelSignal;
use crate::children::ChildState;
use crate::children::link::{LineError, Messages, WorkerLink};
use crate::commands::models::Models;
use crate::config::TaskSettings;
use crate::current_settings::CurrentSettings;
use crate::health::Board;
use crate::journal::Journal;
use crate::metrics::Meters;
use crate::overheard::Overheard;
use crate::words::Words;
use state::{DispatchState, Patience, Running, Work};

/// A worker that is silent for this long is ended; it sends a heartbeat every 2 s.
const SILENCE: Duration = Duration::from_secs(15);
/// The last part of it, which begins again after this process was suspended.
const SECOND_CHANCE: Duration = Duration::from_secs(3);
/// How long the worker may take to end a cancelled task before the worker itself is ended.
const CANCEL_GRACE_PERIOD: Duration = Duration::from_secs(5);
/// How long a claim is valid without a message from its worker.
const LEASE: Duration = Duration::from_secs(60);
/// The pause after the database failed.
const STORE_PAUSE: Duration = Duration::from_secs(1);

/// What all slots share; each has a clone.
#[derive(Debug, Clone)]
pub(crate) struct Dispatcher {
    pub store: Store,
    /// Read to its end before each result.
    pub journal: Journal,
    /// This run's `process.started`.
    pub run: EventId,
    /// Sent when a running task may have to be cancelled, or to get what was said in its chat.
    pub cancel_signal: CancelSignal,
    /// Notified when an attempt has ended without an answer, perhaps to wait for a person.
    pub approvals_changed: Arc<Notify>,
    pub channels: Channels,
    pub settings: TaskSettings,
    /// What chats and users may use in a day.
    pub current: CurrentSettings,
    pub task_template: Arc<TaskTemplate>,
    pub queue: Queue,
    /// What a chat can choose from.
    pub models: Models,
    /// What groups wrote before their tasks.
    pub overheard: Overheard,
    /// Where the model's health is reported.
    pub board: Board,
    /// Where the words of the running tasks are kept.
    pub words: Words,
    /// Where it is counted what the models do.
    pub meters: Meters,
}

/// What the messages have in common that give tasks to workers.
#[derive(Debug)]
pub(crate) struct TaskTemplate {
    /// Replaces the worker's system prompt.
    pub system_prompt: Option<String>,
    /// The roots of the tool server.
    pub roots: Vec<String>,
    /// What of them a chat sees.
    pub division: Division,
}

/// The way of the slots to the queue.
#[derive(Debug, Clone, Default)]
pub(crate) struct Queue {
    /// Held by the slot that looks for work.
    turn: Arc<Mutex<()>>,
    /// Once cancelled, no more tasks are claimed.
    closed: CancellationToken,
    /// The claimed tasks that have not ended.
    unfinished: TaskTracker,
}

impl Queue {
    /// Gives out no more tasks, and resolves when those that run have ended.
    pub(crate) async fn finish(&self) {
        self.closed.cancel();
        self.unfinished.close();
        self.unfinished.wait().await;
    }
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum DisconnectReason {
    #[error("it closed its output")]
    Left,
    #[error("it was silent for {} s", SILENCE.as_secs())]
    Silent,
    #[error("it did not end a cancelled task within {} s", CANCEL_GRACE_PERIOD.as_secs())]
    WillNotStop,
    #[error("it recorded no event for {} s, which is beyond the limit of an attempt", .0.as_secs())]
    NoProgress(Duration),
    #[error(transparent)]
    Line(#[from] LineError),
}

impl DisconnectReason {
    /// Whether it will not end when it is asked to.
    pub(crate) const fn is_hung(&self) -> bool {
        match self {
            Self::Silent | Self::WillNotStop | Self::NoProgress(_) => true,
            Self::Left | Self::Line(_) => false,
        }
    }
}

impl Dispatcher {
    /// Serves one worker until it exits or has to be ended.
    async fn serve(
        &self,
        state: &mut DispatchState,
        mut link: WorkerLink,
        child_state: &watch::Sender<ChildState>,
    ) -> DisconnectReason {
        let mut changes = self.store.changes();
        let mut signal = self.cancel_signal.subscribe();
        let mut patience = Patience::new();
        loop {
            if state.is_idle() && state.turn.is_some() {
                changes.mark_unchanged();
                if let Err(error) = self.give_task(state, &link).await {
                    return error.into();
                }
            }
            let (is_idle, has_turn) = (state.is_idle(), state.turn.is_some());
            let running = state.running.as_ref();
            let (stop_by, offer_at) =
                running.map_or((None, None), |running| (running.stop_by, running.offer_at));
            let progress_by = running.map(|running| running.progress_by);
            tokio::select! {
                read = timeout_at(patience.ends_at(), link.next()) => match heard(read, &mut patience) {
                    Err(reason) => return reason,
                    Ok(None) => {}
                    Ok(Some(messages)) => {
                        ChildState::note_heard(child_state);
                        self.handle(state, messages, child_state).await;
                        if let Err(error) = self.end_lost(state, &link).await {
                            return error.into();
                        }
                    }
                },
                turn = Arc::clone(&self.queue.turn).lock_owned(), if is_idle && !has_turn => {
                    state.turn = Some(turn);
                }
                _ = changes.changed(), if has_turn => {}
                () = until(state.due), if has_turn => {}
                () = signalled(&mut signal, offer_at), if !is_idle => {
                    if let Err(error) = self.pass_on(state, &link).await {
                        return error.into();
                    }
                }
                reason = self.overdue(stop_by, progress_by) => return reason,
            }
        }
    }

    /// Resolves when one of these times has come without what had to happen before it.
    async fn overdue(&self, stop_by: Option<Instant>, progress_by: Option<Instant>) -> DisconnectReason {
        tokio::select! {
            () = until(stop_by) => DisconnectReason::WillNotStop,
            () = until(progress_by) => DisconnectReason::NoProgress(self.progress_limit()),
        }
    }

    /// Within this, the worker records another event or ends the attempt.
    fn progress_limit(&self) -> Duration {
        self.settings.max_wall_time + SILENCE
    }

    /// Claims the next task, gives it to the worker, and lets another slot look for work.
    async fn give_task(&self, state: &mut DispatchState, link: &WorkerLink) -> Result<(), LineError> {
        state.due = None;
        let unfinished = self.queue.unfinished.token();
        if self.queue.closed.is_cancelled() {
            return Ok(());
        }
        match self.claim().await {
            Ok(Work::Task(task, past)) => {
                state.turn = None;
                let mut line = self.task_template.task(&task, *past, &self.run);
                line.overheard = self.overheard.of(&task.id);
                if let Some(fixed) = self.models.fixed(&task.chat) {
                    line.model = Some(fixed.to_owned());
                }
                if let Some(origin) = &mut line.origin {
                    origin.is_unattended &= !self.channels.have_approvers();
                }
                let (id, attempt) = (task.id.clone(), task.attempt);
                state.running = Some(Running {
                    task: *task,
                    renewed: Instant::now(),
                    is_lost: false,
                    stop_by: None,
                    progress_by: Instant::now() + self.progress_limit(),
                    saying: self.words.begin(id.clone()),
                    offered: Vec::new(),
                    offer_at: None,
                    unfinished,
                });
                link.send(&ToWorker::Task(Box::new(line))).await?;
                tracing::info!(task_id = %id, attempt, "gave a task to a worker");
                self.offer(state, link).await?;
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
        let (run, channels, limits) = (self.run.clone(), self.channels.clone(), self.current.limits());
        let claim = self.store.write(move |tx| {
            loop {
                match claim::claim_within(tx, &limits, LEASE, &run)? {
                    Claim::Task(task) => {
                        let past = PriorContext::of(tx, &task)?;
                        return Ok(Work::Task(task, Box::new(past)));
                    }
                    Claim::Exhausted(exhausted) => held::hold(tx, &channels, *exhausted, &run)?,
                    Claim::Nothing { until_ms } => return Ok(Work::Nothing { until_ms }),
                }
            }
        });
        claim.await
    }

    /// Passes on to the worker what people want of its task.
    async fn pass_on(&self, state: &mut DispatchState, link: &WorkerLink) -> Result<(), LineError> {
        self.forward_cancel(state, link).await?;
        self.offer(state, link).await
    }

    /// Ends an attempt that the queue has given to another node.
    async fn end_lost(&self, state: &mut DispatchState, link: &WorkerLink) -> Result<(), LineError> {
        let is_lost = |running: &&mut Running| running.is_lost && running.stop_by.is_none();
        let Some(running) = state.running.as_mut().filter(is_lost) else { return Ok(()) };
        let task_id = &running.task.id;
        tracing::warn!(%task_id, "the task is another node's by now; ending the attempt");
        running.stop_by = Some(Instant::now() + CANCEL_GRACE_PERIOD);
        link.send(&ToWorker::Cancel { task_id: running.task.id.clone() }).await
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

impl TaskTemplate {
    /// The message for the worker. The parent of its events is `run`.
    pub(crate) fn task(&self, task: &Claimed, prior: PriorContext, run: &EventId) -> Task {
        let session = task.chat.session();
        let roots = self.roots_of(&session);
        Task {
            task_id: task.id.clone(),
            attempt: task.attempt,
            session_id: session,
            parent_event_id: run.clone(),
            text: task.text.clone(),
            origin: task.origin.clone(),
            model: prior.model,
            overheard: Vec::new(),
            images: prior.images,
            additions: prior.additions,
            history: prior.history,
            earlier: prior.earlier,
            parked: prior.parked,
            system_prompt: self.system_prompt.clone(),
            roots,
            date: task.date.clone(),
            quota: task.quota,
            language: Some(task.language.word().to_owned()),
        }
    }

    fn roots_of(&self, session: &SessionId) -> Vec<String> {
        match self.division {
            Division::Shared => self.roots.clone(),
            Division::PerChat => {
                let own = session.directory_name();
                self.roots.iter().map(|root| format!("{}/{own}", root.trim_end_matches('/'))).collect()
            }
        }
    }
}

/// The messages that a read found; none while a silent worker may still be heard.
fn heard(
    read: Result<Option<Result<Messages, LineError>>, Elapsed>,
    patience: &mut Patience,
) -> Result<Option<Messages>, DisconnectReason> {
    match read {
        Err(_) if patience.is_over() => Err(DisconnectReason::Silent),
        Err(_) => Ok(None),
        Ok(None) => Err(DisconnectReason::Left),
        Ok(Some(Err(error))) => Err(error.into()),
        Ok(Some(Ok(messages))) => {
            patience.heard();
            Ok(Some(messages))
        }
    }
}

/// Waits for the signal, or until a time.
async fn signalled(signal: &mut watch::Receiver<()>, due: Option<Instant>) {
    tokio::select! {
        _ = signal.changed() => {}
        () = until(due) => {}
    }
}

/// Waits until a time; forever without one.
async fn until(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}

fn instant_of(time_ms: i64) -> Instant {
    Instant::now() + Duration::from_millis(u64::try_from(time_ms - now_ms()).unwrap_or(0))
}

/// A random number from 0 up to 1. Without randomness it is one half: a retry can do without jitter.
fn jitter() -> f64 {
    getrandom::u32().map_or(0.5, |random| f64::from(random) / (f64::from(u32::MAX) + 1.0))
}
