//! The worker's process as the supervisor sees it: lines in, lines out, an exit code.
//!
//! Its environment is built from nothing. Whoever waits for it waits with a deadline.

use std::process::Stdio;
use std::time::Duration;

use protocol::event::EventPayload;
use protocol::{EarlierAttempts, Event, EventId, FromWorker, Outcome, SessionId, Task, TaskId, ToWorker};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

/// Longer than anything here takes, even on a busy machine.
const DEADLINE: Duration = Duration::from_secs(30);

/// A running worker; it is killed when it is dropped.
pub(crate) struct Worker {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: Lines<BufReader<ChildStdout>>,
}

/// What one task led to.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) events: Vec<Event>,
    pub(crate) outcome: Outcome,
}

/// The worker's command with these variables and no others.
pub(crate) fn command(variables: &[(&str, &str)]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_agent-worker"));
    command.env_clear().envs(variables.iter().copied()).kill_on_drop(true);
    command
}

/// A task with this text.
pub(crate) fn task(text: &str) -> Task {
    Task {
        task_id: TaskId::new(),
        attempt: 1,
        session_id: "chat:7".parse::<SessionId>().unwrap(),
        parent_event_id: EventId::new(),
        text: text.to_owned(),
        history: Vec::new(),
        earlier: EarlierAttempts::default(),
        system_prompt: None,
        roots: vec!["/work/space".to_owned()],
        date: "2026-01-31".to_owned(),
    }
}

/// Waits for something, but not for ever.
pub(crate) async fn soon<T>(what: impl Future<Output = T>) -> T {
    timeout(DEADLINE, what).await.expect("the deadline passed")
}

impl Worker {
    pub(crate) fn start(variables: &[(&str, &str)]) -> Self {
        let mut command = command(variables);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { stdin: child.stdin.take(), stdout, child }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id().unwrap()
    }

    pub(crate) async fn send_line(&mut self, line: &str) {
        self.stdin.as_mut().unwrap().write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    pub(crate) async fn send(&mut self, message: &ToWorker) {
        self.send_line(&serde_json::to_string(message).unwrap()).await;
    }

    pub(crate) async fn send_task(&mut self, task: &Task) {
        self.send(&ToWorker::Task(Box::new(task.clone()))).await;
    }

    /// The next line, whatever it is; none when the worker closed its output.
    pub(crate) async fn next(&mut self) -> Option<FromWorker> {
        let line = soon(self.stdout.next_line()).await.unwrap()?;
        Some(serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}")))
    }

    /// Reads on until this event comes, and returns it.
    pub(crate) async fn until<T: EventPayload>(&mut self) -> Event {
        loop {
            match self.next().await.expect("the worker ended") {
                FromWorker::Event { event } if T::of(&event.body).is_some() => return event,
                FromWorker::Event { .. } | FromWorker::Heartbeat { .. } => {}
                FromWorker::Result(result) => panic!("no {} before {result:?}", T::TYPE),
            }
        }
    }

    /// Reads on until a task's result.
    pub(crate) async fn ended(&mut self, task: &Task) -> Ended {
        let mut events = Vec::new();
        loop {
            match self.next().await.expect("the worker ended") {
                FromWorker::Event { event } => events.push(event),
                FromWorker::Heartbeat { .. } => {}
                FromWorker::Result(result) => {
                    assert_eq!((&result.task_id, result.attempt), (&task.task_id, task.attempt));
                    return Ended { events, outcome: result.outcome };
                }
            }
        }
    }

    pub(crate) async fn run(&mut self, task: &Task) -> Ended {
        self.send_task(task).await;
        self.ended(task).await
    }

    pub(crate) fn close_stdin(&mut self) {
        self.stdin = None;
    }

    pub(crate) async fn exit_code(mut self) -> Option<i32> {
        soon(self.child.wait()).await.unwrap().code()
    }
}

impl Ended {
    pub(crate) fn types(&self) -> Vec<&str> {
        self.events.iter().map(|event| event.body.event_type()).collect()
    }

    pub(crate) fn reply(&self) -> &str {
        match &self.outcome {
            Outcome::Done { reply } | Outcome::Cancelled { reply } => reply,
            Outcome::Failed { error, .. } => panic!("the task failed: {error}"),
        }
    }

    /// The events of one type, with their payloads.
    pub(crate) fn of<T: EventPayload>(&self) -> Vec<(&Event, &T)> {
        self.events.iter().filter_map(|event| Some((event, T::of(&event.body)?))).collect()
    }
}
