//! Tool calls: all of them, those that changed a file, those of a task, and those that were refused.

use protocol::event::{
    EventPayload, ToolCallCompleted, ToolCallFailed, ToolCallInterrupted, ToolCallReplayed, ToolCallStarted,
};
use protocol::journal::CallEnded;
use protocol::{EventBody, EventId, SessionId};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::asked::{self, AskedAbout, Decision};
use super::{QueryError, oldest_first, short_id};
use crate::events;
use crate::sql::Value as Sql;
use crate::sql::{Connection, Row, params_from_iter};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Question {
    /// Those that changed a file.
    File {
        /// Its possible absolute paths.
        absolute: Vec<String>,
        /// A relative path: files whose path ends with it match too.
        end: Option<String>,
    },
    Task(String),
    /// Those that a rule, a limit or a person refused; not those that waited for a person's yes.
    Refused,
    All,
    /// The one with this ID.
    Call(String),
}

/// Which of the calls that match a question are told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    /// Those since this time, in milliseconds since the epoch.
    pub since_ms: i64,
    /// Those of this tool.
    pub tool: Option<String>,
    /// Those of this session, such as `telegram:4711`, or of the chat with this ID.
    pub chat: Option<String>,
    /// Those that a person was asked about, with this end of the question.
    pub decision: Option<Decision>,
    /// At most so many of the newest.
    pub limit: u32,
}

/// A tool call, from its start and its end.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Call {
    pub id: String,
    pub task_id: Option<String>,
    /// Whose reads and locks it used.
    pub session_id: Option<SessionId>,
    /// When it began, in milliseconds since the epoch.
    pub started_at_ms: i64,
    /// The same as a date and a time of day, in UTC.
    pub started_at: String,
    pub tool_name: String,
    /// The arguments, redacted; shortened where `arguments_file` has them.
    pub arguments: Map<String, Value>,
    /// The SHA-256 of the request's body, byte for byte as it was sent.
    pub arguments_sha256: Option<String>,
    /// The file in `journal/arguments/` with large arguments.
    pub arguments_file: Option<String>,
    /// The call whose answer was repeated.
    pub replayed_call_id: Option<EventId>,
    /// `done`, `failed`, `interrupted`, `running` or `replayed`.
    pub status: &'static str,
    /// How it ended; none while it runs.
    #[serde(serialize_with = "payload")]
    pub end: Option<EventBody>,
    /// What became of the question about it, if a person was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval: Option<AskedAbout>,
}

impl Call {
    /// Takes over what was called, from the event of its start.
    fn describe(&mut self, start: EventBody) {
        match start {
            EventBody::ToolCallStarted(ToolCallStarted { call, session_id }) => {
                self.session_id = Some(session_id);
                (self.tool_name, self.arguments) = (call.tool_name, call.arguments);
                (self.arguments_sha256, self.arguments_file) = (call.arguments_sha256, call.arguments_file);
            }
            EventBody::ToolCallReplayed(ToolCallReplayed { call, session_id }) => {
                (self.session_id, self.status) = (Some(session_id), "replayed");
                (self.tool_name, self.arguments_sha256) = (call.tool_name, Some(call.arguments_sha256));
                self.replayed_call_id = Some(call.replayed_call_id);
            }
            // An event of a newer version is shown as it is.
            other => self.arguments = other.payload().as_object().cloned().unwrap_or_default(),
        }
    }

    /// The journal's record of its end.
    pub fn ended(&self) -> Option<&CallEnded> {
        let end = self.end.as_ref()?;
        let completed = ToolCallCompleted::of(end).map(|completed| &completed.call);
        completed.or_else(|| ToolCallFailed::of(end).map(|failed| &failed.call))
    }

    /// Why it failed, or why its end is unknown.
    pub fn error(&self) -> Option<&str> {
        let interrupted = ToolCallInterrupted::of(self.end.as_ref()?).map(|interrupted| &interrupted.error);
        let failed = || self.ended()?.failure.as_ref().map(|failure| &failure.error);
        interrupted.or_else(failed).map(String::as_str)
    }
}

fn payload<S: Serializer>(end: &Option<EventBody>, serializer: S) -> Result<S::Ok, S::Error> {
    end.as_ref().map(EventBody::payload).serialize(serializer)
}

/// The newest calls that match, oldest first.
pub fn calls(connection: &Connection, question: &Question, filter: &Filter) -> Result<Vec<Call>, QueryError> {
    let (mut condition, mut values) = condition(connection, question, filter.limit)?;
    if let Some(tool) = &filter.tool {
        condition.push_str(" and started.payload ->> 'tool_name' = ?");
        values.push(Sql::from(tool.clone()));
    }
    if let Some(chat) = &filter.chat {
        let session = "(started.payload ->> 'session_id')";
        condition
            .push_str(&format!(" and ({session} = ? or substr({session}, instr({session}, ':') + 1) = ?)"));
        values.extend([chat, chat].map(|chat| Sql::from(chat.clone())));
    }
    if let Some(decision) = filter.decision {
        condition.push_str(&asked::condition(decision));
    }
    // The plus sign keeps SQLite from using the index on types: it would walk all calls ever made.
    let sql = format!(
        "select started.id, started.task_id, started.time_ms,
                strftime('%Y-%m-%d %H:%M', started.time_ms / 1000, 'unixepoch'),
                started.type, started.payload, ended.type, ended.payload
         from events as started
         left join events as ended on ended.seq = (
             select candidate.seq from events as candidate
             where candidate.parent_id = started.id
                 and candidate.type in ('tool_call.completed', 'tool_call.failed', 'tool_call.interrupted')
             order by candidate.type = 'tool_call.interrupted', candidate.seq limit 1)
         where (started.type || '') in ('tool_call.started', 'tool_call.replayed')
             and started.time_ms >= ? and {condition}
         order by started.seq desc limit ?"
    );
    values.insert(0, Sql::from(filter.since_ms));
    values.push(Sql::from(filter.limit));
    let mut calls: Vec<Call> = oldest_first(connection, &sql, params_from_iter(values), call)?;
    add_questions(connection, &mut calls)?;
    Ok(calls)
}

/// Adds to each call that a person was asked about what became of that.
fn add_questions(connection: &Connection, calls: &mut [Call]) -> crate::sql::Result<()> {
    let Some(first_ms) = calls.iter().map(|call| call.started_at_ms).min() else { return Ok(()) };
    let used = asked::used_since(connection, first_ms)?;
    for call in calls {
        let failure = call.ended().and_then(|end| end.failure.as_ref());
        let awaited = failure.and_then(|failure| failure.approval_id.as_ref()).map(ToString::to_string);
        let Some(approval) = awaited.or_else(|| used.get(&call.id).cloned()) else { continue };
        call.approval = Some(asked::of_approval(connection, approval)?);
    }
    Ok(())
}

/// The call with this ID.
pub fn one_call(connection: &Connection, id: &str) -> Result<Option<Call>, QueryError> {
    let filter = Filter { since_ms: i64::MIN, tool: None, chat: None, decision: None, limit: 1 };
    Ok(calls(connection, &Question::Call(id.to_owned()), &filter)?.pop())
}

/// The condition on a call's start. It repeats the conditions of the partial indexes word for word, so that
/// SQLite uses these.
fn condition(
    connection: &Connection,
    question: &Question,
    limit: u32,
) -> Result<(String, Vec<Sql>), QueryError> {
    Ok(match question {
        Question::Task(given) => {
            let task = match short_id::resolve(connection, given) {
                Err(QueryError::NoTask(_)) => given.clone(),
                resolved => resolved?,
            };
            ("started.task_id = ?".to_owned(), vec![Sql::from(task)])
        }
        Question::Refused => (
            format!(
                "started.id in (select parent_id from events
                 where type = 'tool_call.failed' and payload ->> 'error_class' = 'policy' and {}
                 order by seq desc limit ?)",
                asked::IS_REFUSED
            ),
            vec![Sql::from(limit)],
        ),
        Question::File { absolute, end } => of_file(absolute, end.as_deref()),
        Question::All => ("true".to_owned(), Vec::new()),
        Question::Call(id) => ("started.id = ?".to_owned(), vec![Sql::from(id.clone())]),
    })
}

/// Calls that changed the file, and interrupted calls that may have.
fn of_file(absolute: &[String], end: Option<&str>) -> (String, Vec<Sql>) {
    let path = "payload ->> 'path_resolved'";
    let places = vec!["?"; absolute.len()].join(", ");
    let mut values: Vec<Sql> = absolute.iter().cloned().map(Sql::from).collect();
    let ends_alike = end.map_or(String::new(), |end| {
        values.extend([Sql::from(format!("/{end}")), Sql::from(format!("/{end}"))]);
        format!(" or substr({path}, -length(?)) = ?")
    });
    let named = absolute
        .iter()
        .map(|_| "substr(?, -length(argument) - 1) = '/' || argument or ? = argument")
        .collect::<Vec<_>>();
    values.extend(absolute.iter().flat_map(|path| [Sql::from(path.clone()), Sql::from(path.clone())]));
    let condition = format!(
        "(started.id in (select parent_id from events
              where type = 'tool_call.completed' and payload ->> 'operation' is not null
                  and ({path} in ({places}){ends_alike}))
          or started.id in (select call from (
                 select start.id as call, start.payload ->> '$.arguments.path' as argument
                 from events as interruption join events as start on start.id = interruption.parent_id
                 where interruption.type = 'tool_call.interrupted'
                     and start.payload ->> 'risk' = 'high') as calls
             where {}))",
        named.join(" or ")
    );
    (condition, values)
}

fn call(row: &Row<'_>) -> crate::sql::Result<Call> {
    let status = match row.get::<Option<String>>(6)?.as_deref() {
        Some("tool_call.completed") => "done",
        Some("tool_call.failed") => "failed",
        Some(_) => "interrupted",
        None => "running",
    };
    let mut call = Call {
        id: row.get(0)?,
        task_id: row.get(1)?,
        session_id: None,
        started_at_ms: row.get(2)?,
        started_at: row.get(3)?,
        tool_name: String::new(),
        arguments: Map::new(),
        arguments_sha256: None,
        arguments_file: None,
        replayed_call_id: None,
        status,
        end: (status != "running").then(|| events::body(row, 6)).transpose()?,
        approval: None,
    };
    call.describe(events::body(row, 4)?);
    Ok(call)
}

#[cfg(test)]
mod tests {
    use protocol::Event;
    use protocol::journal::CallChange;

    use super::*;
    use crate::fixture::{TestDatabase, call_completed, call_started};
    use crate::queries;

    fn call_of(path: &str, end: impl Into<EventBody>) -> [Event; 2] {
        let started = Event::now(call_started("write", path), None, None);
        let ended = Event::now(end, Some(&started.id), None);
        [started, ended]
    }

    fn ended(path: &str, operation: Option<&str>) -> ToolCallCompleted {
        let mut completed = call_completed("");
        completed.call.path_resolved = Some(format!("/w/{path}"));
        completed.call.change = operation.map(|operation| CallChange {
            operation: operation.to_owned(),
            sha256_before: None,
            sha256_after: None,
            can_be_undone: false,
            undone_call_id: None,
        });
        completed
    }

    fn found(events: &[Event], question: &Question) -> Vec<(String, &'static str)> {
        let database = TestDatabase::new();
        events.iter().for_each(|event| events::append(&database, event).unwrap());
        let connection = queries::open(database.location()).unwrap();
        let filter = Filter { since_ms: i64::MIN, tool: None, chat: None, decision: None, limit: 50 };
        let calls = calls(&connection, question, &filter).unwrap();
        let path = |call: &Call| call.arguments["path"].as_str().unwrap_or_default().to_owned();
        calls.iter().map(|call| (path(call), call.status)).collect()
    }

    #[test]
    fn a_file_is_found_by_its_path_by_the_end_of_its_path_and_by_interrupted_calls() {
        let changed = |path: &str| call_of(path, ended(path, Some("update")));
        let ToolCallCompleted { call, session_id } = ended("a/b.txt", None);
        let failed = ToolCallFailed { call, session_id };
        let interrupted = ToolCallInterrupted { tool_name: None, error: "cut off".to_owned() };
        let events = [
            changed("a/b.txt"),
            changed("xb.txt"),
            call_of("a/b.txt", ended("a/b.txt", None)),
            call_of("a/b.txt", failed),
            call_of("b.txt", interrupted.clone()),
            call_of("/w/a/b.txt", interrupted.clone()),
            call_of("other/b.txt", interrupted),
        ]
        .concat();
        let named = |path: &str, status| (path.to_owned(), status);
        let whole = Question::File { absolute: vec!["/w/a/b.txt".to_owned()], end: None };
        let expected =
            [named("a/b.txt", "done"), named("b.txt", "interrupted"), named("/w/a/b.txt", "interrupted")];
        assert_eq!(found(&events, &whole), expected);
        let end =
            Question::File { absolute: vec!["/elsewhere/b.txt".to_owned()], end: Some("b.txt".to_owned()) };
        assert_eq!(found(&events, &end)[0], named("a/b.txt", "done"));
    }
}
