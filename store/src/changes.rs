//! The changes of files that can be undone, from the events of the tool server's journal.

use channel::Chat;
use protocol::{EventId, SessionId, TaskId};
use serde::Serialize;

use super::StoreError;
use super::columns::parsed;
use super::sql::{self, Connection, OptionalExtension as _, Row, params};

/// How many of a chat's newest tasks are looked at for one that changed something.
const TASKS: i64 = 100;

/// How many of the newest calls are looked at for one whose ID ends as given.
const CALLS: i64 = 10_000;

/// A call that changed a file, and whose change holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChangedFile {
    pub call_id: EventId,
    pub session_id: SessionId,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    pub path: String,
    /// No undo of it is recorded. One that was cut off may have been made all the same.
    #[serde(skip)]
    pub holds: bool,
}

/// What a chat's last task that changed something is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LastChanged {
    Task(TaskId),
    /// One that has not ended.
    Running,
    None,
}

/// An undo stands below the call that it undoes, and can itself be undone.
const HOLDS: &str = "with recursive undo(call, depth) as (
        select id, 0 from events where id = ?1
        union all
        select started.id, depth + 1 from undo
        join events as started on started.parent_id = undo.call and started.type = 'tool_call.started'
            and started.payload ->> 'tool_name' = 'undo'
        join events as ended on ended.parent_id = started.id and ended.type = 'tool_call.completed'
            and ended.payload ->> 'undone_call_id' = undo.call and ended.payload ->> 'operation' is not null
            and cast(ended.payload ->> 'exit_code' as bigint) = 0
        where depth < 1000)
    select call from undo where depth > 0";

/// The changes of a task that hold, newest first.
pub fn of_task(connection: &Connection, task: &str) -> Result<Vec<ChangedFile>, StoreError> {
    let sql = "select started.id, started.payload ->> 'session_id', started.task_id,
                      ended.payload ->> 'path_resolved'
               from events as started
               join events as ended on ended.parent_id = started.id and ended.type = 'tool_call.completed'
               where started.task_id = ?1 and started.type = 'tool_call.started'
                   and started.payload ->> 'tool_name' <> 'undo'
                   and cast(ended.payload ->> 'can_be_undone' as bigint) = 1
               order by started.seq desc";
    let mut query = connection.prepare_cached(sql)?;
    let changes = query.query_map([task], changed_file)?.collect::<Result<Vec<_>, _>>()?;
    let mut holding = Vec::new();
    for change in changes {
        let change = change.with_undos(connection)?;
        if change.holds {
            holding.push(change);
        }
    }
    Ok(holding)
}

/// The change of one call, whether it holds or not. The ID may be its end alone.
pub fn of_call(connection: &Connection, call: &str) -> Result<Option<ChangedFile>, StoreError> {
    let sql = "select started.id, started.payload ->> 'session_id', started.task_id,
                      ended.payload ->> 'path_resolved'
               from events as started
               join events as ended on ended.parent_id = started.id and ended.type = 'tool_call.completed'
               where started.id = ?1 and cast(ended.payload ->> 'can_be_undone' as bigint) = 1";
    let mut query = connection.prepare_cached(sql)?;
    if let Some(found) = query.query_row([call], changed_file).optional()? {
        return Ok(Some(found.with_undos(connection)?));
    }
    if call.len() < 8 {
        return Ok(None);
    }
    let ends = "select id from (select id from events where type = 'tool_call.started'
                                order by seq desc limit ?2) as started
                where substr(id, -length(?1)) = ?1 limit 2";
    let mut ends = connection.prepare_cached(ends)?;
    let found: Vec<String> =
        ends.query_map(params![call, CALLS], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let [whole] = found.as_slice() else { return Ok(None) };
    query.query_row([whole], changed_file).optional()?.map(|found| found.with_undos(connection)).transpose()
}

/// The last task of a chat with a change that holds.
pub fn last_in_chat(connection: &Connection, chat: &Chat) -> Result<LastChanged, StoreError> {
    let sql = "select id, state from inbox where channel = ?1 and chat_id = ?2 order by seq desc limit ?3";
    let mut query = connection.prepare_cached(sql)?;
    let tasks = query.query_map(params![chat.channel.as_str(), chat.id, TASKS], |row| {
        Ok((super::columns::task_id(row, 0)?, row.get::<String>(1)?))
    })?;
    for task in tasks {
        let (task, state) = task?;
        if !of_task(connection, task.as_str())?.is_empty() {
            let is_open = ["in_progress", "queued"].contains(&state.as_str());
            return Ok(if is_open { LastChanged::Running } else { LastChanged::Task(task) });
        }
    }
    Ok(LastChanged::None)
}

impl ChangedFile {
    /// A change holds if an even number of undos follow on it.
    fn with_undos(self, connection: &Connection) -> Result<Self, StoreError> {
        let mut query = connection.prepare_cached(HOLDS)?;
        let undos = query.query_map([self.call_id.as_str()], |row| row.get::<String>(0))?.count();
        Ok(Self { holds: undos % 2 == 0, ..self })
    }
}

fn changed_file(row: &Row<'_>) -> sql::Result<ChangedFile> {
    Ok(ChangedFile {
        call_id: parsed(row, 0)?,
        session_id: parsed(row, 1)?,
        task_id: row.get::<Option<String>>(2)?.and_then(|task| task.parse().ok()),
        path: row.get::<Option<String>>(3)?.unwrap_or_default(),
        holds: true,
    })
}
