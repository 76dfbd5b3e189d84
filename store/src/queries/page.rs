//! What the page at the control port asks: chats and what was said in them, tasks with their replies, and
//! figures of tools.

use std::collections::HashMap;

use channel::Chat;
use channel::formatting::Entity;
use protocol::event::{PlanCreated, PlanUpdated};
use protocol::{Event, EventBody, Plan, TaskId};

use super::QueryError;
use super::tasks::{TASK_COLUMNS, TASK_WIDTH, Task, task};
use crate::changes::{self, ChangedFile};
use crate::columns;
use crate::events::{self, COLUMNS};
use crate::sql::{Connection, Row, params};

/// A chat that has written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownChat {
    pub channel: String,
    pub chat_id: String,
    /// How many messages it has sent.
    pub tasks: i64,
    pub last_ms: i64,
}

/// One thing that was said in a chat.
#[derive(Debug, Clone, PartialEq)]
pub enum Said {
    Person {
        task: Box<Task>,
        files: Vec<SaidFile>,
        /// Whether a call of it changed a file and can be undone.
        has_changes: bool,
    },
    Agent(Sent),
}

/// A file that a message brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SaidFile {
    pub name: String,
    /// What the page has it by, if it has it.
    pub file_id: Option<String>,
    pub size_bytes: Option<u64>,
    pub error: Option<String>,
}

/// A message that leaves.
#[derive(Debug, Clone, PartialEq)]
pub struct Sent {
    pub outbox_id: i64,
    /// The task whose reply it is; none for what came by itself.
    pub task_id: Option<String>,
    pub text: String,
    pub entities: Vec<Entity>,
    pub file_name: Option<String>,
    /// What the page has the file by, if it has it.
    pub file_id: Option<String>,
    /// `queued`, `sent` or `dead`.
    pub state: String,
    pub error: Option<String>,
    pub created_at_ms: i64,
}

/// The upper ends of a histogram's columns, in milliseconds; one more column has what took longer.
pub const BUCKETS_MS: [i64; 11] = [1, 3, 10, 30, 100, 300, 1000, 3000, 10_000, 30_000, 100_000];

/// How the calls of a tool ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolFigures {
    pub tool: String,
    pub calls: i64,
    /// Those that began and failed.
    pub failed: i64,
    /// Those that a rule refused.
    pub refused: i64,
    /// How many took how long, by [`BUCKETS_MS`].
    pub histogram: [i64; BUCKETS_MS.len() + 1],
}

/// The chats, the one that wrote last first.
pub fn chats(connection: &Connection, limit: u32) -> Result<Vec<KnownChat>, QueryError> {
    let sql = "select channel, chat_id, count(*), max(created_at_ms) from inbox
               group by channel, chat_id order by max(seq) desc limit ?1";
    Ok(connection.query_all(sql, [limit], |row| {
        Ok(KnownChat { channel: row.get(0)?, chat_id: row.get(1)?, tasks: row.get(2)?, last_ms: row.get(3)? })
    })?)
}

/// The newest things that were said in a chat, oldest first. A message without a task, such as a reminder,
/// stands where it was sent.
pub fn said(connection: &Connection, chat: &Chat, limit: u32) -> Result<Vec<Said>, QueryError> {
    let sql = format!(
        "select {TASK_COLUMNS},
                exists (select 1 from events where task_id = inbox.id and type = 'tool_call.completed'
                        and cast(payload ->> 'can_be_undone' as bigint) = 1)
         from inbox where channel = ?1 and chat_id = ?2 order by seq desc limit ?3"
    );
    let of_chat = params![chat.channel.as_str(), chat.id, limit];
    let tasks = connection.query_all(&sql, of_chat, |row| Ok((task(row)?, row.get(TASK_WIDTH)?)))?;
    // What was said, with its time, its task and its place in that: what has one time is in this order.
    let mut said: Vec<((i64, usize, u8), Said)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for (task, has_changes) in tasks {
        let files = files_of(connection, &task.id)?;
        // Rows come newest first.
        let place = usize::MAX - 1 - places.len();
        places.insert(task.id.clone(), place);
        let key = (task.created_at_ms, place, 0);
        said.push((key, Said::Person { task: Box::new(task), files, has_changes }));
    }
    let sql = format!(
        "select {SENT_COLUMNS} from outbox where channel = ?1 and chat_id = ?2 order by seq desc limit ?3"
    );
    for reply in connection.query_all(&sql, of_chat, sent)? {
        let place = reply.task_id.as_ref().and_then(|task| places.get(task)).copied();
        said.push(((reply.created_at_ms, place.unwrap_or(usize::MAX), 1), Said::Agent(reply)));
    }
    said.reverse();
    said.sort_by_key(|(key, _)| *key);
    let surplus = said.len().saturating_sub(usize::try_from(limit).unwrap_or(usize::MAX));
    Ok(said.into_iter().skip(surplus).map(|(_, said)| said).collect())
}

fn files_of(connection: &Connection, task: &str) -> Result<Vec<SaidFile>, QueryError> {
    let sql = "select coalesce(file_name, kind), page_files.file_id,
                      coalesce(attachments.size_bytes, page_files.size_bytes), error
               from attachments left join page_files on page_files.file_id = source
               where task_id = ?1 order by seq";
    Ok(connection.query_all(sql, [task], |row| {
        let size: Option<i64> = row.get(2)?;
        let size_bytes = size.and_then(|size| u64::try_from(size).ok());
        Ok(SaidFile { name: row.get(0)?, file_id: row.get(1)?, size_bytes, error: row.get(3)? })
    })?)
}

const SENT_COLUMNS: &str = "seq, text, entities, caption_entities, file_name,
    (select file_id from page_files where page_files.file_id = outbox.message_id), state, error,
    created_at_ms, task_id";

fn sent(row: &Row<'_>) -> crate::sql::Result<Sent> {
    let entities: Option<Vec<Entity>> = columns::json(row, 2)?;
    let of_caption: Option<Vec<Entity>> = columns::json(row, 3)?;
    Ok(Sent {
        outbox_id: row.get(0)?,
        text: row.get(1)?,
        entities: entities.or(of_caption).unwrap_or_default(),
        file_name: row.get(4)?,
        file_id: row.get(5)?,
        state: row.get(6)?,
        error: row.get(7)?,
        created_at_ms: row.get(8)?,
        task_id: row.get(9)?,
    })
}

/// A text that changes with each message of a chat and each event of its open task; and that task, if it
/// runs.
pub fn chat_version(connection: &Connection, chat: &Chat) -> Result<(String, Option<TaskId>), QueryError> {
    let sql = "select
            (select coalesce(max(seq), 0) || ':' || coalesce(max(updated_at_ms), 0) from (
                select seq, updated_at_ms from inbox where channel = ?1 and chat_id = ?2
                order by seq desc limit 100)) || ' ' ||
            (select coalesce(max(seq), 0) || ':' || coalesce(max(updated_at_ms), 0) from (
                select seq, updated_at_ms from outbox where channel = ?1 and chat_id = ?2
                order by seq desc limit 100)) || ' ' ||
            (select coalesce(max(events.seq), 0) from inbox join events on events.task_id = inbox.id
             where inbox.channel = ?1 and inbox.chat_id = ?2 and inbox.state in ('queued', 'in_progress')),
            (select id from inbox where channel = ?1 and chat_id = ?2 and state = 'in_progress')";
    let of_chat = params![chat.channel.as_str(), chat.id];
    Ok(connection.query_row(sql, of_chat, |row| Ok((row.get(0)?, columns::known(row, 1)?)))?)
}

/// A text that changes with each event and state of a task.
pub fn task_version(connection: &Connection, id: &str) -> Result<String, QueryError> {
    let sql = "select (select coalesce(max(seq), 0) from events where task_id = ?1) || ' ' ||
                      (select coalesce(max(updated_at_ms), 0) from inbox where id = ?1) || ' ' ||
                      (select coalesce(max(updated_at_ms), 0) from outbox where task_id = ?1)";
    Ok(connection.query_row(sql, [id], |row| row.get(0))?)
}

/// A task; none if there is none with this ID.
pub fn one_task(connection: &Connection, id: &str) -> Result<Option<Task>, QueryError> {
    let sql = format!("select {TASK_COLUMNS} from inbox where id = ?1");
    Ok(connection.query_optional(&sql, [id], task)?)
}

/// The messages that a task has sent, in order.
pub fn replies(connection: &Connection, task: &str) -> Result<Vec<Sent>, QueryError> {
    let sql = format!("select {SENT_COLUMNS} from outbox where task_id = ?1 order by seq");
    Ok(connection.query_all(&sql, [task], sent)?)
}

/// All events of a task, in the order in which they were stored.
pub fn events_of(connection: &Connection, task: &str) -> Result<Vec<Event>, QueryError> {
    let sql = format!("select {COLUMNS} from events where task_id = ?1 order by seq");
    Ok(connection.query_all(&sql, [task], events::from_row)?)
}

/// The newest events of a task, oldest first.
pub fn newest_events(connection: &Connection, task: &TaskId, limit: u32) -> Result<Vec<Event>, QueryError> {
    let sql = format!("select {COLUMNS} from events where task_id = ?1 order by seq desc limit ?2");
    super::oldest_first(connection, &sql, params![task.as_str(), limit], events::from_row).map_err(Into::into)
}

/// The plan of a task as it is now.
pub fn plan(connection: &Connection, task: &TaskId) -> Result<Option<Plan>, QueryError> {
    let sql = format!(
        "select {COLUMNS} from events where task_id = ?1 and type in ('plan.created', 'plan.updated')
         order by seq desc limit 1"
    );
    let found = connection.query_optional(&sql, [task.as_str()], events::from_row)?;
    Ok(match found.map(|event| event.body) {
        Some(
            EventBody::PlanCreated(PlanCreated { plan }) | EventBody::PlanUpdated(PlanUpdated { plan, .. }),
        ) => Some(plan),
        Some(_) | None => None,
    })
}

/// The newest changes of files that can or could be undone, newest first, with their times.
pub fn newest_changes(connection: &Connection, limit: u32) -> Result<Vec<(i64, ChangedFile)>, QueryError> {
    let sql = "select parent_id, time_ms from events indexed by events_changed
               where type = 'tool_call.completed' and payload ->> 'operation' is not null
                   and cast(payload ->> 'can_be_undone' as bigint) = 1
                   and payload ->> 'undone_call_id' is null
               order by seq desc limit ?1";
    let calls = connection.query_all(sql, [limit], |row| Ok((row.get::<String>(0)?, row.get(1)?)))?;
    let mut changed = Vec::new();
    for (call, at) in calls {
        changed.extend(changes::of_call(connection, &call)?.map(|change| (at, change)));
    }
    Ok(changed)
}

/// How the calls of each tool ended since a time, by name.
pub fn tool_figures(connection: &Connection, since_ms: i64) -> Result<Vec<ToolFigures>, QueryError> {
    let columns: Vec<String> = BUCKETS_MS.iter().map(|ms| format!("when took <= {ms} then {ms}")).collect();
    let sql = format!(
        "select tool, case {} else -1 end as bucket, count(*), count(*) filter (where failed),
                count(*) filter (where refused) from (
             select payload ->> 'tool_name' as tool, cast(payload ->> 'latency_ms' as bigint) as took,
                    type = 'tool_call.failed' and payload ->> 'error_class' is distinct from 'policy'
                        as failed,
                    type = 'tool_call.failed' and payload ->> 'error_class' = 'policy' as refused
             from events
             where type in ('tool_call.completed', 'tool_call.failed') and time_ms >= ?1) as calls
         where tool is not null group by tool, bucket order by tool",
        columns.join(" ")
    );
    let rows = connection.query_all(&sql, [since_ms], |row| {
        let tool: String = row.get(0)?;
        let counts: [i64; 3] = [row.get(2)?, row.get(3)?, row.get(4)?];
        Ok((tool, row.get::<i64>(1)?, counts))
    })?;
    let mut figures: Vec<ToolFigures> = Vec::new();
    for (tool, bucket, [calls, failed, refused]) in rows {
        if figures.last().is_none_or(|last| last.tool != tool) {
            figures.push(ToolFigures { tool, ..ToolFigures::default() });
        }
        let Some(last) = figures.last_mut() else { continue };
        let column = BUCKETS_MS.iter().position(|ms| *ms == bucket).unwrap_or(BUCKETS_MS.len());
        last.calls += calls;
        last.failed += failed;
        last.refused += refused;
        last.histogram[column] += calls;
    }
    Ok(figures)
}

#[cfg(test)]
mod tests {
    use protocol::event::ToolCallFailed;

    use super::*;
    use crate::fixture::{TestDatabase, call_completed, call_started, done, test_chat};

    #[test]
    fn a_chat_reads_in_the_order_in_which_it_was_said() {
        let database = TestDatabase::new();
        for text in ["first", "second"] {
            database.enqueue(test_chat(1), text);
            let claimed = database.claim();
            assert!(database.end(&claimed, done(&format!("answer to {text}"))));
        }
        database.enqueue(test_chat(2), "another chat's");
        let said = said(&database, &test_chat(1), 50).unwrap();
        let texts: Vec<&str> = said
            .iter()
            .map(|said| match said {
                Said::Person { task, .. } => task.text.as_str(),
                Said::Agent(reply) => reply.text.as_str(),
            })
            .collect();
        assert_eq!(texts, ["first", "answer to first", "second", "answer to second"]);
        let chats = chats(&database, 10).unwrap();
        assert_eq!(
            chats.iter().map(|chat| (&*chat.chat_id, chat.tasks)).collect::<Vec<_>>(),
            [("2", 1), ("1", 2)]
        );
    }

    #[test]
    fn calls_are_counted_by_tool_outcome_and_latency() {
        let database = TestDatabase::new();
        for latency_ms in [2, 5000, 200_000] {
            let started = database.append(call_started("ls", "."), None, None);
            let mut completed = call_completed("");
            completed.call.latency_ms = latency_ms;
            completed.call.tool_name = "ls".to_owned();
            database.append(completed, Some(&started), None);
        }
        let mut failed = call_completed("");
        failed.call.tool_name = "bash".to_owned();
        let failed = ToolCallFailed { call: failed.call, session_id: failed.session_id };
        database.append(failed, None, None);
        let figures = tool_figures(&database, 0).unwrap();
        assert_eq!(
            figures.iter().map(|one| (&*one.tool, one.calls)).collect::<Vec<_>>(),
            [("bash", 1), ("ls", 3)]
        );
        assert_eq!(figures[1].histogram, [0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1]);
    }
}
