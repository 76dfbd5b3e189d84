//! The line protocol: one task at a time, heartbeats, cancels, and the end when stdin ends.
//!
//! The first heartbeat says that the worker is ready, the others that it is alive, also while a task runs.
//! An idle worker that can no longer resolve names exits, to be started again.
//! Lines are bounded, and read and written by tasks of their own, so that a cancel is seen while a result is
//! being written. A result is sent after all events of its task. A protocol violation by the supervisor, like
//! a second task beside the first, ends the process, which is then restarted clean.

use std::sync::Arc;
use std::time::Duration;

use process::confinement::lost_resolver;
use protocol::{FromWorker, MAX_LINE_BYTES, Outcome, Task, TaskId, TaskResult, ToWorker};
use texts::{Language, Text};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use crate::additions::Additions;
use crate::agent::Agents;
use crate::event_sink::EventSink;
use crate::wall_clock::WallClock;

/// Far shorter than the silence after which the supervisor ends a worker.
const HEARTBEAT: Duration = Duration::from_secs(2);

/// How long a person who decides about a call may hold the worker.
const PATIENCE: Duration = Duration::from_secs(2);

/// How many lines are buffered before the writer waits.
const WAITING_LINES: usize = 64;

/// Why the worker stops before stdin ends.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// A line is no message.
    #[error("a line on stdin is not a valid message to a worker: {0}")]
    Malformed(#[source] serde_json::Error),
    /// A line is too long.
    #[error("a line on stdin is longer than {MAX_LINE_BYTES} bytes")]
    TooLong,
    /// Reading fails.
    #[error("cannot read stdin: {0}")]
    Unreadable(#[source] std::io::Error),
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
    additions: Additions,
    clock: Arc<WallClock>,
    work: JoinHandle<Outcome>,
    /// In which its user reads how it ends.
    language: Language,
}

/// Works on tasks from stdin until it ends.
pub async fn run(agents: Agents) -> Result<(), ServeError> {
    let mut model = Some(agents.first.model.name().to_owned());
    let mut messages = incoming(tokio::io::stdin());
    let outgoing = outgoing(tokio::io::stdout());
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
            message = messages.recv() => match message {
                None => return Ok(()),
                Some(message) => handle(message?, &agents, &outgoing, &mut running)?,
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
    outgoing: &mpsc::Sender<FromWorker>,
    running: &mut Option<Running>,
) -> Result<(), ServeError> {
    match (message, running.as_ref()) {
        (ToWorker::Task(task), None) => {
            *running = Some(start(*task, agents, outgoing));
        }
        (ToWorker::Task(task), Some(other)) => {
            return Err(ServeError::SecondTask(task.task_id, other.task_id.clone()));
        }
        (ToWorker::Cancel { task_id }, Some(running)) if running.task_id == task_id => {
            running.cancel.cancel();
        }
        (ToWorker::Add { task_id, addition }, Some(running)) if running.task_id == task_id => {
            running.additions.push(*addition);
        }
        // The message will be a task of its own.
        (ToWorker::Add { task_id, .. }, _) => tracing::info!(%task_id, "what was added to runs no more"),
        // Its result has already been sent.
        (ToWorker::Cancel { task_id }, _) => tracing::info!(%task_id, "the cancelled task is not running"),
    }
    Ok(())
}

fn start(task: Task, agents: &Agents, outgoing: &mpsc::Sender<FromWorker>) -> Running {
    let (task_id, attempt, cancel) = (task.task_id.clone(), task.attempt, CancellationToken::new());
    let (agents, cancelled) = (agents.clone(), cancel.clone());
    let events = EventSink::new(outgoing.clone(), task_id.clone());
    let language = task.language.as_deref().and_then(Language::of_code).unwrap_or_default();
    let spent = task.parked.as_ref().map(|parked| parked.spent).unwrap_or_default();
    let clock = Arc::new(WallClock::go_on(Duration::from_millis(spent.wall_ms), Some(PATIENCE)));
    let its_clock = Arc::clone(&clock);
    let additions = Additions::new(&task.additions);
    let its_own = additions.clone();
    let work =
        tokio::spawn(async move { agents.run(&task, (&events, &its_own), &its_clock, &cancelled).await });
    Running { task_id, attempt, cancel, additions, clock, work, language }
}

/// The result of the running task; never resolves when there is none.
async fn ended(running: &mut Option<Running>) -> TaskResult {
    let Some(Running { task_id, attempt, work, language, .. }) = running else {
        return std::future::pending().await;
    };
    let outcome = work.await.unwrap_or_else(|panic| {
        tracing::error!(%panic, %task_id, "the task panicked");
        let (error, told) =
            (Text::WorkerInternal.to(Language::English), Some(Text::WorkerInternal.to(*language)));
        Outcome::Failed { error, told, retryable: true, retry_after_ms: None }
    });
    TaskResult { task_id: task_id.clone(), attempt: *attempt, outcome }
}

async fn send(outgoing: &mpsc::Sender<FromWorker>, message: FromWorker) -> Result<(), ServeError> {
    outgoing.send(message).await.map_err(|_| ServeError::StdoutClosed)
}

/// The messages that arrive. The channel ends with the input or after the first error.
fn incoming(input: impl AsyncRead + Unpin + Send + 'static) -> mpsc::Receiver<Result<ToWorker, ServeError>> {
    let (sender, receiver) = mpsc::channel(WAITING_LINES);
    tokio::spawn(async move {
        let mut input = BufReader::new(input);
        while let Some(message) = next(&mut input).await.transpose() {
            let last = message.is_err();
            if sender.send(message).await.is_err() || last {
                break;
            }
        }
    });
    receiver
}

/// Writes messages in the order in which they are sent. The channel closes when its reader has gone.
fn outgoing(mut output: impl AsyncWrite + Unpin + Send + 'static) -> mpsc::Sender<FromWorker> {
    let (sender, mut receiver) = mpsc::channel(WAITING_LINES);
    tokio::spawn(async move {
        while let Some(message) = receiver.recv().await {
            if let Err(error) = write(&mut output, &message).await {
                tracing::error!(%error, "cannot write to stdout");
                break;
            }
        }
    });
    sender
}

/// The next message; none at the end of the input. A last line without a newline was cut off when the
/// supervisor died, and counts as the end.
async fn next(input: &mut (impl AsyncBufReadExt + Unpin)) -> Result<Option<ToWorker>, ServeError> {
    let limit = u64::try_from(MAX_LINE_BYTES).unwrap_or(u64::MAX);
    let mut line = Vec::new();
    input.take(limit).read_until(b'\n', &mut line).await.map_err(ServeError::Unreadable)?;
    if line.last() != Some(&b'\n') {
        return if line.len() < MAX_LINE_BYTES { Ok(None) } else { Err(ServeError::TooLong) };
    }
    serde_json::from_slice(&line).map(Some).map_err(ServeError::Malformed)
}

async fn write(output: &mut (impl AsyncWrite + Unpin), message: &FromWorker) -> std::io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    output.write_all(&line).await?;
    output.flush().await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_endless_line_is_refused_and_one_that_was_cut_off_is_the_end() {
        let mut messages = incoming(tokio::io::repeat(b' '));
        assert!(matches!(messages.recv().await, Some(Err(ServeError::TooLong))));
        let mut messages = incoming(&b"{\"type\":\"cancel\",\"task_id\":\"a\"}\n{\"type\":\"canc"[..]);
        assert!(matches!(messages.recv().await, Some(Ok(ToWorker::Cancel { .. }))));
        assert!(messages.recv().await.is_none());
    }
}
