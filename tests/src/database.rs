//! The supervisor's database, opened read-only.

use std::path::{Path, PathBuf};

use protocol::Event;
use protocol::event::EventPayload;
use rusqlite::{Connection, OpenFlags, Row};

/// The database file, opened for each query, so it can be queried whether or not the system runs.
#[derive(Debug, Clone)]
pub struct Database {
    file: PathBuf,
}

impl Database {
    pub fn in_data(data: &Path) -> Self {
        Self { file: data.join("db").join("autonous.db") }
    }

    /// All rows of a query, mapped by `read`; none while the database does not exist.
    pub fn rows<T>(&self, query: &str, read: impl Fn(&Row<'_>) -> rusqlite::Result<T>) -> Vec<T> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let Ok(connection) = Connection::open_with_flags(&self.file, flags) else { return Vec::new() };
        connection.busy_timeout(std::time::Duration::from_secs(5)).expect("a time-out can be set");
        let mut statement =
            connection.prepare(query).unwrap_or_else(|error| panic!("invalid query {query}: {error}"));
        let rows = statement.query_map([], |row| read(row)).expect("the query takes no arguments");
        rows.map(|row| row.unwrap_or_else(|error| panic!("unreadable row of {query}: {error}"))).collect()
    }

    /// The first column of each row, as text.
    pub fn texts(&self, query: &str) -> Vec<String> {
        self.rows(query, |row| row.get(0))
    }

    /// Changes it as no program does: to have what takes long to come about.
    pub fn change(&self, sql: &str) {
        let connection = Connection::open(&self.file).expect("the database exists");
        connection.busy_timeout(std::time::Duration::from_secs(5)).expect("a time-out can be set");
        connection.execute_batch(sql).unwrap_or_else(|error| panic!("{error}: {sql}"));
    }

    pub fn count(&self, query: &str) -> i64 {
        self.rows(query, |row| row.get(0)).first().copied().unwrap_or(0)
    }

    pub fn events(&self) -> Vec<Event> {
        let sql =
            "select json_object('id', id, 'parent_id', parent_id, 'task_id', task_id, 'time_ms', time_ms,
                                      'type', type, 'payload', json(payload)) from events order by seq";
        let events = self.texts(sql).into_iter();
        events
            .map(|row| serde_json::from_str(&row).unwrap_or_else(|error| panic!("{error}: {row}")))
            .collect()
    }

    pub fn payloads<T: EventPayload + Clone>(&self) -> Vec<T> {
        self.events().iter().filter_map(|event| T::of(&event.body).cloned()).collect()
    }

    pub fn has_event(&self, event_type: &str) -> bool {
        self.events().iter().any(|event| event.body.event_type() == event_type)
    }

    pub fn task_states(&self) -> Vec<String> {
        self.texts("select state from inbox order by seq")
    }
}
