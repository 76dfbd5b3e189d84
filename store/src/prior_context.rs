//! Earlier work, read from the events for the worker: the calls of a task's earlier attempts, and the calls
//! that led to an answer.
//!
//! Number and length are bounded here, because a task must fit in one line of the protocol. The worker
//! decides what of it the model sees.

use protocol::event::EventPayload;
use protocol::event::{TaskDone, TaskParked};
use protocol::{EarlierAttempts, PastCall, PastCallStatus, Plan, TaskId};

use super::StoreError;
use super::sql::{Connection, Row, params};

/// How much of a task's calls to read: the newest `calls`, each cut at so many characters.
struct Bounds {
    calls: u32,
    argument_chars: u16,
    output_chars: u16,
    /// Whether the calls of a turn that an attempt went on with are left out: they hang under the attempt.
    new_turns_alone: bool,
}

/// Enough to know what was done with what result, without the full results.
const EARLIER: Bounds =
    Bounds { calls: 100, argument_chars: 400, output_chars: 1000, new_turns_alone: false };
/// The turn that waited is kept with its calls, so they are left out here.
const AFTER_A_WAIT: Bounds = Bounds { new_turns_alone: true, ..EARLIER };
/// A trace has what was called and how it ended; a model that needs the result calls again.
const TRACE: Bounds = Bounds { calls: 30, argument_chars: 200, output_chars: 200, new_turns_alone: false };

/// A long path still ends within it.
const SUBJECT_CHARS: u16 = 200;

const CUT: char = '…';

/// What earlier attempts at a task did. A call without an end counts as interrupted, marked or not. A task
/// that was done and is requeued starts without earlier work, because somebody asked to do it again.
pub fn earlier_attempts(connection: &Connection, task: &TaskId) -> Result<EarlierAttempts, StoreError> {
    let since = newest_of_type(connection, task, TaskDone::TYPE)?;
    told_since(connection, task, since, &EARLIER)
}

/// What attempts did that went on after the task had waited for a person: the calls of the turn that waited
/// are known with it, and all before is in the conversation that was kept.
pub fn attempts_after_a_wait(connection: &Connection, task: &TaskId) -> Result<EarlierAttempts, StoreError> {
    let since = newest_of_type(connection, task, TaskParked::TYPE)?;
    told_since(connection, task, since, &AFTER_A_WAIT)
}

fn told_since(
    connection: &Connection,
    task: &TaskId,
    since: i64,
    bounds: &Bounds,
) -> Result<EarlierAttempts, StoreError> {
    let calls = calls_of(connection, task, since, bounds)?;
    let plan = plan_of(connection, task)?;
    let summary = summary_of(connection, task, since)?;
    Ok(EarlierAttempts { calls, summary, plan })
}

/// The calls that led to a task's answer.
pub(crate) fn trace(connection: &Connection, task: &TaskId) -> Result<Vec<PastCall>, StoreError> {
    calls_of(connection, task, 0, &TRACE)
}

/// The number of the task's newest event of a type; 0 if it has none.
fn newest_of_type(connection: &Connection, task: &TaskId, event_type: &str) -> Result<i64, StoreError> {
    let sql = "select coalesce(max(seq), 0) from events indexed by events_task
               where task_id = ?1 and type = ?2";
    Ok(connection.query_row(sql, [task.as_str(), event_type], |row| row.get(0))?)
}

fn calls_of(
    connection: &Connection,
    task: &TaskId,
    since_seq: i64,
    bounds: &Bounds,
) -> Result<Vec<PastCall>, StoreError> {
    // A call that another call made stands with that one.
    //
    // The index is named because the events of one type grow with the age of the database, while those of one
    // task do not.
    let sql = "select call.tool_name, substr(call.arguments_json, 1, ?3 + 1), call.status,
                      substr(concat_ws('\n', call.error, nullif(call.output_text, '')), 1, ?4 + 1),
                      substr(coalesce(call.arguments_json ->> 'path', call.arguments_json ->> 'cmd',
                                      call.arguments_json ->> 'relative_path',
                                      call.arguments_json ->> 'name'), 1, ?6 + 1),
                      call.arguments_json -> 'dry_run' is not distinct from 'true'
               from events as begun indexed by events_task join tool_calls as call on call.id = begun.id
               where begun.task_id = ?1 and begun.type = 'tool_call.started' and begun.seq > ?5
                   and not exists (select 1 from events as above
                                   where above.id = begun.parent_id
                                       and (above.type = 'tool_call.started'
                                            or ?7 = 1 and above.type = 'agent.started'))
               order by begun.seq desc limit ?2";
    let mut calls = connection.query_all(
        sql,
        params![
            task.as_str(),
            bounds.calls,
            bounds.argument_chars,
            bounds.output_chars,
            since_seq,
            SUBJECT_CHARS,
            bounds.new_turns_alone
        ],
        |row| past_call(row, bounds),
    )?;
    calls.reverse();
    Ok(calls)
}

fn past_call(row: &Row<'_>, bounds: &Bounds) -> crate::sql::Result<PastCall> {
    let status = match row.text(2)? {
        "done" => PastCallStatus::Done,
        "failed" => PastCallStatus::Failed,
        _ => PastCallStatus::Interrupted,
    };
    let text = |column| Ok::<_, crate::sql::Error>(row.get::<Option<String>>(column)?.unwrap_or_default());
    Ok(PastCall {
        tool_name: text(0)?,
        arguments: shortened(text(1)?, bounds.argument_chars),
        status,
        output: shortened(text(3)?, bounds.output_chars),
        subject: shortened(text(4)?, SUBJECT_CHARS),
        dry_run: row.get(5)?,
    })
}

fn summary_of(connection: &Connection, task: &TaskId, since_seq: i64) -> Result<Option<String>, StoreError> {
    let sql = "select payload ->> 'summary' from events indexed by events_task
               where task_id = ?1 and type = 'context.assembled' and seq > ?2
                   and payload ->> 'summary' is not null
               order by seq desc limit 1";
    Ok(connection.query_optional(sql, params![task.as_str(), since_seq], |row| row.get(0))?)
}

/// The plan of a task, as it is now.
pub(crate) fn plan_of(connection: &Connection, task: &TaskId) -> Result<Option<Plan>, StoreError> {
    let since_seq = newest_of_type(connection, task, TaskDone::TYPE)?;
    let sql = "select coalesce(payload -> 'plan', payload) from events indexed by events_task
               where task_id = ?1 and type in ('plan.created', 'plan.updated') and seq > ?2
               order by seq desc limit 1";
    let newest =
        connection.query_optional(sql, params![task.as_str(), since_seq], |row| row.get::<String>(0));
    // One that a newer version wrote is no plan of ours.
    Ok(newest?.and_then(|plan| serde_json::from_str(&plan).ok()))
}

/// A text cut to so many characters, with a mark where it was cut.
fn shortened(text: String, chars: u16) -> String {
    match text.char_indices().nth(usize::from(chars)) {
        Some((at, _)) => format!("{}{CUT}", &text[..at]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use protocol::event::{
        ContextAssembled, FittedContext, PlanCreated, PlanUpdated, TaskDone, ToolCallCompleted,
        ToolCallFailed,
    };
    use protocol::journal::CallFailure;
    use protocol::{ErrorClass, EventId, PlanStep, StepStatus};
    use serde_json::json;

    use super::*;
    use crate::fixture::{TestDatabase, call_completed, call_started};

    fn start(database: &TestDatabase, task: &TaskId, tool_name: &str) -> EventId {
        database.append(call_started(tool_name, &"a".repeat(1000)), None, Some(task))
    }

    fn fit(database: &TestDatabase, task: &TaskId, summary: Option<&str>) {
        let summary = summary.map(str::to_owned);
        let (messages, shortened, dropped, estimated_tokens, limit_tokens) = (3, 0, 1, 10, 20);
        let fitted = FittedContext { messages, shortened, dropped, estimated_tokens, limit_tokens, summary };
        database.append(ContextAssembled::Fitted(fitted), None, Some(task));
    }

    fn earlier(database: &TestDatabase, task: &TaskId) -> EarlierAttempts {
        earlier_attempts(database, task).unwrap()
    }

    #[test]
    fn calls_come_in_order_with_their_ends_and_a_missing_end_is_an_interruption() {
        let (database, task) = (TestDatabase::new(), TaskId::new());
        let read = start(&database, &task, "read");
        database.append(call_completed("text"), Some(&read), Some(&task));
        let bash = start(&database, &task, "bash");
        let ToolCallCompleted { mut call, session_id } = call_completed("no such file");
        call.failure = Some(CallFailure {
            error: "exit 1".to_owned(),
            error_class: ErrorClass::ToolExec,
            error_code: "EXIT_NONZERO".to_owned(),
            redacted: false,
            approval_id: None,
        });
        database.append(ToolCallFailed { call, session_id }, Some(&bash), Some(&task));
        start(&database, &task, "write");
        start(&database, &TaskId::new(), "of another task");
        let told: Vec<(String, PastCallStatus, String)> =
            earlier(&database, &task).calls.into_iter().map(|c| (c.tool_name, c.status, c.output)).collect();
        let expected = [
            ("read", PastCallStatus::Done, "text"),
            ("bash", PastCallStatus::Failed, "exit 1\nno such file"),
            ("write", PastCallStatus::Interrupted, ""),
        ];
        assert_eq!(told, expected.map(|(name, status, output)| (name.to_owned(), status, output.to_owned())));
    }

    #[test]
    fn what_a_call_calls_itself_is_no_call_of_its_own() {
        let (database, task) = (TestDatabase::new(), TaskId::new());
        let voice = start(&database, &task, "telegram_send_voice");
        let bash = database.append(call_started("bash", "espeak"), Some(&voice), Some(&task));
        database.append(call_completed("spoken"), Some(&bash), Some(&task));
        let calls = earlier(&database, &task).calls;
        assert_eq!(calls.len(), 1, "{calls:?}");
        assert_eq!(calls[0].tool_name, "telegram_send_voice");
        assert_eq!(calls[0].status, PastCallStatus::Interrupted);
    }

    #[test]
    fn a_call_is_about_its_path_or_command_even_where_its_arguments_are_cut() {
        let (database, task) = (TestDatabase::new(), TaskId::new());
        let long = "x".repeat(5000);
        for arguments in [
            json!({"content": long, "path": "notes/a.txt"}),
            json!({"cmd": "cargo test"}),
            json!({"path": "a.txt", "dry_run": true}),
            json!({"pattern": "x"}),
        ] {
            let mut started = call_started("tool", "");
            started.call.arguments = arguments.as_object().cloned().unwrap_or_default();
            database.append(started, None, Some(&task));
        }
        let calls = trace(&database, &task).unwrap();
        let subjects: Vec<_> = calls.iter().map(|call| (call.subject.as_str(), call.dry_run)).collect();
        assert_eq!(subjects, [("notes/a.txt", false), ("cargo test", false), ("a.txt", true), ("", false)]);
    }

    #[test]
    fn a_task_that_was_done_starts_again_without_its_earlier_calls() {
        let (database, task) = (TestDatabase::new(), TaskId::new());
        fit(&database, &task, Some("half of it"));
        start(&database, &task, "write");
        database.append(TaskDone { attempt: 1 }, None, Some(&task));
        assert!(earlier(&database, &task).is_empty());
        start(&database, &task, "read");
        let calls = earlier(&database, &task).calls;
        assert_eq!(calls.iter().map(|call| call.tool_name.as_str()).collect::<Vec<_>>(), ["read"]);
    }

    #[test]
    fn calls_are_bounded_in_number_and_in_length_and_the_newest_stay() {
        let (database, task) = (TestDatabase::new(), TaskId::new());
        start(&database, &task, "oldest");
        for _ in 0..EARLIER.calls {
            start(&database, &task, "later");
        }
        let calls = earlier(&database, &task).calls;
        assert_eq!(calls.len(), 100);
        assert!(calls.iter().all(|call| call.tool_name == "later"));
        assert!(calls.iter().all(|call| call.arguments.chars().count() == 401));
        assert!(calls[0].arguments.starts_with(r#"{"path":"aaa"#) && calls[0].arguments.ends_with(CUT));
    }

    #[test]
    fn the_plan_is_what_the_newest_event_says_until_the_task_was_done() {
        let (database, task) = (TestDatabase::new(), TaskId::new());
        let plan = |status| Plan {
            steps: vec![PlanStep { step: "look".to_owned(), status }],
            summary: "s".to_owned(),
            ..Plan::default()
        };
        let (begun, done) = (plan(StepStatus::InProgress), plan(StepStatus::Completed));
        assert_eq!(earlier(&database, &task).plan, None);
        database.append(PlanCreated { plan: begun.clone() }, None, Some(&task));
        assert_eq!(earlier(&database, &task).plan, Some(begun));
        let (status, note) = (StepStatus::Completed, None);
        database.append(PlanUpdated { step: 1, status, note, plan: done.clone() }, None, Some(&task));
        assert_eq!(earlier(&database, &task).plan, Some(done));
        assert_eq!(earlier(&database, &TaskId::new()).plan, None);
        database.append(TaskDone { attempt: 1 }, None, Some(&task));
        assert_eq!(earlier(&database, &task).plan, None);
    }

    #[test]
    fn the_newest_summary_is_read() {
        let (database, task) = (TestDatabase::new(), TaskId::new());
        assert!(earlier(&database, &task).is_empty());
        for summary in [Some("first"), Some("second"), None] {
            fit(&database, &task, summary);
        }
        assert_eq!(earlier(&database, &task).summary.as_deref(), Some("second"));
    }
}
