//! The journal of a tool server alone: every call is in it, the chain holds, and a crash does not break it.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::PathBuf;

use harness::{Request, TestDir, ToolServer, program};
use protocol::JournalRecord;
use protocol::journal::{FIRST_PREV, RecordBody};
use serde_json::json;

fn journal(dir: &TestDir) -> PathBuf {
    dir.data().join("journal/tool-calls.jsonl")
}

/// All records, with their chain checked independently of the server's own command.
fn records(dir: &TestDir) -> Vec<JournalRecord> {
    let text = fs::read_to_string(journal(dir)).expect("a server that was called has a journal");
    let mut previous = FIRST_PREV.to_owned();
    text.lines()
        .map(|line| {
            let record: JournalRecord = serde_json::from_str(line).expect("each line is a record");
            assert_eq!(record.prev, previous, "the chain is broken before {line}");
            previous = JournalRecord::line_hash(line.as_bytes());
            record
        })
        .collect()
}

fn assert_verifies(server: &ToolServer) {
    program::stdout_of(&server.run_command(&["journal", "verify"]));
}

#[test]
fn every_call_is_recorded_with_whom_it_was_made_for() {
    let server = ToolServer::start();
    for path in [".", "missing"] {
        let call = Request::call("ls", &json!({"path": path}))
            .header("X-Task-Id", "task-1")
            .header("X-Parent-Event-Id", "turn-1")
            .header("X-Session-Id", "chat:7")
            .header("X-Request-Id", "request-1");
        let envelope = server.send(call).envelope();
        let records = records(server.dir());
        let [.., started, ended] = &records[..] else { panic!("two records: {records:?}") };
        assert_eq!(started.id, envelope.meta.call_id);
        assert_eq!(started.parent_id.as_ref().map(|id| id.as_str()), Some("turn-1"));
        assert_eq!(ended.parent_id.as_ref(), Some(&started.id));
        for record in [started, ended] {
            assert_eq!(record.task_id.as_ref().map(|id| id.as_str()), Some("task-1"));
            assert_eq!(record.session_id.as_str(), "chat:7");
        }
        let RecordBody::Started(body) = &started.body else { panic!("{started:?}") };
        assert_eq!(body.arguments.get("path"), Some(&json!(path)));
        assert_eq!(body.request_id.as_deref(), Some("request-1"));
        assert_eq!(envelope.ok, matches!(ended.body, RecordBody::Completed(_)));
        assert_eq!(!envelope.ok, matches!(ended.body, RecordBody::Failed(_)));
    }
    assert_verifies(&server);
}

#[test]
fn a_crash_and_a_torn_line_are_survived_and_recorded() {
    let mut server = ToolServer::start();
    server.assert_alive("its start");
    server.crash(|dir| {
        let mut file = OpenOptions::new().append(true).open(journal(dir)).unwrap();
        file.write_all(br#"{"type":"tool_call.started","id":"torn"#).unwrap();
    });
    server.assert_alive("a crash");
    use RecordBody::{Completed, Repaired, Started};
    let records = records(server.dir());
    let bodies: Vec<&RecordBody> = records.iter().map(|record| &record.body).collect();
    assert!(
        matches!(bodies[..], [Started(_), Completed(_), Repaired { .. }, Started(_), Completed(_)]),
        "{bodies:?}"
    );
    assert_verifies(&server);
}

#[test]
fn a_second_server_on_the_same_journal_is_refused() {
    let server = ToolServer::start();
    let shared = journal(server.dir()).display().to_string();
    let second = ToolServer::builder().variable("AUTONOUS_TOOL_JOURNAL", &shared).start_refused();
    assert!(!second.status.success());
    assert!(second.stderr.contains(&shared), "{}", second.stderr);
    server.assert_alive("the refused second server");
}
