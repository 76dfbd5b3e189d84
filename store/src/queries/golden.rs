//! What SQL makes of the committed row of each event type: views and queries name payload keys, which no
//! compiler checks.

use protocol::Event;
use protocol::event::{EventPayload, TaskDone};

use super::audit::{Filter, Question, calls};
use crate::fixture::TestDatabase;
use crate::{events, prior_context, tool_calls};

const ROWS: &str = include_str!("../../../protocol/tests/data/events.jsonl");
const TASK: &str = "019a0000-0000-7000-8000-000000000001";

/// The view `task_audit` of all rows.
const TASK_AUDIT: &str = "\
ingress task.queued
ingress task.skipped: older than the pending window
ingress task.skipped: a part of the message before it
ingress task.skipped: more than 50 messages waited at start; this one is not among the newest
ingress task.claimed
model agent.started: model-1
model context.assembled
model context.assembled
model context.assembled
model turn.started: model-1
model circuit.opened
model circuit.half_open
model circuit.closed
failed retry.scheduled: 503
failed retry.exhausted: 503
tool tool_call.started: write
tool tool_call.completed: write
tool tool_call.started: read
tool tool_call.failed: the path leads outside
tool tool_call.started: delete
tool tool_call.interrupted: the tool server ended
tool tool_call.started: bash
model turn.completed: model-1
model control.limit_reached: turns
model progress.stalled
model agent.completed
model agent.failed: the key is wrong
model agent.failed
failed retry.scheduled: the worker ended
done task.done
reply reply.queued
failed retry.exhausted: the chat is gone
reply reply.sent
reply reply.sent
failed task.dead: no model
ingress task.queued: requeued
failed task.cancelled
failed task.cancelled
tool tool_call.replayed: write
reply reply.requeued
ingress task.edited
model model_request.completed: m
model plan.created
model plan.updated
quota quota.exhausted: 20 tasks a day for this chat
model task.added
approval task.parked
approval approval.requested: delete
model background_process.ended: bash
failed retry.scheduled: http://127.0.0.1:1/v1 cannot be reached (connection refused)";

fn rows() -> Vec<Event> {
    ROWS.lines().map(|row| serde_json::from_str(row).unwrap()).collect()
}

fn filled_with(rows: impl IntoIterator<Item = Event>) -> TestDatabase {
    let database = TestDatabase::new();
    rows.into_iter().for_each(|event| events::append(&database, &event).unwrap());
    database
}

#[test]
fn every_row_is_read_back_as_it_was_stored() {
    let database = filled_with(rows());
    let sql = format!("select {} from events order by seq", events::COLUMNS);
    assert_eq!(database.query_all(&sql, [], events::from_row).unwrap()[1..], rows());
}

#[test]
fn the_view_tool_calls_finds_name_arguments_output_and_error() {
    let database = filled_with(rows());
    let calls = database.texts(
        "select concat_ws('|', tool_name, arguments_json, status, output_text, error)
         from tool_calls order by started_at",
    );
    let expected = [
        "write|{\"content\":\"b\",\"path\":\"a.txt\"}|done|+b\n",
        "read|{\"path\":\"../x\"}|failed||the path leads outside",
        "delete|{\"path\":\"/w/c.txt\"}|interrupted|the tool server ended",
        "bash|{\"cmd\":\"sleep 1\"}|running",
    ];
    assert_eq!(calls, expected);
}

#[test]
fn the_view_task_audit_has_a_line_for_each_event() {
    let database = filled_with(rows());
    let lines = database.texts("select phase || ' ' || message from task_audit order by created_at, message");
    assert_eq!(lines.join("\n"), TASK_AUDIT);
}

#[test]
fn the_audit_finds_changed_files_and_refused_calls() {
    let database = filled_with(rows());
    let connection = super::open(database.location()).unwrap();
    let file = |path: &str| Question::File { absolute: vec![path.to_owned()], end: None };
    for (question, expected) in [
        (file("/w/a.txt"), vec![("write", "done")]),
        (file("/w/c.txt"), vec![("delete", "interrupted")]),
        (Question::Refused, vec![("read", "failed")]),
        (
            Question::Task(TASK.to_owned()),
            vec![
                ("write", "done"),
                ("read", "failed"),
                ("delete", "interrupted"),
                ("bash", "running"),
                ("write", "replayed"),
            ],
        ),
    ] {
        let filter = Filter { since_ms: i64::MIN, tool: None, chat: None, decision: None, limit: 50 };
        let calls = calls(&connection, &question, &filter).unwrap();
        let told: Vec<_> = calls.iter().map(|call| (call.tool_name.as_str(), call.status)).collect();
        assert_eq!(told, expected, "{question:?}");
    }
}

#[test]
fn the_summary_of_earlier_attempts_and_the_calls_without_an_end_are_found() {
    // Without the end: a task that was done has no earlier attempts.
    let database = filled_with(rows().into_iter().filter(|event| TaskDone::of(&event.body).is_none()));
    let earlier = prior_context::earlier_attempts(&database, &TASK.parse().unwrap()).unwrap();
    assert_eq!((earlier.calls.len(), earlier.summary.as_deref()), (4, Some("Half of it is done.")));
    assert_eq!(tool_calls::mark_interrupted(&database, i64::MAX, "cut off").unwrap(), 1);
    let names = "select payload ->> 'tool_name' from events where payload ->> 'error' = 'cut off'";
    assert_eq!(database.texts(names), ["bash"]);
}
