//! `/files`: whole files in and out, with ranges, conditions and refusals; and what a kill leaves of an
//! upload.

use std::fs;
use std::net::TcpStream;
use std::path::{Path, PathBuf};

use harness::{Answer, Random, Request, ToolServer, leftovers, program, wait};
use protocol::ErrorCode;
use serde_json::{Value, json};

use crate::file_errors::make_fifo;
use crate::{assert_says, records};

const MEGABYTE: usize = 1 << 20;

fn get(path: &str) -> Request {
    Request::get(&format!("/files?path={path}"))
}

fn put(path: &str, content: impl Into<Vec<u8>>) -> Request {
    Request::put(&format!("/files?path={path}"), content)
}

/// The tag that a content must have.
fn tag(content: &[u8]) -> String {
    format!("\"{}\"", protocol::hash::sha256(content))
}

fn random_bytes(length: usize) -> Vec<u8> {
    let mut random = Random::new(20_260_701);
    (0..length).map(|_| u8::try_from(random.below(256)).unwrap()).collect()
}

/// Checks that an answer is an envelope of `files` with this code, under this status.
fn assert_refused(answer: &Answer, status: u16, code: ErrorCode) {
    let envelope = answer.envelope();
    let error = envelope.meta.error.as_ref().unwrap_or_else(|| panic!("no error: {}", answer.text()));
    assert_eq!((answer.status, error.code), (status, code), "{}", answer.text());
    assert_eq!(envelope.meta.tool, "files");
    assert!(!error.message.is_empty() && !error.hint.is_empty() && !envelope.ok);
}

#[test]
fn a_file_goes_in_and_comes_out_whole_and_in_parts() {
    let server = ToolServer::start();
    let content = random_bytes(300_000);
    let stored = server.send(put("new/deep/a%20b.bin", content.clone()).header("If-None-Match", "*"));
    let envelope = stored.envelope();
    assert_eq!((stored.status, envelope.ok, envelope.meta.tool.as_str()), (201, true, "files"));
    assert_eq!(stored.header("etag"), Some(tag(&content).as_str()));
    assert_eq!(envelope.meta.data["bytes_after"], 300_000);
    assert_eq!(fs::read(server.root().join("new/deep/a b.bin")).unwrap(), content);

    let whole = server.send(get("new/deep/a%20b.bin"));
    assert_eq!((whole.status, whole.body == content), (200, true));
    assert_eq!(whole.header("etag"), Some(tag(&content).as_str()));
    assert_eq!(whole.header("content-disposition"), Some("attachment; filename=\"a b.bin\""));
    assert_eq!(whole.header("content-type"), Some("application/octet-stream"));
    assert_eq!(whole.header("x-content-type-options"), Some("nosniff"));
    for (range, part, shown) in [
        ("bytes=0-9", &content[..10], "bytes 0-9/300000"),
        ("bytes=299990-", &content[299_990..], "bytes 299990-299999/300000"),
        ("bytes=-5", &content[299_995..], "bytes 299995-299999/300000"),
        ("bytes=131071-131073", &content[131_071..131_074], "bytes 131071-131073/300000"),
    ] {
        let answer = server.send(get("new/deep/a%20b.bin").header("Range", range));
        assert_eq!((answer.status, answer.body == part), (206, true), "{range}");
        assert_eq!(answer.header("content-range"), Some(shown));
    }
    let beyond = server.send(get("new/deep/a%20b.bin").header("Range", "bytes=300000-"));
    assert_refused(&beyond, 416, ErrorCode::InvalidArgument);
    assert_eq!(beyond.header("content-range"), Some("bytes */300000"));

    let head = server.send(Request::new("HEAD", "/files?path=new/deep/a%20b.bin"));
    assert_eq!((head.status, head.header("content-length")), (200, Some("300000")));
    assert_eq!((head.header("etag"), head.body.len()), (Some(tag(&content).as_str()), 0));
    let known = server.send(get("new/deep/a%20b.bin").header("If-None-Match", &tag(&content)));
    assert_eq!((known.status, known.body.len()), (304, 0));
    let changed = server.send(get("new/deep/a%20b.bin").header("If-Match", &tag(b"other")));
    assert_refused(&changed, 412, ErrorCode::Conflict);
    let outdated = get("new/deep/a%20b.bin").header("Range", "bytes=0-9").header("If-Range", &tag(b"other"));
    assert_eq!(server.send(outdated).status, 200);
    let empty = server.send(put("empty.txt", ""));
    assert_eq!((empty.status, server.send(get("empty.txt")).body.len()), (201, 0));
    assert_eq!(server.send(get("empty.txt")).header("content-type"), Some("text/plain; charset=utf-8"));
}

#[test]
fn a_file_is_replaced_only_by_who_knows_it() {
    let server = ToolServer::start();
    let root = server.root();
    let write = |content: &str| fs::write(root.join("f"), content).unwrap();
    write("one");
    assert_refused(&server.send(put("f", "x").header("If-None-Match", "*")), 412, ErrorCode::Conflict);
    assert_refused(&server.send(put("f", "x").header("If-Match", &tag(b"two"))), 412, ErrorCode::Conflict);
    assert_refused(&server.send(put("none", "x").header("If-Match", &tag(b"x"))), 412, ErrorCode::Conflict);
    assert_refused(&server.send(put("f", "x")), 409, ErrorCode::NotRead);
    // Its hash is not its content.
    server.send(Request::new("HEAD", "/files?path=f"));
    assert_refused(&server.send(put("f", "x")), 409, ErrorCode::NotRead);
    assert_eq!(fs::read(root.join("f")).unwrap(), b"one");

    let replaced = server.send(put("f", "two").header("If-Match", &tag(b"one")));
    assert_eq!((replaced.status, replaced.envelope().meta.data["operation"].clone()), (200, "update".into()));
    // What a session has stored it knows, for tools as well.
    assert_eq!(server.send(put("f", "three")).status, 200);
    assert!(server.call("edit", &json!({"path": "f", "find": "three", "replace": "four"})).ok);
    write("somebody else's");
    assert_refused(&server.send(put("f", "five")), 409, ErrorCode::Conflict);
    assert_eq!(server.send(get("f")).body, b"somebody else's");
    assert_eq!(server.send(put("f", "six")).status, 200, "a GET counts as a read");
    let elsewhere = put("f", "seven").of_session("other");
    assert_refused(&server.send(elsewhere), 409, ErrorCode::NotRead);
    assert_eq!(fs::read(root.join("f")).unwrap(), b"six");
}

/// What does not come out: the path, the status and the code.
const NOT_OUT: [(&str, u16, ErrorCode); 11] = [
    ("key.pem", 403, ErrorCode::PathDenied),
    ("/etc/passwd", 403, ErrorCode::PathOutsideRoots),
    ("../outside/secret.txt", 403, ErrorCode::PathOutsideRoots),
    ("out/secret.txt", 403, ErrorCode::PathOutsideRoots),
    ("nothing", 404, ErrorCode::NotFound),
    ("f/x", 404, ErrorCode::NotADirectory),
    ("repo", 409, ErrorCode::IsDirectory),
    ("fifo", 409, ErrorCode::NotARegularFile),
    ("", 400, ErrorCode::InvalidArgument),
    ("a%00b", 400, ErrorCode::InvalidArgument),
    ("f&more=1", 400, ErrorCode::InvalidArgument),
];

/// What does not go in.
const NOT_IN: [(&str, u16, ErrorCode); 8] = [
    (".env", 403, ErrorCode::PathDenied),
    ("repo/.git/hooks/pre-commit", 403, ErrorCode::ProtectedPath),
    ("repo/.git/config", 403, ErrorCode::ProtectedPath),
    (".envrc", 403, ErrorCode::ProtectedPath),
    ("out/new.txt", 403, ErrorCode::PathOutsideRoots),
    ("../new.txt", 403, ErrorCode::PathOutsideRoots),
    ("repo", 409, ErrorCode::IsDirectory),
    ("fifo", 409, ErrorCode::NotARegularFile),
];

/// The headers with which nothing goes in, and the status.
const HEADERS_NOT_TAKEN: [(&str, &str, u16); 6] = [
    ("If-Match", "*", 400),
    ("If-None-Match", "\"a\"", 400),
    ("Content-Range", "bytes 0-0/2", 400),
    ("Idempotency-Key", "key", 400),
    ("X-Session-Id", "not valid", 400),
    ("Content-Encoding", "gzip", 415),
];

/// Fills a root with entries of all kinds.
fn fill(server: &ToolServer) {
    let root = server.root();
    fs::create_dir_all(root.join("repo/.git/hooks")).unwrap();
    fs::write(root.join("repo/.git/HEAD"), "ref: refs/heads/main\n").unwrap();
    fs::write(root.join("key.pem"), "secret").unwrap();
    fs::write(root.join("f"), "old").unwrap();
    std::os::unix::fs::symlink(server.dir().outside(), root.join("out")).unwrap();
    make_fifo(&root);
}

#[test]
fn what_tools_may_not_reach_goes_neither_in_nor_out() {
    let server = ToolServer::builder().variable("AUTONOUS_TOOL_MAX_UPLOAD_BYTES", "1000").start();
    let root = server.root();
    fill(&server);
    for (path, status, code) in NOT_OUT {
        assert_refused(&server.send(get(path)), status, code);
    }
    for (path, status, code) in NOT_IN {
        assert_refused(&server.send(put(path, "x")), status, code);
    }
    assert_refused(&server.send(put("large", vec![0; 1001])), 413, ErrorCode::PayloadTooLarge);
    let chunked = put("deep/large", vec![0; 1001]).header("Transfer-Encoding", "chunked");
    assert_refused(&server.send(chunked), 413, ErrorCode::PayloadTooLarge);
    assert_eq!(server.send(put("fits", vec![0; 1000])).status, 201);
    for (name, value, status) in HEADERS_NOT_TAKEN {
        let answer = server.send(put("refused", "x").header(name, value));
        assert_eq!((answer.status, answer.envelope().ok), (status, false), "{name}: {}", answer.text());
    }
    assert_eq!(server.send(Request::new("DELETE", "/files?path=f")).status, 405);
    assert!(server.call("file_upload", &json!({"path": "f"})).meta.error.is_some(), "it is no tool");
    let mut left: Vec<_> = fs::read_dir(&root).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["f", "fifo", "fits", "key.pem", "out", "repo"], "a refusal leaves nothing");
    assert!(!root.join("repo/.git/config").exists());
}

#[test]
fn whoever_has_no_token_gets_nothing_and_the_operator_can_switch_it_off() {
    let server = ToolServer::builder().token("0123456789abcdef").start();
    fs::write(server.root().join("f"), "old").unwrap();
    let refused = get("f").header("Authorization", "Bearer wrong").send(server.address());
    assert_eq!((refused.status, refused.text().contains("old")), (401, false));
    let refused = put("g", "x").header("Authorization", "Bearer wrong").send(server.address());
    assert_eq!((refused.status, server.root().join("g").exists()), (401, false));
    let on = server.send(Request::get("/capabilities")).json()["raw_files"].take();
    assert_eq!((&on["enabled"], &on["max_upload_bytes"]), (&json!(true), &json!(64 << 20)));
    assert_says(on["meaning"].as_str().unwrap(), &["not redacted"]);

    let off = ToolServer::builder().variable("AUTONOUS_TOOL_RAW_FILES", "false").start();
    fs::write(off.root().join("f"), "old").unwrap();
    assert_refused(&off.send(get("f")), 403, ErrorCode::ToolNotAllowed);
    assert_refused(&off.send(put("g", "x")), 403, ErrorCode::ToolNotAllowed);
    assert_eq!(off.send(Request::get("/capabilities")).json()["raw_files"]["enabled"], false);
    assert!(!off.root().join("g").exists());
}

#[test]
fn both_ways_are_in_the_journal_under_their_names() {
    let server = ToolServer::start();
    let task = "0197a2a0-0000-7000-8000-000000000001";
    server.send(put("f", "content").header("X-Task-Id", task).of_session("telegram:4711"));
    server.send(get("f").header("Range", "bytes=0-1"));
    server.send(get(".env"));
    let records: Vec<Value> = records(server.dir());
    let named =
        |record: &Value| ["type", "tool_name"].map(|field| record[field].as_str().unwrap().to_owned());
    let expected = [
        ["tool_call.started", "file_upload"],
        ["tool_call.completed", "file_upload"],
        ["tool_call.started", "file_download"],
        ["tool_call.completed", "file_download"],
        ["tool_call.started", "file_download"],
        ["tool_call.failed", "file_download"],
    ];
    assert_eq!(records.iter().map(named).collect::<Vec<_>>(), expected);
    assert_eq!((&records[0]["task_id"], &records[0]["session_id"]), (&json!(task), &json!("telegram:4711")));
    assert_eq!(records[1]["operation"], "create");
    assert_eq!(format!("\"{}\"", records[1]["sha256_after"].as_str().unwrap()), tag(b"content"));
    assert_eq!(records[2]["arguments"]["range"], "bytes=0-1");
    program::stdout_of(&server.run_command(&["journal", "verify"]));
}

#[test]
fn twenty_megabytes_go_in_and_out_with_little_memory() {
    let mut server = ToolServer::start();
    let content = random_bytes(20 * MEGABYTE);
    // Once before, so that what every first call costs is not counted.
    server.send(put("warm", "x"));
    server.send(get("warm"));
    let upload = put("large.bin", content.clone());
    let peak = |server: &mut ToolServer, action: &dyn Fn(&ToolServer)| {
        server.program().forget_peak();
        let before = server.program().peak_kb();
        action(server);
        server.program().peak_kb().saturating_sub(before)
    };
    let more_in = peak(&mut server, &|server| assert_eq!(server.send(upload.clone()).status, 201));
    let more_out = peak(&mut server, &|server| assert!(server.send(get("large.bin")).body == content));
    println!("20 MB in: {more_in} kB more, out: {more_out} kB more");
    assert!(more_in < 10_000 && more_out < 10_000, "{more_in} kB in, {more_out} kB out");
    let replaced = server.send(put("large.bin", "small"));
    assert_eq!(replaced.status, 200, "beyond the edit limit, too, a session knows what it has fetched");
}

/// The other files of a root, and how large it is.
fn temporary_bytes(root: &Path) -> u64 {
    let entries = fs::read_dir(root).unwrap().filter_map(|entry| {
        let entry = entry.ok()?;
        let is_temporary = entry.file_name().to_string_lossy().starts_with(".autonous-");
        is_temporary.then(|| entry.metadata().map_or(0, |facts| facts.len()))
    });
    entries.sum()
}

/// A server with a file, the file's root, and an upload that would replace the file: all but its end was
/// sent, and the server has begun to write it.
fn uploading() -> (ToolServer, PathBuf, TcpStream) {
    let server = ToolServer::start();
    let root = server.root();
    fs::write(root.join("f"), "old").unwrap();
    let upload = put("f", vec![b'n'; 2 * MEGABYTE]).header("If-Match", &tag(b"old"));
    let connection = upload.send_without_the_last(1000, server.address());
    let half = u64::try_from(MEGABYTE).unwrap();
    wait::until_true("half of the upload is on the disk", || temporary_bytes(&root) > half);
    (server, root, connection)
}

#[test]
fn a_kill_during_an_upload_leaves_the_old_file_and_nothing_else() {
    let (mut server, root, connection) = uploading();
    assert_eq!(fs::read(root.join("f")).unwrap(), b"old");
    // Else its removal would prove nothing.
    server.crash(|_| assert!(temporary_bytes(&root) > 0, "the kill left a temporary file"));
    drop(connection);
    leftovers::assert_no_temporary_file(&root);
    assert_eq!(fs::read(root.join("f")).unwrap(), b"old");
    let pending = fs::read_dir(server.dir().data().join("journal/pending")).unwrap().count();
    assert_eq!(pending, 0);
    assert_eq!(server.send(put("f", "new").header("If-Match", &tag(b"old"))).status, 200);
}

#[test]
fn a_client_that_goes_away_leaves_the_old_file_and_keeps_nobody_waiting() {
    let (server, root, connection) = uploading();
    // While one client sends, others change files, this one among them.
    assert!(server.call("write", &json!({"path": "g", "content": "x"})).ok);
    assert!(server.call("read", &json!({"path": "f"})).ok);
    drop(connection);
    let journal = server.dir().journal();
    wait::until_true("the upload is recorded as failed", || {
        let text = fs::read_to_string(&journal).unwrap();
        text.lines().any(|line| line.contains("tool_call.failed") && line.contains("file_upload"))
    });
    leftovers::assert_no_temporary_file(&root);
    assert_eq!(fs::read(root.join("f")).unwrap(), b"old");
}

#[test]
fn a_file_that_was_changed_during_an_upload_is_not_overwritten() {
    let (_server, root, mut connection) = uploading();
    fs::write(root.join("f"), "another's").unwrap();
    std::io::Write::write_all(&mut connection, &[b'n'; 1000]).unwrap();
    let mut answer = String::new();
    std::io::Read::read_to_string(&mut connection, &mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 412 ") && answer.contains("CONFLICT"), "{answer}");
    assert_eq!(fs::read(root.join("f")).unwrap(), b"another's");
}
