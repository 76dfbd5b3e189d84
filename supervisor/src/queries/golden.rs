//! What SQL makes of the committed row of each event type: views and queries name payload keys, which no
//! compiler checks.

use protocol::event::{EventPayload, TaskDone};
use protocol::{Event, TaskId};

use super::audit::{Question, calls};
use crate::store::fixture::Fixture;
use crate::store::{events, prior_context, tool_calls};

const ROWS: &str = include_str!("../../../protocol/tests/data/events.jsonl");
const TASK: &str = "019a0000-0000-7000-8000-000000000001";

fn rows() -> Vec<Event> {
    ROWS.lines().map(|row| serde_json::from_str(row).unwrap()).collect()
}

async fn filled_with(events: impl Iterator<Item = Event>) -> Fixture {
    let (fixture, events) = (Fixture::new().await, events.collect::<Vec<_>>());
    let stored = fixture.store.write(move |tx| events.iter().try_for_each(|event| events::append(tx, event)));
    stored.await.unwrap();
    fixture
}

#[tokio::test]
async fn every_row_is_read_back_as_it_was_stored() {
    let fixture = filled_with(rows().into_iter()).await;
    let read = fixture.store.write(|tx| {
        let sql = format!("select {} from events order by seq", events::COLUMNS);
        Ok(tx.prepare(&sql)?.query_map([], events::from_row)?.collect::<Result<Vec<_>, _>>()?)
    });
    assert_eq!(read.await.unwrap()[1..], rows());
}

#[tokio::test]
async fn the_view_tool_calls_finds_name_arguments_output_and_error() {
    let fixture = filled_with(rows().into_iter()).await;
    let calls: Vec<String> = fixture
        .column(
            "select concat_ws('|', tool_name, arguments_json, status, output_text, error)
             from tool_calls order by started_at",
        )
        .await;
    let expected = [
        "write|{\"content\":\"b\",\"path\":\"a.txt\"}|done|+b\n",
        "read|{\"path\":\"../x\"}|failed||the path leads outside",
        "delete|{\"path\":\"/w/c.txt\"}|interrupted|the tool server ended",
        "bash|{\"cmd\":\"sleep 1\"}|running",
    ];
    assert_eq!(calls, expected);
}

#[tokio::test]
async fn the_view_task_audit_has_a_line_for_each_event() {
    let fixture = filled_with(rows().into_iter()).await;
    let lines: Vec<String> =
        fixture.column("select phase || ' ' || message from task_audit order by created_at").await;
    let expected = "\
ingress task.queued
ingress task.skipped: older than the pending window
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
model control.limit_reached
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
failed task.cancelled";
    assert_eq!(lines.join("\n"), expected);
}

#[tokio::test]
async fn the_audit_finds_changed_files_and_refused_calls() {
    let fixture = filled_with(rows().into_iter()).await;
    let connection = super::open(&fixture.directory.path().join("autonous.db")).unwrap();
    let file = |path: &str| Question::File { absolute: vec![path.to_owned()], end: None };
    for (question, expected) in [
        (file("/w/a.txt"), vec![("write", "done")]),
        (file("/w/c.txt"), vec![("delete", "interrupted")]),
        (Question::Refused, vec![("read", "failed")]),
        (
            Question::Task(TASK.to_owned()),
            vec![("write", "done"), ("read", "failed"), ("delete", "interrupted"), ("bash", "running")],
        ),
    ] {
        let calls = calls(&connection, &question, i64::MIN, 50).unwrap();
        let told: Vec<_> = calls.iter().map(|call| (call.tool_name.as_str(), call.status)).collect();
        assert_eq!(told, expected, "{question:?}");
    }
}

#[tokio::test]
async fn the_summary_of_earlier_attempts_and_the_calls_without_an_end_are_found() {
    // Without the end: a task that was done has no earlier attempts.
    let fixture = filled_with(rows().into_iter().filter(|event| TaskDone::of(&event.body).is_none())).await;
    let task: TaskId = TASK.parse().unwrap();
    let earlier = fixture.store.write(move |tx| prior_context::earlier_attempts(tx, &task)).await.unwrap();
    assert_eq!((earlier.calls.len(), earlier.summary.as_deref()), (4, Some("Half of it is done.")));
    let marked = fixture.store.write(|tx| tool_calls::mark_interrupted(tx, i64::MAX, "cut off"));
    assert_eq!(marked.await.unwrap(), 1);
    let names: Vec<String> = fixture
        .column("select payload ->> 'tool_name' from events where payload ->> 'error' = 'cut off'")
        .await;
    assert_eq!(names, ["bash"]);
}
