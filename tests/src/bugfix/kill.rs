//! The same task with the worker killed after one of its events; each position is a separate run.

use std::path::Path;

use rusqlite::{Connection, OpenFlags};
use rustix::process::Signal;

use super::{ANSWER, Check, Model, REQUEST, assert_repaired, lay_out, system};
use crate::{Database, FakeModel, System, signals, wait};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The newest event when the worker was killed; none if the task had ended before.
    pub killed_after: Option<String>,
    pub events: usize,
    pub attempts: i64,
    pub interrupted: i64,
}

/// Runs the task, kills the worker once the task has this many events, and panics unless there is one answer,
/// each effect happened once, and the tree shows the interruption.
pub fn after_event(position: usize) -> Outcome {
    let model = Model::new(Check::QUICK);
    let server = FakeModel::start(move |request| model.next(request));
    let system = system(&server).start();
    lay_out(&system.workspace());
    let worker = system.child("agent-worker").pid;
    let task = system.say(REQUEST);
    let killed_after = kill_at(&system, worker, position);
    assert_eq!(system.reply(&task), ANSWER, "after event {position} ({killed_after:?})");
    assert_repaired(&system.workspace());
    let database = system.database();
    assert_marked(&database, position);
    if killed_after.is_some() {
        wait::until_true("the worker's exit is in the tree", || database.has_event("worker.exited"));
        let again = database.events_of("retry.scheduled");
        let attempts = database.size("select attempt from inbox");
        assert_eq!(again, attempts - 1, "after event {position}: the tree does not show the interruption");
    }
    Outcome {
        killed_after,
        events: database.size("select count(*) from events where task_id is not null"),
        attempts: database.count("select attempt from inbox"),
        interrupted: database.count("select count(*) from tool_calls where status = 'interrupted'"),
    }
}

pub fn undisturbed() -> usize {
    after_event(usize::MAX).events
}

/// Polls without a pause, because the next event comes within a millisecond or two.
fn kill_at(system: &System, worker: u32, position: usize) -> Option<String> {
    let connection = open(&system.dir().data().join("db/autonous.db"));
    let mut look = connection
        .prepare(
            "select count(*), max(type) filter (where seq = (select max(seq) from events where task_id \
                  is not null)), count(*) filter (where type = 'task.done') from events where task_id is \
                  not null",
        )
        .expect("the table events exists");
    let end = std::time::Instant::now() + wait::SOON;
    while std::time::Instant::now() < end {
        let (count, newest, done): (usize, Option<String>, bool) = look
            .query_row([], |row| {
                Ok((usize::try_from(row.get::<_, i64>(0)?).unwrap_or_default(), row.get(1)?, row.get(2)?))
            })
            .expect("the events can be counted");
        if done {
            return None;
        }
        if count >= position {
            signals::send(worker, Signal::KILL);
            return newest;
        }
        std::thread::yield_now();
    }
    panic!("the task reached neither event {position} nor its end:\n{}", system.log_tail());
}

fn open(database: &Path) -> Connection {
    let connection = Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_ONLY);
    let connection = connection.expect("a running system has a database");
    connection.busy_timeout(wait::SOON).expect("a time-out can be set");
    connection
}

/// Checks that no successful call with an effect was repeated, that every call has ended, and that the task
/// was answered once.
fn assert_marked(database: &Database, position: usize) {
    let again = "select call.tool_name || ' ' || call.arguments_json from tool_calls as call
                 join tool_calls as later on later.tool_name = call.tool_name
                     and later.arguments_json = call.arguments_json and later.started_at > call.started_at
                 where call.tool_name in ('edit', 'write') and call.status = 'done'";
    assert_eq!(database.texts(again), Vec::<String>::new(), "after event {position}: repeated calls");
    let running = "select tool_name from tool_calls where status in ('running', 'queued')";
    wait::until_true("every call has ended", || database.texts(running).is_empty());
    assert_eq!(database.task_states(), ["done"], "after event {position}");
    assert_eq!(database.count("select count(*) from outbox"), 1, "after event {position}");
}
