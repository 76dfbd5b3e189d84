//! Reads the events that a tree is made of.

use std::path::Path;

use protocol::Event;
use rusqlite::{Connection, OptionalExtension, params_from_iter};

use crate::queries::{self, QueryError, short_id};
use crate::store::events::{self, COLUMNS};

/// Which events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// The newest task's.
    NewestTask,
    /// One task's.
    Task(String),
    /// One event and all below it.
    Event(String),
    /// All.
    All,
}

/// Why there is no tree.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// There is nothing to show.
    #[error("{0}")]
    Nothing(String),
    /// The database could not be asked.
    #[error(transparent)]
    Look(#[from] QueryError),
    /// A query failed.
    #[error("the database could not be read")]
    Sqlite(#[from] rusqlite::Error),
}

/// The events of a scope, in the order in which they were stored, with all that they happened under.
pub fn load(path: &Path, scope: &Scope) -> Result<Vec<Event>, LoadError> {
    let connection = queries::open(path)?;
    let events = match scope {
        Scope::All => query(&connection, &format!("select {COLUMNS} from events order by seq"), None)?,
        Scope::Event(id) => below(&connection, id)?,
        Scope::Task(id) => of_named_task(&connection, id)?,
        Scope::NewestTask => of_task(&connection, &newest_task(&connection)?)?,
    };
    if events.is_empty() {
        return Err(LoadError::Nothing(match scope {
            Scope::All | Scope::NewestTask => "nothing has happened yet".to_owned(),
            Scope::Task(id) => format!("there is no task {id}"),
            Scope::Event(id) => format!("there is no event {id}"),
        }));
    }
    Ok(events)
}

/// Events may name a task that never was in the inbox: a caller of the tool server says what it likes.
fn of_named_task(connection: &Connection, given: &str) -> Result<Vec<Event>, LoadError> {
    match short_id::resolve(connection, given) {
        Ok(id) => Ok(of_task(connection, &id)?),
        Err(QueryError::NoTask(_)) => Ok(of_task(connection, given)?),
        Err(error) => Err(error.into()),
    }
}

fn newest_task(connection: &Connection) -> Result<String, LoadError> {
    let sql = "select task_id from events where type = 'task.queued' order by seq desc limit 1";
    let found = connection.query_row(sql, [], |row| row.get(0)).optional()?;
    found.ok_or_else(|| LoadError::Nothing("there is no task yet; `--all` shows everything".to_owned()))
}

fn of_task(connection: &Connection, task: &str) -> Result<Vec<Event>, rusqlite::Error> {
    let sql = format!(
        "with recursive wanted (id) as (
             select id from events where task_id = ?1
             union
             select parent.id from wanted
             join events as child on child.id = wanted.id
             join events as parent on parent.id = child.parent_id
         )
         select {COLUMNS} from events where id in (select id from wanted) order by seq"
    );
    query(connection, &sql, Some(task))
}

fn below(connection: &Connection, event: &str) -> Result<Vec<Event>, rusqlite::Error> {
    let sql = format!(
        "with recursive wanted (id) as (
             select id from events where id = ?1
             union
             select child.id from wanted join events as child on child.parent_id = wanted.id
         )
         select {COLUMNS} from events where id in (select id from wanted) order by seq"
    );
    query(connection, &sql, Some(event))
}

fn query(connection: &Connection, sql: &str, parameter: Option<&str>) -> Result<Vec<Event>, rusqlite::Error> {
    connection.prepare(sql)?.query_map(params_from_iter(parameter), events::from_row)?.collect()
}
