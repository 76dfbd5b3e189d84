//! Deletes old records: ended tasks with all their events, and events without a task. Open tasks and unsent
//! messages are never touched.
//!
//! Each call deletes a small batch, so that the writer is never busy for long.

use serde::{Deserialize, Serialize};

use super::sql::{Connection, params};
use super::{StoreError, kv};

/// A key of `kv` that permits deleting events; it exists only within the transaction that deletes.
const PERMIT: &str = "prune.permit";

/// The most tasks in a batch.
pub(crate) const TASKS_AT_ONCE: i64 = 50;

/// How many events a batch looks at.
pub(crate) const EVENTS_AT_ONCE: i64 = 2000;

/// Tasks that ended before a time with nothing left to send. The newest stays: no row number is used twice.
const OLD_TASKS: &str = "finished_at_ms < ?1 and state in ('done', 'dead', 'cancelled', 'skipped')
    and not exists (select 1 from outbox where outbox.task_id = inbox.id and outbox.state = 'queued')
    and seq < (select max(seq) from inbox)";

/// The events to delete: old, and of no existing task. The newest start stays: it is the root of this run.
const OLD_EVENTS: &str = "time_ms < ?1
    and (task_id is null or not exists (select 1 from inbox where inbox.id = events.task_id))
    and seq <> coalesce((select max(seq) from events where type = 'process.started'), 0)";

/// How much was deleted, or would be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pruned {
    /// Tasks, with their history and outbox.
    pub tasks: i64,
    pub events_of_tasks: i64,
    /// Events without a task: starts and ends of processes, calls made by hand.
    pub other_events: i64,
    /// Full files of the journal.
    pub journal_files: i64,
}

/// What would be deleted. This counts all old events without a task; those with younger children will stay.
pub fn count(connection: &Connection, before_ms: i64) -> Result<Pruned, StoreError> {
    let number = |sql: &str| connection.query_row(sql, [before_ms], |row| row.get::<i64>(0));
    Ok(Pruned {
        tasks: number(&format!("select count(*) from inbox where {OLD_TASKS}"))?,
        events_of_tasks: number(&format!(
            "select count(*) from events where task_id in (select id from inbox where {OLD_TASKS})"
        ))?,
        other_events: number(&format!("select count(*) from events where {OLD_EVENTS}"))?,
        journal_files: 0,
    })
}

/// Deletes a batch of the oldest tasks with everything of theirs. All counts are 0 when none are left.
pub fn tasks(connection: &Connection, before_ms: i64) -> Result<Pruned, StoreError> {
    let sql = format!("select id from inbox where {OLD_TASKS} order by seq limit ?2");
    let ids: Vec<String> = connection.query_all(&sql, params![before_ms, TASKS_AT_ONCE], |row| row.get(0))?;
    let mut pruned = Pruned::default();
    kv::set(connection, PERMIT, "")?;
    for id in &ids {
        let delete = |sql: &str| Ok::<_, StoreError>(connection.execute(sql, [id])?);
        delete("delete from history where task_id = ?1")?;
        delete("delete from outbox where task_id = ?1")?;
        pruned.events_of_tasks += rows_of(delete("delete from events where task_id = ?1")?);
        pruned.tasks += rows_of(delete("delete from inbox where id = ?1")?);
    }
    kv::remove(connection, PERMIT)?;
    Ok(pruned)
}

/// Deletes events up to `until_seq` that have no children any more; newer ones go first, so children go
/// before their parents. Also returns the number of the event to continue from.
pub fn events(connection: &Connection, before_ms: i64, until_seq: i64) -> Result<(Pruned, i64), StoreError> {
    let from_seq = until_seq.saturating_sub(EVENTS_AT_ONCE);
    let sql =
        format!("select seq, id from events where seq > ?2 and seq <= ?3 and {OLD_EVENTS} order by seq desc");
    let old: Vec<(i64, String)> =
        connection
            .query_all(&sql, params![before_ms, from_seq, until_seq], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut pruned = Pruned::default();
    kv::set(connection, PERMIT, "")?;
    for (seq, id) in &old {
        let sql = "delete from events where seq = ?1
                   and not exists (select 1 from events as below where below.parent_id = ?2)";
        pruned.other_events += rows_of(connection.execute(sql, params![seq, id])?);
    }
    kv::remove(connection, PERMIT)?;
    Ok((pruned, from_seq))
}

impl std::ops::AddAssign for Pruned {
    fn add_assign(&mut self, more: Self) {
        self.tasks += more.tasks;
        self.events_of_tasks += more.events_of_tasks;
        self.other_events += more.other_events;
        self.journal_files += more.journal_files;
    }
}

fn rows_of(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use protocol::event::{WorkerExited, WorkerSpawned};

    use super::*;
    use crate::cancel;
    use crate::fixture::{TestDatabase, channels, local_chat, started};

    /// A time after everything that a test does.
    const LATER: i64 = i64::MAX;

    /// Three tasks of one chat, of which the first two are cancelled.
    fn with_tasks() -> TestDatabase {
        let database = TestDatabase::new();
        for number in 0..3 {
            let task = database.enqueue(local_chat(), &format!("say {number}"));
            if number < 2 {
                cancel::task(&database, &channels(), &task, "test").unwrap();
            }
        }
        database
    }

    #[test]
    fn an_ended_task_is_deleted_with_everything_of_it_and_an_open_one_stays_whole() {
        let database = with_tasks();
        let expected = count(&database, LATER).unwrap();
        let gone = tasks(&database, LATER).unwrap();
        assert_eq!((gone.tasks, gone.events_of_tasks), (expected.tasks, expected.events_of_tasks));
        assert_eq!(gone.tasks, 2);
        assert_eq!(database.texts("select text from inbox"), ["say 2"]);
        let left = "select (select count(*) from outbox) + (select count(*) from history)
                        + (select count(*) from kv where key = 'prune.permit')";
        assert_eq!(database.column::<i64>(left), [0]);
        let types = database.texts("select type from events order by seq");
        assert_eq!(types, ["process.started", "task.queued"]);
        assert_eq!(tasks(&database, LATER).unwrap(), Pruned::default());
    }

    #[test]
    fn events_of_an_open_task_stay_even_with_a_permit() {
        let database = with_tasks();
        kv::set(&database, PERMIT, "").unwrap();
        let open = "delete from events where task_id = (select id from inbox where state = 'queued')";
        assert!(database.execute(open, []).unwrap_err().to_string().contains("append-only"));
    }

    #[test]
    fn old_events_without_a_task_are_deleted_from_the_leaves_up_and_this_run_stays() {
        let database = TestDatabase::new();
        let (child, pid) = ("agent-worker".to_owned(), Some(2));
        let run = database.append(started(), None, None);
        let spawned = WorkerSpawned { child: child.clone(), pid };
        let spawned = database.append(spawned, Some(&run), None);
        let exited = WorkerExited { child, pid, status: "exit 0".to_owned(), lived_ms: 1 };
        database.append(exited, Some(&spawned), None);
        database.append(started(), None, None);
        let (gone, next) = events(&database, LATER, 5).unwrap();
        assert_eq!(gone.other_events, 4);
        assert!(next <= 0, "nothing is left below");
        assert_eq!(database.column::<i64>("select seq from events"), [5]);
    }
}
