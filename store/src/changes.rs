//! The changes of files that can be undone, from the events of the tool server's journal.

use channel::Chat;
use protocol::{EventId, SessionId, TaskId};
use serde::Serialize;

use super::StoreError;
use super::columns::{known, parsed, task_id};
use super::sql::{self, Connection, Row, params};

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

/// Calls whose changes can be undone, as [`changed_file`] reads them.
const CHANGES: &str = "select started.id, started.payload ->> 'session_id', started.task_id,
                              ended.payload ->> 'path_resolved'
    from events as started
    join events as ended on ended.parent_id = started.id and ended.type = 'tool_call.completed'
    where cast(ended.payload ->> 'can_be_undone' as bigint) = 1";

/// The changes of a task that hold, newest first.
pub fn of_task(connection: &Connection, task: &str) -> Result<Vec<ChangedFile>, StoreError> {
    let sql = format!(
        "{CHANGES} and started.task_id = ?1 and started.type = 'tool_call.started'
             and started.payload ->> 'tool_name' <> 'undo'
         order by started.seq desc"
    );
    let changes = connection.query_all(&sql, [task], changed_file)?;
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
    let change = |id: &str| -> Result<_, StoreError> {
        let found =
            connection.query_optional(&format!("{CHANGES} and started.id = ?1"), [id], changed_file)?;
        found.map(|found| found.with_undos(connection)).transpose()
    };
    if let Some(found) = change(call)? {
        return Ok(Some(found));
    }
    if call.len() < 8 {
        return Ok(None);
    }
    let ends = "select id from (select id from events where type = 'tool_call.started'
                                order by seq desc limit ?2) as started
                where substr(id, -length(?1)) = ?1 limit 2";
    let found: Vec<String> = connection.query_all(ends, params![call, CALLS], |row| row.get(0))?;
    let [whole] = found.as_slice() else { return Ok(None) };
    change(whole)
}

/// The last task of a chat with a change that holds.
pub fn last_in_chat(connection: &Connection, chat: &Chat) -> Result<LastChanged, StoreError> {
    let sql = "select id, state from inbox where channel = ?1 and chat_id = ?2 order by seq desc limit ?3";
    let tasks = connection.query_all(sql, params![chat.channel.as_str(), chat.id, TASKS], |row| {
        Ok((task_id(row, 0)?, row.get::<String>(1)?))
    })?;
    for (task, state) in tasks {
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
        let undos = connection.query_all(HOLDS, [self.call_id.as_str()], |_| Ok(()))?;
        Ok(Self { holds: undos.len() % 2 == 0, ..self })
    }
}

fn changed_file(row: &Row<'_>) -> sql::Result<ChangedFile> {
    Ok(ChangedFile {
        call_id: parsed(row, 0)?,
        session_id: parsed(row, 1)?,
        task_id: known(row, 2)?,
        path: row.get::<Option<String>>(3)?.unwrap_or_default(),
        holds: true,
    })
}
