//! The journal of a tool server alone: every call is in it, the chain holds, and a crash does not break it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use harness::{Request, TestDir, ToolServer, program};
use protocol::JournalRecord;
use protocol::hash::sha256;
use protocol::journal::{CallStarted, FIRST_PREV, RecordBody};
use serde_json::{Value, json};

/// All records, with their chain checked independently of the server's own command.
fn chained(dir: &TestDir) -> Vec<JournalRecord> {
    let text = fs::read_to_string(dir.journal()).expect("a server that was called has a journal");
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
            .of_session("chat:7")
            .header("X-Request-Id", "request-1");
        let envelope = server.send(call).envelope();
        let records = chained(server.dir());
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

/// What the journal says that was called last.
fn last_start(server: &ToolServer) -> CallStarted {
    let mut starts = chained(server.dir()).into_iter().filter_map(|record| match record.body {
        RecordBody::Started(call) => Some(call),
        _ => None,
    });
    starts.next_back().expect("a call was recorded")
}

#[test]
fn what_runs_is_in_the_record_whole_whatever_a_variable_is_called() {
    let server = ToolServer::start();
    let long = format!("echo {}; touch at-the-end", "x".repeat(20_000));
    for command in ["API_KEY=\"touch pwned; id\"; eval \"$API_KEY\"", "DB_PASSWORD=id; $DB_PASSWORD", &long] {
        // Written as no library would, because the hash is that of the bytes that were sent.
        let body = format!("{{ \"cmd\" : {} }}", json!(command));
        server.send(Request::post("/tools/bash", body.clone()));
        let call = last_start(&server);
        assert_eq!(call.arguments["cmd"], command);
        assert_eq!(call.arguments_sha256, Some(sha256(body.as_bytes())));
        assert_eq!(call.arguments_file, None);
    }
    assert!(server.root().join("pwned").exists(), "the command that is recorded is what ran");
    server.call("bash", &json!({"cmd": "PGPASSWORD=FAKEx1y2z3a4 psql --version"}));
    assert_eq!(last_start(&server).arguments["cmd"], "PGPASSWORD=***REDACTED*** psql --version");
}

#[test]
fn large_arguments_lie_in_a_file_that_the_record_names() {
    let server = ToolServer::start();
    let token = concat!("ghp_", "FAKEqB5MgSBLlDTieKDsetmpCkeevCuwbMjR");
    let content = format!("{}\n{token}\n", "line of a large file\n".repeat(20_000));
    let call = Request::call("write", &json!({"path": "large", "content": content}));
    assert!(server.send(call).envelope().ok);
    let started = last_start(&server);
    let name = started.arguments_file.expect("the record names a file");
    let file = server.dir().journal().with_file_name("arguments").join(&name);
    let stored = fs::read_to_string(&file).unwrap();
    assert_eq!(sha256(stored.as_bytes()), name);
    let arguments: Value = serde_json::from_str(&stored).unwrap();
    assert_eq!(arguments["content"], content.replace(token, "***REDACTED***"));
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(started.arguments["content"].as_str().unwrap().starts_with("line of a large file"));
    assert_verifies(&server);
    for tampered in [Some("{}"), None] {
        match tampered {
            Some(text) => fs::write(&file, text).unwrap(),
            None => fs::remove_file(&file).unwrap(),
        }
        let verified = server.run_command(&["journal", "verify"]);
        assert!(!verified.status.success() && String::from_utf8_lossy(&verified.stderr).contains(&name));
    }
}

#[test]
fn a_second_server_on_the_same_journal_is_refused() {
    let server = ToolServer::start();
    let shared = server.dir().journal().display().to_string();
    let second = ToolServer::builder().variable("AUTONOUS_TOOL_JOURNAL", &shared).start_refused();
    assert!(!second.status.success());
    assert!(second.stderr.contains(&shared), "{}", second.stderr);
    server.assert_alive("the refused second server");
}
