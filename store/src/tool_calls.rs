//! Tool calls without an end.

use protocol::event::ToolCallInterrupted;
use protocol::{Event, EventId, TaskId};

use super::columns::known;
use super::sql::Connection;
use super::{StoreError, events};

/// The number of the newest event; later ones have higher numbers.
pub fn newest_event(connection: &Connection) -> Result<i64, StoreError> {
    Ok(connection.query_row("select coalesce(max(seq), 0) from events", [], |row| row.get(0))?)
}

/// Marks the calls up to `until_seq` that have no end as interrupted, and counts them.
pub fn mark_interrupted(connection: &Connection, until_seq: i64, reason: &str) -> Result<usize, StoreError> {
    let open = connection.query_all(OPEN, [until_seq], |row| {
        Ok((known::<EventId>(row, 0)?, known::<TaskId>(row, 1)?, row.get(2)?))
    })?;
    let marked = open.len();
    for (call, task, tool_name) in open {
        let interrupted = ToolCallInterrupted { tool_name, error: reason.to_owned() };
        events::append(connection, &Event::now(interrupted, call.as_ref(), task.as_ref()))?;
    }
    Ok(marked)
}

/// The calls without an end up to an event. Triggers keep the table, so that this costs the same however many
/// calls have ended.
const OPEN: &str = "select started.id, started.task_id, started.payload ->> 'tool_name'
    from open_calls cross join events as started on started.id = open_calls.call_id
    where started.seq <= ?1 /* mine: open_calls */ order by started.seq";

#[cfg(test)]
mod tests {

    use super::*;
    use crate::fixture::{TestDatabase, call_completed, call_started};

    #[test]
    fn a_call_without_an_end_is_marked_once_and_an_ended_one_never() {
        let database = TestDatabase::new();
        let ended = database.append(call_started("ls", "."), None, None);
        database.append(call_completed(""), Some(&ended), None);
        database.append(call_started("ls", "."), None, None);
        let until = newest_event(&database).unwrap();
        database.append(call_started("ls", "."), None, None);
        for expected in [1, 0] {
            assert_eq!(mark_interrupted(&database, until, "cut off").unwrap(), expected);
        }
        let states = database.texts("select status from tool_calls order by started_at, id");
        assert_eq!(states, ["done", "interrupted", "running"]);
    }

    #[test]
    fn settling_costs_the_same_however_many_calls_have_ended() {
        let database = TestDatabase::in_a_file();
        for _ in 0..500 {
            let ended = database.append(call_started("ls", "."), None, None);
            database.append(call_completed(""), Some(&ended), None);
        }
        database.append(call_started("ls", "."), None, None);
        let mut statement = database.prepare(OPEN).unwrap();
        let mut rows = statement.query([i64::MAX]).unwrap();
        assert!(rows.next().unwrap().is_some() && rows.next().unwrap().is_none(), "one row");
        drop(rows);
        let steps = statement.steps();
        assert!(steps < 100, "{steps} steps");
        drop(statement);
        assert_eq!(mark_interrupted(&database, i64::MAX, "cut off").unwrap(), 1);
        assert_eq!(mark_interrupted(&database, i64::MAX, "cut off").unwrap(), 0);
    }

    #[test]
    fn a_call_that_ended_after_it_was_given_up_counts_as_ended() {
        let database = TestDatabase::new();
        let call = database.append(call_started("ls", "."), None, None);
        let interrupted = ToolCallInterrupted { tool_name: None, error: "cut off".to_owned() };
        database.append(interrupted, Some(&call), None);
        database.append(call_completed(""), Some(&call), None);
        assert_eq!(database.texts("select status from tool_calls"), ["done"]);
    }
}
