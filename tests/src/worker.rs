//! The agent worker alone, as the supervisor sees it: lines in, lines out, an exit code.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};

use protocol::event::EventPayload;
use protocol::{Event, FromWorker, Outcome, Task, ToWorker};

use crate::{binaries, wait};

/// A running worker; it is killed when it is dropped.
#[derive(Debug)]
pub struct Worker {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: Receiver<String>,
}

#[derive(Debug)]
pub struct TaskRun {
    pub events: Vec<Event>,
    pub outcome: Outcome,
}

pub fn task(text: &str) -> Task {
    Task {
        session_id: "chat:7".parse().expect("that is a session"),
        roots: vec!["/work/space".to_owned()],
        date: "2026-01-31".to_owned(),
        ..Task::new(text)
    }
}

/// The worker's command with only these variables.
pub fn command(variables: impl IntoIterator<Item = (impl AsRef<OsStr>, impl AsRef<OsStr>)>) -> Command {
    let mut command = Command::new(binaries::path_of("agent-worker"));
    command.env_clear().envs(variables);
    command
}

impl Worker {
    /// Starts a worker with only these variables.
    pub fn start(variables: impl IntoIterator<Item = (impl AsRef<OsStr>, impl AsRef<OsStr>)>) -> Self {
        let mut command = command(variables);
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = child.expect("the worker's binary starts");
        let output = BufReader::new(child.stdout.take().expect("it is piped"));
        let (sender, stdout) = mpsc::channel();
        std::thread::spawn(move || {
            let mut lines = output.lines().map_while(Result::ok);
            lines.try_for_each(|line| sender.send(line))
        });
        Self { stdin: child.stdin.take(), stdout, child }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn send_line(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().expect("its stdin is open");
        stdin.write_all(format!("{line}\n").as_bytes()).expect("the worker reads");
    }

    pub fn send(&mut self, message: &ToWorker) {
        self.send_line(&serde_json::to_string(message).expect("a message is JSON"));
    }

    pub fn send_task(&mut self, task: &Task) {
        self.send(&ToWorker::Task(Box::new(task.clone())));
    }

    pub fn cancel(&mut self, task: &Task) {
        self.send(&ToWorker::Cancel { task_id: task.task_id.clone() });
    }

    /// The next line; none if the worker has closed its output.
    pub fn next_line(&mut self) -> Option<FromWorker> {
        let line = match self.stdout.recv_timeout(wait::SOON) {
            Ok(line) => line,
            Err(RecvTimeoutError::Disconnected) => return None,
            Err(RecvTimeoutError::Timeout) => panic!("the worker writes nothing"),
        };
        Some(serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}")))
    }

    /// Waits for an event of this type, and returns it.
    pub fn wait_for<T: EventPayload>(&mut self) -> Event {
        loop {
            match self.next_line().expect("the worker has not ended") {
                FromWorker::Event { event } if T::of(&event.body).is_some() => return event,
                FromWorker::Event { .. }
                | FromWorker::Heartbeat { .. }
                | FromWorker::Added { .. }
                | FromWorker::Words { .. } => {}
                other @ FromWorker::Result(_) => {
                    panic!("no {} before {other:?}", T::TYPE)
                }
            }
        }
    }

    pub fn wait_for_result(&mut self, task: &Task) -> TaskRun {
        let mut events = Vec::new();
        loop {
            match self.next_line().expect("the worker has not ended") {
                FromWorker::Event { event } => events.push(event),
                FromWorker::Heartbeat { .. } | FromWorker::Added { .. } | FromWorker::Words { .. } => {}
                FromWorker::Result(result) => {
                    assert_eq!((&result.task_id, result.attempt), (&task.task_id, task.attempt));
                    return TaskRun { events, outcome: result.outcome };
                }
            }
        }
    }

    pub fn run(&mut self, task: &Task) -> TaskRun {
        self.send_task(task);
        self.wait_for_result(task)
    }

    /// Closes its stdin, as when the supervisor ends.
    pub fn close_stdin(&mut self) {
        self.stdin = None;
    }

    pub fn exit_code(mut self) -> Option<i32> {
        let ended = || self.child.try_wait().expect("the child is ours to wait for");
        wait::until("the worker ends", ended).code()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl TaskRun {
    pub fn types(&self) -> Vec<&str> {
        self.events.iter().map(|event| event.body.event_type()).collect()
    }

    /// The reply; panics if the task has failed.
    pub fn reply(&self) -> &str {
        match &self.outcome {
            Outcome::Done { reply, .. } | Outcome::Cancelled { reply } => reply,
            Outcome::Failed { error, .. } => panic!("the task failed: {error}"),
            Outcome::Parked(parked) => panic!("the task waits for a person: {parked:?}"),
        }
    }

    /// The error, and whether it can be retried; panics if the task has not failed.
    pub fn failure(&self) -> (&str, bool) {
        match &self.outcome {
            Outcome::Failed { error, retryable, .. } => (error, *retryable),
            other => panic!("the task did not fail: {other:?}"),
        }
    }

    pub fn events_of<T: EventPayload>(&self) -> Vec<(&Event, &T)> {
        self.events.iter().filter_map(|event| Some((event, T::of(&event.body)?))).collect()
    }
}
