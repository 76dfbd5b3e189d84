//! Idempotency keys over HTTP, across crashes: a call with a key takes effect once.

use std::fs;
use std::path::PathBuf;
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

use harness::envelope_shape::{assert_error, assert_whole};
use harness::{Answer, Request, TestDir, ToolServer, wait};
use protocol::journal::RecordBody;
use protocol::{Envelope, ErrorCode, JournalRecord};
use serde_json::{Value, json};

use crate::records;

fn keyed(key: &str, tool: &str, arguments: &Value) -> Request {
    Request::call(tool, arguments).header("Idempotency-Key", key)
}

fn append(key: &str, content: &str) -> Request {
    keyed(key, "write", &json!({"path": "log", "content": content, "mode": "append"}))
}

fn log(server: &ToolServer) -> String {
    fs::read_to_string(server.root().join("log")).unwrap_or_default()
}

/// A slow call: an edit in a file of nearly the largest size, which is hashed before and after.
fn slow_edit(server: &ToolServer) -> Request {
    let line = format!("{}\n", "x".repeat(99));
    fs::write(server.root().join("large"), format!("begin\n{}", line.repeat(160_000))).unwrap();
    assert!(server.call("read", &json!({"path": "large", "limit": 1})).ok);
    keyed("slow", "edit", &json!({"path": "large", "find": "begin", "replace": "began"}))
}

/// Sends a request in its own thread, and waits until its key is claimed.
fn sent_and_claimed(server: &ToolServer, request: &Request) -> JoinHandle<std::io::Result<Answer>> {
    let (request, address) = (request.clone(), server.address());
    let call = std::thread::spawn(move || request.try_send(address));
    let claims = server.dir().data().join("journal/idempotency");
    wait::until("the key is claimed", || fs::read_dir(&claims).ok()?.next().map(drop));
    call
}

#[test]
fn a_repeat_gets_the_first_envelope_and_another_body_a_conflict_after_a_crash_too() {
    for crashes in [0, 1] {
        let mut server = ToolServer::start();
        let first = assert_whole(&server.send(append("k", "one\n")));
        assert!(first.ok, "{first:?}");
        (0..crashes).for_each(|_| server.crash(|_| {}));
        assert_eq!(assert_whole(&server.send(append("k", "one\n"))), first);
        assert_error(&server.send(append("k", "two\n")), ErrorCode::IdempotencyConflict);
        assert_eq!(log(&server), "one\n");
        let other_tool = keyed("k", "edit", &json!({"path": "log", "find": "one", "replace": "1"}));
        assert_error(&server.send(other_tool), ErrorCode::NotRead);
    }
}

#[test]
fn a_key_is_forgotten_after_a_day() {
    let mut server = ToolServer::start();
    assert!(assert_whole(&server.send(append("k", "one\n"))).ok);
    let keys = |dir: &TestDir| -> Vec<PathBuf> {
        let files = fs::read_dir(dir.data().join("journal/idempotency")).unwrap();
        files.map(|entry| entry.unwrap().path()).collect()
    };
    let [key] = keys(server.dir()).try_into().unwrap();
    let before_yesterday = SystemTime::now() - Duration::from_secs(2 * 86_400);
    server.crash(|_| {
        fs::File::options().append(true).open(key).unwrap().set_modified(before_yesterday).unwrap();
    });
    assert_eq!(keys(server.dir()), Vec::<PathBuf>::new());
    assert!(assert_whole(&server.send(append("k", "two\n"))).ok);
    assert_eq!(log(&server), "one\ntwo\n");
}

#[test]
fn every_repeat_leaves_a_record_and_changes_no_answer() {
    let server = ToolServer::start();
    let repeat = append("k", "one\n").header("X-Task-Id", "task-1").header("X-Request-Id", "again");
    let first = assert_whole(&server.send(append("k", "one\n")));
    assert_eq!(assert_whole(&server.send(repeat)), first);
    let records: Vec<JournalRecord> = records(server.dir());
    let [_, _, replayed] = &records[..] else { panic!("three records: {records:?}") };
    let RecordBody::Replayed(call) = &replayed.body else { panic!("{replayed:?}") };
    assert_eq!((&call.replayed_call_id, call.tool_name.as_str()), (&first.meta.call_id, "write"));
    assert_eq!(call.request_id.as_deref(), Some("again"));
    assert_eq!(replayed.task_id.as_ref().map(|id| id.as_str()), Some("task-1"));
    assert_ne!(replayed.id, first.meta.call_id);
}

#[test]
fn a_key_belongs_to_its_session_and_its_token() {
    let mut server = ToolServer::start();
    for (number, session) in ["chat:1", "chat:2"].into_iter().enumerate() {
        let call = || append("k", "one\n").of_session(session);
        let first = assert_whole(&server.send(call()));
        assert_eq!(log(&server), "one\n".repeat(number + 1), "each session's call is run");
        assert_eq!(assert_whole(&server.send(call())), first);
    }
    assert_whole(&server.send(append("k", "one\n").header("Authorization", "Bearer another")));
    server.crash(|_| {});
    assert_whole(&server.send(append("k", "one\n").of_session("chat:1")));
    assert_eq!(log(&server), "one\n".repeat(3), "a repeat after a crash is still one");
}

#[test]
fn a_call_interrupted_by_a_crash_is_never_run_again() {
    let mut server = ToolServer::start();
    let request = slow_edit(&server);
    let call = sent_and_claimed(&server, &request);
    server.crash(|_| {});
    assert!(call.join().unwrap().is_err(), "the call was answered before the crash, so this proves nothing");
    let after_crash = fs::read(server.root().join("large")).unwrap();
    for _ in 0..2 {
        let envelope = assert_error(&server.send(request.clone()), ErrorCode::Interrupted);
        assert!(!envelope.meta.error.unwrap().retryable);
    }
    let other = keyed("slow", "edit", &json!({"path": "large", "find": "begin", "replace": "x"}));
    assert_error(&server.send(other), ErrorCode::IdempotencyConflict);
    assert!(fs::read(server.root().join("large")).unwrap() == after_crash, "the call took effect after all");
}

#[test]
fn a_repeat_while_the_first_call_runs_is_in_progress() {
    let server = ToolServer::start();
    let request = slow_edit(&server);
    let call = sent_and_claimed(&server, &request);
    assert_error(&server.send(request.clone()), ErrorCode::InProgress);
    let first = assert_whole(&call.join().unwrap().unwrap());
    assert!(first.ok, "{}", first.stderr);
    assert_eq!(assert_whole(&server.send(request)), first);
}

#[test]
fn many_repeats_at_once_take_effect_once() {
    let server = ToolServer::start();
    let address = server.address();
    let answers: Vec<Envelope> = std::thread::scope(|scope| {
        let calls: Vec<_> = (0..16).map(|_| scope.spawn(|| append("k", "one\n").send(address))).collect();
        calls.into_iter().map(|call| assert_whole(&call.join().unwrap())).collect()
    });
    let done: Vec<&Envelope> = answers.iter().filter(|envelope| envelope.ok).collect();
    assert!(!done.is_empty());
    assert!(done.iter().all(|envelope| *envelope == done[0]), "{done:?}");
    let in_progress = |envelope: &&Envelope| envelope.error_code() == Some(ErrorCode::InProgress);
    assert_eq!(done.len() + answers.iter().filter(in_progress).count(), answers.len(), "{answers:?}");
    assert_eq!(log(&server), "one\n");
}

#[test]
fn a_call_that_a_guard_refused_leaves_its_key_free() {
    let server = ToolServer::start();
    let wrong = keyed("k", "write", &json!({"path": "log", "contents": "one\n", "mode": "append"}));
    assert_error(&server.send(wrong), ErrorCode::InvalidArgument);
    assert!(assert_whole(&server.send(append("k", "one\n"))).ok);
    assert!(assert_whole(&server.send(append("another-key", "one\n"))).ok);
    assert_eq!(log(&server), "one\none\n");
}

#[test]
fn tools_that_only_read_ignore_keys() {
    let server = ToolServer::start();
    for content in ["one", "two"] {
        fs::write(server.root().join("f"), content).unwrap();
        let read = assert_whole(&server.send(keyed("k", "read", &json!({"path": "f"}))));
        assert_eq!(read.stdout, format!("1\t{content}\n"));
    }
    assert!(assert_whole(&server.send(keyed("k", "read", &json!({"path": "f", "limit": 1})))).ok);
}
