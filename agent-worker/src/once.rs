//! `agent-worker once`: runs one task by hand, with the reply on stdout and the events in the log.

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::Context;
use protocol::{FromWorker, Outcome, Task, visible};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::additions::Additions;
use crate::agent::Agents;
use crate::event_sink::EventSink;
use crate::wall_clock::WallClock;

/// Works on `text` as if a user had written it, and prints the reply.
pub async fn run(agents: &Agents, text: &str) -> anyhow::Result<ExitCode> {
    let task = Task::new(text);
    let (sender, receiver) = mpsc::channel(1);
    let events = EventSink::new(sender, task.task_id.clone());
    let never = CancellationToken::new();
    tokio::spawn(log(receiver));
    match agents.run(&task, (&events, &Additions::default()), &WallClock::start(), &never).await {
        Outcome::Done { reply, .. } => {
            writeln!(std::io::stdout(), "{}", visible::escaped(&reply)).context("cannot print the reply")?;
            Ok(ExitCode::SUCCESS)
        }
        Outcome::Failed { error, .. } | Outcome::Cancelled { reply: error } => anyhow::bail!(error),
        Outcome::Parked(_) => anyhow::bail!("A call waits for the approval of a person."),
    }
}

async fn log(mut messages: mpsc::Receiver<FromWorker>) {
    while let Some(message) = messages.recv().await {
        if let FromWorker::Event { event } = message {
            tracing::info!(payload = %event.body.payload(), "{}", event.body.event_type());
        }
    }
}
