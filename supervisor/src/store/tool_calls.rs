//! Tool calls without an end.

use protocol::event::ToolCallInterrupted;
use protocol::{Event, EventId, TaskId};
use rusqlite::{Connection, params};

use super::{StoreError, events, kv};

/// The number of the newest event; later ones have higher numbers.
pub(crate) fn newest_event(connection: &Connection) -> Result<i64, StoreError> {
    Ok(connection.query_row("select coalesce(max(seq), 0) from events", [], |row| row.get(0))?)
}

/// Marks unsettled calls up to `until_seq` that have no end as interrupted, and counts them.
pub(crate) fn mark_interrupted(
    connection: &Connection,
    until_seq: i64,
    reason: &str,
) -> Result<usize, StoreError> {
    let settled: i64 = kv::get(connection, kv::SETTLED_EVENTS)?.and_then(|seq| seq.parse().ok()).unwrap_or(0);
    let sql = "select started.id, started.task_id, started.payload ->> 'tool_name' from events as started
               where started.type = 'tool_call.started' and started.seq > ?1 and started.seq <= ?2
               and not exists (
                   select 1 from events as ended
                   where ended.parent_id = started.id and ended.type in
                       ('tool_call.completed', 'tool_call.failed', 'tool_call.interrupted'))";
    let mut query = connection.prepare_cached(sql)?;
    let rows = query.query_map(params![settled, until_seq], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, Option<String>>(1)?, row.get::<_, Option<String>>(2)?))
    })?;
    let open = rows.collect::<Result<Vec<_>, _>>()?;
    let marked = open.len();
    for (call, task, tool_name) in open {
        let call: Option<EventId> = call.parse().ok();
        let task: Option<TaskId> = task.as_deref().and_then(|task| task.parse().ok());
        let interrupted = ToolCallInterrupted { tool_name, error: reason.to_owned() };
        events::append(connection, &Event::now(interrupted, call.as_ref(), task.as_ref()))?;
    }
    kv::set(connection, kv::SETTLED_EVENTS, &settled.max(until_seq).to_string())?;
    Ok(marked)
}

/// What the skills that a task has read allow it together; none if it has read none that says.
pub(crate) fn allowed_tools(
    connection: &Connection,
    task: &TaskId,
) -> Result<Option<Vec<String>>, StoreError> {
    let sql = "select payload -> 'allowed_tools' from events indexed by events_task
               where task_id = ?1 and type = 'tool_call.completed'
               and payload -> 'allowed_tools' is not null";
    let mut query = connection.prepare_cached(sql)?;
    let lists = query.query_map([task.as_str()], |row| row.get::<_, String>(0))?;
    let mut allowed: Option<Vec<String>> = None;
    for list in lists {
        let list: Vec<String> = serde_json::from_str(&list?)?;
        allowed = Some(match allowed {
            Some(before) => before.into_iter().filter(|name| list.contains(name)).collect(),
            None => list,
        });
    }
    Ok(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::fixture::{TestDatabase, call_completed, call_started, test_chat};

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
    fn a_call_that_ended_after_it_was_given_up_counts_as_ended() {
        let database = TestDatabase::new();
        let call = database.append(call_started("ls", "."), None, None);
        let interrupted = ToolCallInterrupted { tool_name: None, error: "cut off".to_owned() };
        database.append(interrupted, Some(&call), None);
        database.append(call_completed(""), Some(&call), None);
        assert_eq!(database.texts("select status from tool_calls"), ["done"]);
    }

    #[test]
    fn what_skills_allow_gets_shorter_and_is_that_of_one_task() {
        let database = TestDatabase::new();
        let [task, other] = [0, 1].map(|chat| database.enqueue(test_chat(chat), "hello"));
        assert_eq!(allowed_tools(&database, &task).unwrap(), None);
        for names in [&["read", "ls", "skill"][..], &["skill", "read", "bash"]] {
            let mut read = call_completed("");
            read.call.allowed_tools = Some(names.iter().map(|name| (*name).to_owned()).collect());
            database.append(read, None, Some(&task));
        }
        database.append(call_completed(""), None, Some(&task));
        assert_eq!(
            allowed_tools(&database, &task).unwrap(),
            Some(vec!["read".to_owned(), "skill".to_owned()])
        );
        assert_eq!(allowed_tools(&database, &other).unwrap(), None);
    }
}
