//! The line protocol: one task at a time, heartbeats, cancels, and the end when stdin ends.
//!
//! The first heartbeat says that the worker is ready, the others that it is alive, also while a task runs.
//! An idle worker that can no longer resolve names exits, to be started again.
//! A result is sent after all events of its task. A protocol violation by the supervisor, like a second task
//! beside the first, ends the process, which is then restarted clean.

use std::sync::Arc;
use std::time::Duration;

use process::confinement::lost_resolver;
use protocol::{FromWorker, Outcome, Task, TaskId, TaskResult, ToWorker};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use crate::agent::Agents;
use crate::event_sink::EventSink;
use crate::json_lines::{self, LineError};
use crate::supervisor_tools::SupervisorTools;
use crate::wall_clock::WallClock;

/// Far shorter than the silence after which the supervisor ends a worker.
const HEARTBEAT: Duration = Duration::from_secs(2);

/// How long a person who decides about a call may hold the worker.
const PATIENCE: Duration = Duration::from_secs(2);

/// Why the worker stops before stdin ends.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// A line cannot be read.
    #[error(transparent)]
    Line(#[from] LineError),
    /// A task arrived while another was running.
    #[error("task {0} arrived while task {1} was running")]
    SecondTask(TaskId, TaskId),
    /// Stdout has no reader.
    #[error("stdout is closed")]
    StdoutClosed,
}

struct Running {
    task_id: TaskId,
    attempt: u32,
    cancel: CancellationToken,
    clock: Arc<WallClock>,
    work: JoinHandle<Outcome>,
}

/// Works on tasks from stdin until it ends.
pub async fn run(agents: Agents) -> Result<(), ServeError> {
    let mut model = Some(agents.first.model.name().to_owned());
    let mut incoming = json_lines::incoming(tokio::io::stdin());
    let outgoing = json_lines::outgoing(tokio::io::stdout());
    let supervisor = SupervisorTools::new(outgoing.clone());
    let mut heartbeat = interval(HEARTBEAT);
    heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut running: Option<Running> = None;
    let could_resolve = !lost_resolver();
    loop {
        tokio::select! {
            _ = heartbeat.tick() => {
                if running.is_none() && could_resolve && lost_resolver() {
                    tracing::warn!("/etc/resolv.conf was replaced; exiting to be started with the new one");
                    return Ok(());
                }
                let task_id = running.as_ref().map(|running| running.task_id.clone());
                let waits_for_person = running.as_ref().is_some_and(|running| running.clock.is_paused());
                let beat = FromWorker::Heartbeat { task_id, model: model.take(), waits_for_person };
                send(&outgoing, beat).await?;
            }
            message = incoming.recv() => match message {
                None => return Ok(()),
                Some(message) => handle(message?, &agents, (&outgoing, &supervisor), &mut running)?,
            },
            result = ended(&mut running) => {
                running = None;
                send(&outgoing, FromWorker::Result(result)).await?;
            }
        }
    }
}

fn handle(
    message: ToWorker,
    agents: &Agents,
    (outgoing, supervisor): (&mpsc::Sender<FromWorker>, &SupervisorTools),
    running: &mut Option<Running>,
) -> Result<(), ServeError> {
    match (message, running.as_ref()) {
        (ToWorker::Task(task), None) => {
            *running = Some(start(*task, agents, outgoing, supervisor.clone()));
        }
        (ToWorker::Task(task), Some(other)) => {
            return Err(ServeError::SecondTask(task.task_id, other.task_id.clone()));
        }
        (ToWorker::Cancel { task_id }, Some(running)) if running.task_id == task_id => {
            running.cancel.cancel();
        }
        (ToWorker::Reply { id, envelope }, _) => supervisor.replied(&id, *envelope),
        // Its result has already been sent.
        (ToWorker::Cancel { task_id }, _) => tracing::info!(%task_id, "the cancelled task is not running"),
    }
    Ok(())
}

fn start(
    task: Task,
    agents: &Agents,
    outgoing: &mpsc::Sender<FromWorker>,
    supervisor: SupervisorTools,
) -> Running {
    let (task_id, attempt, cancel) = (task.task_id.clone(), task.attempt, CancellationToken::new());
    let (agents, cancelled) = (agents.clone(), cancel.clone());
    let events = EventSink::new(outgoing.clone(), task_id.clone());
    let spent = task.parked.as_ref().map(|parked| parked.spent).unwrap_or_default();
    let clock = Arc::new(WallClock::go_on(Duration::from_millis(spent.wall_ms), Some(PATIENCE)));
    let its_clock = Arc::clone(&clock);
    let work =
        tokio::spawn(async move { agents.run(&task, &events, &supervisor, &its_clock, &cancelled).await });
    Running { task_id, attempt, cancel, clock, work }
}

/// The result of the running task; never resolves when there is none.
async fn ended(running: &mut Option<Running>) -> TaskResult {
    let Some(Running { task_id, attempt, work, .. }) = running else { return std::future::pending().await };
    let outcome = work.await.unwrap_or_else(|panic| {
        tracing::error!(%panic, %task_id, "the task panicked");
        let error = "Internal error in the worker; its log has the cause.".to_owned();
        Outcome::Failed { error, retryable: true, retry_after_ms: None }
    });
    TaskResult { task_id: task_id.clone(), attempt: *attempt, outcome }
}

async fn send(outgoing: &mpsc::Sender<FromWorker>, message: FromWorker) -> Result<(), ServeError> {
    outgoing.send(message).await.map_err(|_| ServeError::StdoutClosed)
}
