//! Events as they are stored, for somebody who watches. Works whether or not a supervisor runs.

use protocol::{Event, EventId};

use super::{QueryError, short_id};
use crate::Location;
use crate::approvals;
use crate::events::{self, COLUMNS};
use crate::sql::{Connection, Row, params};

/// The most events that are read at once.
const PAGE: usize = 500;

/// The position of one who watches.
#[derive(Debug)]
pub struct Watcher {
    connection: Connection,
    /// None for all tasks, and what belongs to none.
    task: Option<String>,
    /// The last event that was read.
    seq: i64,
}

impl Watcher {
    /// Watches a task from its first event on; its ID may be shortened.
    pub fn of_task(location: impl Into<Location>, given: &str) -> Result<Self, QueryError> {
        let connection = super::open(location)?;
        let task = Some(short_id::resolve(&connection, given)?);
        Ok(Self { connection, task, seq: 0 })
    }

    /// Watches everything from now on.
    pub fn from_now(location: impl Into<Location>) -> Result<Self, QueryError> {
        let connection = super::open(location)?;
        let seq = connection.query_row("select coalesce(max(seq), 0) from events", [], |row| row.get(0))?;
        Ok(Self { connection, task: None, seq })
    }

    /// What came since the last time, and nothing if nothing did.
    pub fn newer(&mut self) -> Result<Vec<Event>, QueryError> {
        let mut all = Vec::new();
        loop {
            let page = self.page()?;
            let is_last = page.len() < PAGE;
            for (event, seq) in page {
                self.seq = seq;
                all.push(event);
            }
            if is_last {
                return Ok(all);
            }
        }
    }

    /// The event with this ID.
    pub fn event(&self, id: &EventId) -> Result<Option<Event>, QueryError> {
        let sql = format!("select {COLUMNS} from events where id = ?1");
        Ok(self.connection.query_optional(&sql, [id.as_str()], events::from_row)?)
    }

    /// Whether the task has ended; false for everything.
    pub fn has_ended(&self) -> Result<bool, QueryError> {
        let Some(task) = &self.task else { return Ok(false) };
        let sql = "select state not in ('queued', 'in_progress') from inbox where id = ?1";
        Ok(self.connection.query_row(sql, [task], |row| row.get(0))?)
    }

    /// Whether the supervisor asked somebody in a chat about this approval; none if the database cannot be
    /// read.
    pub fn has_asked_in_a_chat(&self, approval: &EventId) -> Option<bool> {
        approvals::was_asked(&self.connection, approval).ok()
    }

    fn page(&self) -> crate::sql::Result<Vec<(Event, i64)>> {
        let read = |row: &Row<'_>| Ok((events::from_row(row)?, row.get(6)?));
        let (of_task, values) = match &self.task {
            Some(task) => ("task_id = ?2 and", params![self.seq, *task]),
            None => ("", params![self.seq]),
        };
        let sql =
            format!("select {COLUMNS}, seq from events where {of_task} seq > ?1 order by seq limit {PAGE}");
        self.connection.query_all(&sql, values, read)
    }
}

#[cfg(test)]
mod tests {
    use protocol::event::TaskClaimed;

    use super::*;
    use crate::fixture::TestDatabase;

    #[test]
    fn each_event_is_read_once_and_in_order_however_many_there_are() {
        let database = TestDatabase::new();
        let mut watcher = Watcher::from_now(database.location()).unwrap();
        assert!(watcher.newer().unwrap().is_empty());
        for attempt in 1..=1201 {
            database.append(TaskClaimed { attempt, node: None }, None, None);
        }
        let read = watcher.newer().unwrap();
        let attempts: Vec<u64> = read.iter().map(|e| e.body.payload()["attempt"].as_u64().unwrap()).collect();
        assert_eq!(attempts, (1..=1201).collect::<Vec<_>>());
        assert!(watcher.newer().unwrap().is_empty() && !watcher.has_ended().unwrap());
        database.append(TaskClaimed { attempt: 7, node: None }, None, None);
        assert_eq!(watcher.newer().unwrap().len(), 1);
    }
}
