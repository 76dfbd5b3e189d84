//! The queue: tasks by state, and replies that could not be delivered.

use protocol::{Origin, TaskId};
use serde::Serialize;

use super::{QueryError, oldest_first};
use crate::columns;
use crate::sql::{Connection, Row, ToSql, params_from_iter};

/// The states of a task, in the order of its life.
pub const STATES: [&str; 6] = ["queued", "in_progress", "done", "dead", "cancelled", "skipped"];

#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Those in these states, of [`STATES`]; empty: in any.
    pub states: Vec<&'static str>,
    pub chat: Option<String>,
    /// Those that came since this time, in milliseconds since the epoch.
    pub since_ms: Option<i64>,
    /// Those that came before this time, in milliseconds since the epoch.
    pub before_ms: Option<i64>,
    /// Those that called this tool.
    pub tool: Option<String>,
    /// Those whose message has this text in it, in whatever case.
    pub text: Option<String>,
    /// How many of the newest that match are left out.
    pub offset: u32,
    /// At most so many of the newest.
    pub limit: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Task {
    pub id: String,
    pub state: String,
    pub channel: String,
    pub chat_id: String,
    pub text: String,
    /// How many attempts began.
    pub attempt: u32,
    /// Why the last attempt failed, or why it never ran.
    pub error: Option<String>,
    pub created_at_ms: i64,
    /// When a queued task may run.
    pub available_at_ms: i64,
    pub finished_at_ms: Option<i64>,
    /// It has begun, and continues when a person has decided.
    pub waits_for_person: bool,
    /// The node that runs it or ran it last, where several share the database.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
}

impl Task {
    /// Whether it has not ended.
    pub fn is_open(&self) -> bool {
        matches!(self.state.as_str(), "queued" | "in_progress")
    }
}

/// A message that is not delivered unless somebody sends it again.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Undelivered {
    pub outbox_id: i64,
    /// The task whose reply it is; none for a message that somebody sent through the control port.
    pub task_id: Option<String>,
    pub channel: String,
    pub chat_id: String,
    /// Which part of the reply, from 1.
    pub part: u32,
    /// How often sending failed.
    pub attempt: u32,
    pub error: Option<String>,
    pub finished_at_ms: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Tasks by state, in the order of [`STATES`].
    pub tasks: Vec<(&'static str, i64)>,
    /// Replies that could not be delivered.
    pub undelivered: i64,
}

/// The newest tasks that match, oldest first.
pub fn tasks(connection: &Connection, filter: &Filter) -> Result<Vec<Task>, QueryError> {
    let mut conditions = vec!["true".to_owned()];
    let mut values: Vec<&dyn ToSql> = Vec::new();
    if !filter.states.is_empty() {
        let states: Vec<String> = filter.states.iter().map(|state| format!("state = '{state}'")).collect();
        conditions.push(format!("({})", states.join(" or ")));
    }
    if let Some(chat) = &filter.chat {
        conditions.push("chat_id = ?".to_owned());
        values.push(chat);
    }
    if let Some(since_ms) = &filter.since_ms {
        conditions.push("created_at_ms >= ?".to_owned());
        values.push(since_ms);
    }
    if let Some(before_ms) = &filter.before_ms {
        conditions.push("created_at_ms < ?".to_owned());
        values.push(before_ms);
    }
    if let Some(tool) = &filter.tool {
        let calls = "exists (select 1 from events where task_id = inbox.id and type = 'tool_call.started'
                             and payload ->> 'tool_name' = ?)";
        conditions.push(calls.to_owned());
        values.push(tool);
    }
    if let Some(text) = &filter.text {
        conditions.push("instr(lower(text), lower(?)) > 0".to_owned());
        values.push(text);
    }
    values.extend([&filter.limit as &dyn ToSql, &filter.offset]);
    let sql = format!(
        "select {TASK_COLUMNS} from inbox where {} order by seq desc limit ? offset ?",
        conditions.join(" and ")
    );
    Ok(oldest_first(connection, &sql, params_from_iter(values), task)?)
}

/// The newest replies that could not be delivered, oldest first.
pub fn undelivered(connection: &Connection, limit: u32) -> Result<Vec<Undelivered>, QueryError> {
    let sql = "select task_id, channel, chat_id, part, attempt, error, finished_at_ms, seq
               from outbox where state = 'dead' order by seq desc limit ?1";
    let undelivered = |row: &Row<'_>| {
        Ok(Undelivered {
            task_id: row.get(0)?,
            channel: row.get(1)?,
            chat_id: row.get(2)?,
            part: row.get(3)?,
            attempt: row.get(4)?,
            error: row.get(5)?,
            finished_at_ms: row.get(6)?,
            outbox_id: row.get(7)?,
        })
    };
    Ok(oldest_first(connection, sql, [limit], undelivered)?)
}

/// Who wrote a task's message, if its channel told.
pub fn origin(connection: &Connection, task: &TaskId) -> Result<Option<Origin>, QueryError> {
    let sql = "select origin from inbox where id = ?1";
    let found = connection.query_optional(sql, [task.as_str()], |row| columns::json(row, 0))?;
    Ok(found.flatten())
}

/// How many tasks and undelivered replies there are. Most tasks are done, so these are computed from the
/// total: the other states have indexes.
pub fn counts(connection: &Connection) -> Result<Counts, QueryError> {
    let number =
        |sql: &str| -> Result<i64, QueryError> { Ok(connection.query_row(sql, [], |row| row.get(0))?) };
    let all = number("select count(*) from inbox")?;
    let of_state = |state: &str| number(&format!("select count(*) from inbox where state = '{state}'"));
    let mut tasks = Vec::new();
    for state in STATES.into_iter().filter(|state| *state != "done") {
        tasks.push((state, of_state(state)?));
    }
    let not_done: i64 = tasks.iter().map(|(_, count)| count).sum();
    tasks.insert(2, ("done", all - not_done));
    Ok(Counts { tasks, undelivered: number("select count(*) from outbox where state = 'dead'")? })
}

/// The columns that [`task`] reads, of a row of the inbox.
pub(super) const TASK_COLUMNS: &str = "id, state, channel, chat_id, text, attempt, error, created_at_ms,
    available_at_ms, finished_at_ms,
    state = 'queued' and exists (select 1 from awaited where task_id = inbox.id and ended is null), node";

/// How many they are.
pub(super) const TASK_WIDTH: usize = 12;

pub(super) fn task(row: &Row<'_>) -> crate::sql::Result<Task> {
    Ok(Task {
        id: row.get(0)?,
        state: row.get(1)?,
        channel: row.get(2)?,
        chat_id: row.get(3)?,
        text: row.get(4)?,
        attempt: row.get(5)?,
        error: row.get(6)?,
        created_at_ms: row.get(7)?,
        available_at_ms: row.get(8)?,
        finished_at_ms: row.get(9)?,
        waits_for_person: row.get(10)?,
        node: row.get(11)?,
    })
}
