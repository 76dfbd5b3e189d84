//! Events: rows that are added and never changed.

use protocol::event::{EventPayload, ProcessStarted};
use protocol::{Event, EventBody, EventId, TaskId};
use serde_json::Value;

use super::StoreError;
use super::columns::{known, parsed};
use super::sql::{self, Connection, Params, Row, params};

/// Adds an event. One whose ID is stored is left as it is, so it is safe to repeat this after a crash.
pub fn append(connection: &Connection, event: &Event) -> Result<(), StoreError> {
    let sql = "insert into events (id, parent_id, task_id, type, time_ms, payload)
               values (?1, ?2, ?3, ?4, ?5, ?6) on conflict (id) do nothing";
    let values = params![
        event.id.as_str(),
        event.parent_id.as_ref().map(EventId::as_str),
        event.task_id.as_ref().map(TaskId::as_str),
        event.body.event_type(),
        event.time_ms,
        object(event.body.payload()).to_string(),
    ];
    connection.execute(sql, values)?;
    Ok(())
}

/// Adds an event of a task that happens now, and returns its ID.
pub(crate) fn record(
    connection: &Connection,
    body: impl Into<EventBody>,
    parent: Option<&EventId>,
    task: &TaskId,
) -> Result<EventId, StoreError> {
    let event = Event::now(body, parent, Some(task));
    append(connection, &event)?;
    Ok(event.id)
}

/// The ID of a task's newest event of a type.
pub(crate) fn newest_of<T: EventPayload>(
    connection: &Connection,
    task: &TaskId,
) -> Result<Option<EventId>, StoreError> {
    let sql = "select id from events where task_id = ?1 and type = ?2 order by seq desc limit 1";
    newest(connection, sql, params![task.as_str(), T::TYPE])
}

/// The time of the newest event.
pub fn newest_time(connection: &Connection) -> Result<Option<i64>, StoreError> {
    let sql = "select time_ms from events order by seq desc limit 1";
    Ok(connection.query_optional(sql, [], |row| row.get(0))?)
}

/// The newest `process.started`: what commands do while no supervisor runs is recorded under the last run.
pub fn newest_run(connection: &Connection) -> Result<Option<EventId>, StoreError> {
    let sql = "select id from events where type = ?1 order by seq desc limit 1";
    newest(connection, sql, [ProcessStarted::TYPE])
}

fn newest(
    connection: &Connection,
    sql: &str,
    parameters: impl Params,
) -> Result<Option<EventId>, StoreError> {
    Ok(connection.query_optional(sql, parameters, |row| known(row, 0))?.flatten())
}

/// The columns that [`from_row`] reads.
pub const COLUMNS: &str = "id, parent_id, task_id, type, payload, time_ms";

/// Reads an event from a row with the [`COLUMNS`].
pub fn from_row(row: &Row<'_>) -> sql::Result<Event> {
    let is_null = |column| Ok::<_, sql::Error>(row.get_ref(column)? == sql::ValueRef::Null);
    Ok(Event {
        id: parsed(row, 0)?,
        parent_id: if is_null(1)? { None } else { Some(parsed(row, 1)?) },
        task_id: if is_null(2)? { None } else { Some(parsed(row, 2)?) },
        body: body(row, 3)?,
        time_ms: row.get(5)?,
    })
}

/// Reads an event's body from a column with its type and the next one with its payload.
pub(crate) fn body(row: &Row<'_>, column: usize) -> sql::Result<EventBody> {
    let payload: String = row.get(column + 1)?;
    let payload =
        serde_json::from_str(&payload).map_err(|error| sql::Error::unreadable(column + 1, error))?;
    Ok(EventBody::new(row.get(column)?, payload))
}

/// The table takes only objects; any other payload is put into one.
fn object(payload: Value) -> Value {
    match payload {
        Value::Object(_) => payload,
        Value::Null => Value::Object(serde_json::Map::new()),
        other => serde_json::json!({ "value": other }),
    }
}

#[cfg(test)]
mod tests {
    use protocol::event::TaskClaimed;
    use serde_json::json;

    use super::*;
    use crate::fixture::TestDatabase;

    #[test]
    fn an_event_can_be_neither_changed_nor_deleted() {
        let database = TestDatabase::new();
        for sql in ["update events set type = 'a.b'", "delete from events"] {
            let refused = database.execute(sql, []).unwrap_err();
            assert!(refused.to_string().contains("append-only"), "{sql}");
        }
    }

    #[test]
    fn an_event_that_comes_twice_is_kept_once() {
        let database = TestDatabase::new();
        let event = Event::now(TaskClaimed { attempt: 1, node: None }, None, None);
        for _ in 0..2 {
            append(&database, &event).unwrap();
        }
        let rows = "select count(*) from events where type = 'task.claimed'";
        assert_eq!(database.column::<i64>(rows), [1]);
    }

    #[test]
    fn a_payload_that_is_not_an_object_is_put_into_one() {
        let database = TestDatabase::new();
        database.append(EventBody::new("turn.started".to_owned(), json!([1])), None, None);
        let payload = database.texts("select payload from events order by seq desc limit 1");
        assert_eq!(payload, [r#"{"value":[1]}"#]);
    }
}
