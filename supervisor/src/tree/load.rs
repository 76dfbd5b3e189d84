//! Reads the events for a tree.

use protocol::Event;
use store::Location;
use store::events::{self, COLUMNS};
use store::queries::{self, QueryError, short_id};
use store::sql::{Connection, params_from_iter};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    NewestTask,
    Task(String),
    /// One event and everything below it.
    Event(String),
    All,
}

/// The events of a scope in the order in which they were stored, with their ancestors.
pub fn load(database: &Location, scope: &Scope) -> Result<Vec<Event>, QueryError> {
    let connection = queries::open(database)?;
    let events = match scope {
        Scope::All => query(&connection, &format!("select {COLUMNS} from events order by seq"), None)?,
        Scope::Event(id) => below(&connection, id)?,
        Scope::Task(id) => of_named_task(&connection, id)?,
        Scope::NewestTask => of_task(&connection, &newest_task(&connection)?)?,
    };
    if events.is_empty() {
        return Err(QueryError::NoEvents(match scope {
            Scope::All | Scope::NewestTask => "there are no events yet".to_owned(),
            Scope::Task(id) => format!("no such task: {id}. List tasks with `supervisor tasks`"),
            Scope::Event(id) => format!("no such event: {id}"),
        }));
    }
    Ok(events)
}

/// Events may name a task that was never in the inbox: callers of the tool server choose the ID.
fn of_named_task(connection: &Connection, given: &str) -> Result<Vec<Event>, QueryError> {
    match short_id::resolve(connection, given) {
        Ok(id) => Ok(of_task(connection, &id)?),
        Err(QueryError::NoTask(_)) => Ok(of_task(connection, given)?),
        Err(error) => Err(error),
    }
}

fn newest_task(connection: &Connection) -> Result<String, QueryError> {
    let sql = "select task_id from events where type = 'task.queued' order by seq desc limit 1";
    let found = connection.query_optional(sql, [], |row| row.get(0))?;
    found.ok_or_else(|| QueryError::NoEvents("there are no tasks yet; `--all` shows all events".to_owned()))
}

fn of_task(connection: &Connection, task: &str) -> Result<Vec<Event>, store::sql::Error> {
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

fn below(connection: &Connection, event: &str) -> Result<Vec<Event>, store::sql::Error> {
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

fn query(
    connection: &Connection,
    sql: &str,
    parameter: Option<&str>,
) -> Result<Vec<Event>, store::sql::Error> {
    connection.query_all(sql, params_from_iter(parameter), events::from_row)
}
