//! What file tools changed is brought back over HTTP: each kind of change, undoing an undo, and who and what
//! is refused.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use harness::envelope_shape::assert_whole;
use harness::{Answer, Request, ToolServer};
use protocol::{Envelope, ErrorCode};
use serde_json::{Value, json};

use crate::assert_says;

fn undo_of(changed: &Envelope) -> Request {
    Request::new("POST", &format!("/changes/{}/undo", changed.meta.call_id))
}

fn undo_with(changed: &Envelope, body: &Value) -> Request {
    Request::post_json(&format!("/changes/{}/undo", changed.meta.call_id), body)
}

/// Undoes a change, which must succeed; the envelope of the undo.
fn undo(server: &ToolServer, changed: &Envelope) -> Envelope {
    let envelope = assert_whole(&server.send(undo_of(changed)));
    assert!(envelope.ok, "{envelope:?}");
    assert_eq!(envelope.meta.data["undone_call_id"], json!(changed.meta.call_id));
    envelope
}

fn refused(answer: &Answer, status: u16, code: ErrorCode, words: &str) {
    let error = answer.envelope().meta.error.expect("it is refused");
    assert_eq!((answer.status, error.code), (status, code), "{}", error.message);
    assert!(error.message.contains(words), "{}", error.message);
}

/// Calls a tool, which must succeed and be undoable.
fn change(server: &ToolServer, tool: &str, arguments: &Value) -> Envelope {
    let envelope = server.call(tool, arguments);
    assert!(envelope.ok, "{envelope:?}");
    assert_eq!(envelope.meta.data["can_be_undone"], true, "{envelope:?}");
    envelope
}

fn text(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok()
}

fn with_deletion() -> ToolServer {
    ToolServer::builder().allowing_all().start()
}

fn kept_files(server: &ToolServer) -> Vec<PathBuf> {
    let entries = fs::read_dir(server.dir().data().join("output/undo")).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| !path.to_string_lossy().contains("changes.jsonl"));
    files.sort();
    files
}

#[test]
fn each_change_of_a_file_is_undone_and_each_undo_is_undone_in_turn() {
    let server = with_deletion();
    let file = server.root().join("f");
    fs::write(&file, "one\ntwo\n").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o751)).unwrap();
    let changes = [
        ("write", json!({"path": "f", "content": "new\n"}), Some("new\n")),
        ("write", json!({"path": "f", "content": "three\n", "mode": "append"}), Some("one\ntwo\nthree\n")),
        ("edit", json!({"path": "f", "find": "two", "replace": "2"}), Some("one\n2\n")),
        ("multi_edit", json!({"path": "f", "edits": [{"find": "one", "replace": "1"}]}), Some("1\ntwo\n")),
        ("delete", json!({"path": "f"}), None),
    ];
    for (tool, arguments, after) in changes {
        assert!(server.call("read", &json!({"path": "f"})).ok);
        let changed = change(&server, tool, &arguments);
        assert_eq!(text(&file).as_deref(), after, "{tool}");
        let undone = undo(&server, &changed);
        assert_eq!(text(&file).as_deref(), Some("one\ntwo\n"), "{tool}");
        assert_eq!(file.metadata().unwrap().mode() & 0o7777, 0o751, "{tool}");
        let again = undo(&server, &undone);
        assert_eq!(text(&file).as_deref(), after, "the undo of {tool} was undone");
        undo(&server, &again);
        assert_eq!(text(&file).as_deref(), Some("one\ntwo\n"), "{tool}");
        assert_eq!(file.metadata().unwrap().nlink(), 1, "{tool}");
    }
}

#[test]
fn what_was_created_is_removed_and_what_was_removed_comes_back() {
    let server = with_deletion();
    let root = server.root();
    let made = change(&server, "write", &json!({"path": "a/b/new", "content": "x"}));
    undo(&server, &made);
    assert!(!root.join("a").exists(), "the directories were made for the file");

    let made = change(&server, "write", &json!({"path": "a/b/new", "content": "x"}));
    fs::write(root.join("a/other"), "").unwrap();
    let undone = undo(&server, &made);
    assert!(root.join("a/other").exists() && !root.join("a/b").exists(), "only empty ones are removed");
    undo(&server, &undone);
    assert_eq!(text(&root.join("a/b/new")).as_deref(), Some("x"));

    symlink("nowhere", root.join("link")).unwrap();
    let deleted = change(&server, "delete", &json!({"path": "link"}));
    let undone = undo(&server, &deleted);
    assert_eq!(fs::read_link(root.join("link")).unwrap(), Path::new("nowhere"));
    undo(&server, &undone);
    assert!(root.join("link").symlink_metadata().is_err());

    fs::create_dir(root.join("empty")).unwrap();
    fs::set_permissions(root.join("empty"), fs::Permissions::from_mode(0o705)).unwrap();
    let deleted = change(&server, "delete", &json!({"path": "empty"}));
    let undone = undo(&server, &deleted);
    assert_eq!(root.join("empty").metadata().unwrap().mode() & 0o7777, 0o705);
    fs::write(root.join("empty/f"), "").unwrap();
    let answer = server.send(undo_of(&undone));
    refused(&answer, 409, ErrorCode::Conflict, "has something in it");

    let stored = server.send(Request::put("/files?path=up", vec![0_u8, 1, 2]));
    let stored = stored.envelope();
    let replaced = server.send(Request::put("/files?path=up", "text")).envelope();
    assert!(replaced.ok, "{replaced:?}");
    undo(&server, &replaced);
    assert_eq!(fs::read(root.join("up")).unwrap(), [0, 1, 2]);
    undo(&server, &stored);
    assert!(!root.join("up").exists());
}

/// An undo that a crash cut off may have been made without a record of its end.
#[test]
fn an_undo_that_was_made_already_is_a_success_for_a_caller_that_accepts_it() {
    let server = with_deletion();
    let root = server.root();
    let accepting =
        |changed: &Envelope| assert_whole(&server.send(undo_with(changed, &json!({"accept_undone": true}))));
    fs::write(root.join("f"), "one\n").unwrap();
    symlink("nowhere", root.join("link")).unwrap();
    fs::create_dir(root.join("empty")).unwrap();
    let read = || assert!(server.call("read", &json!({"path": "f"})).ok);
    let changes = [
        ("write", json!({"path": "a/b/new", "content": "x"}), "delete"),
        ("write", json!({"path": "f", "content": "two\n"}), "update"),
        ("write", json!({"path": "f", "content": "three\n", "mode": "append"}), "update"),
        ("delete", json!({"path": "f"}), "create"),
        ("delete", json!({"path": "link"}), "create"),
        ("delete", json!({"path": "empty"}), "create"),
    ];
    for (tool, arguments, operation) in changes {
        read();
        let changed = change(&server, tool, &arguments);
        let undone = undo(&server, &changed);
        refused(&server.send(undo_of(&changed)), 409, ErrorCode::Conflict, "call");
        let again = accepting(&changed);
        assert!(again.ok, "{tool} {arguments}: {again:?}");
        assert_eq!(again.meta.data["operation"], operation, "{tool} {arguments}");
        assert_eq!(again.meta.data["can_be_undone"], false, "this one made nothing");
        undo(&server, &undone);
        undo(&server, &changed);
    }
    let made = change(&server, "write", &json!({"path": "a/b/new", "content": "x"}));
    fs::remove_file(root.join("a/b/new")).unwrap();
    assert!(accepting(&made).ok);
    assert!(!root.join("a").exists(), "the directories that the cut left are removed, too");

    let made = change(&server, "write", &json!({"path": "f", "content": "two\n"}));
    fs::write(root.join("f"), "by somebody else").unwrap();
    assert_eq!(accepting(&made).meta.error.unwrap().code, ErrorCode::Conflict);
    assert_eq!(text(&root.join("f")).as_deref(), Some("by somebody else"));
}

#[test]
fn a_file_that_has_changed_since_is_left_alone() {
    let server = with_deletion();
    let file = server.root().join("f");
    let written = change(&server, "write", &json!({"path": "f", "content": "first"}));
    fs::write(&file, "by somebody else").unwrap();
    refused(&server.send(undo_of(&written)), 409, ErrorCode::Conflict, "was changed since");
    assert_eq!(text(&file).as_deref(), Some("by somebody else"));
    fs::remove_file(&file).unwrap();
    refused(&server.send(undo_of(&written)), 409, ErrorCode::Conflict, "gone");

    fs::write(&file, "first").unwrap();
    assert!(server.call("read", &json!({"path": "f"})).ok);
    let second = change(&server, "write", &json!({"path": "f", "content": "second"}));
    let dry = undo_with(&second, &json!({"dry_run": true}));
    assert_eq!(server.send(dry).envelope().meta.status, protocol::Status::Partial);
    assert_eq!(text(&file).as_deref(), Some("second"), "a dry run changes nothing");
    undo(&server, &second);
    refused(&server.send(undo_of(&second)), 409, ErrorCode::Conflict, "nothing to undo");

    assert!(server.call("read", &json!({"path": "f"})).ok, "the session has not seen what came back");
    let deleted = change(&server, "delete", &json!({"path": "f"}));
    fs::write(&file, "again").unwrap();
    refused(&server.send(undo_of(&deleted)), 409, ErrorCode::Conflict, "there again");
    assert_eq!(text(&file).as_deref(), Some("again"));
}

#[test]
fn an_undo_meets_the_rules_of_any_change() {
    let mut server = with_deletion();
    let root = server.root();
    let written = change(&server, "write", &json!({"path": "d/f", "content": "x"}));
    // The path leads elsewhere now, to a file with the same content.
    fs::rename(root.join("d"), root.join("elsewhere")).unwrap();
    symlink("elsewhere", root.join("d")).unwrap();
    refused(&server.send(undo_of(&written)), 409, ErrorCode::Conflict, "replaced by a link");
    fs::remove_file(root.join("d")).unwrap();
    symlink(server.dir().data(), root.join("d")).unwrap();
    fs::write(server.dir().data().join("f"), "x").unwrap();
    refused(&server.send(undo_of(&written)), 403, ErrorCode::PathOutsideRoots, "outside");
    assert!(server.dir().data().join("f").exists());

    // The kept record is no way around a name that tools never write.
    let list = server.dir().data().join("output/undo/changes.jsonl");
    server.crash(|_| {
        let records = fs::read_to_string(&list).unwrap();
        fs::write(&list, records.replace("/d/f", "/.envrc")).unwrap();
        fs::write(root.join(".envrc"), "x").unwrap();
    });
    refused(&server.send(undo_of(&written)), 403, ErrorCode::ProtectedPath, "control file");
    assert!(root.join(".envrc").exists());
}

#[test]
fn only_the_session_and_token_of_a_change_undo_it() {
    let server = ToolServer::builder().token("FAKE-undo-token").start();
    let write = Request::call("write", &json!({"path": "f", "content": "x"}));
    let written = server.send(write.of_session("one")).envelope();
    refused(
        &server.send(undo_of(&written).of_session("two")),
        404,
        ErrorCode::NotFound,
        "can be undone here",
    );
    let stranger = undo_of(&written).bearer("other");
    refused(&server.send(stranger.of_session("one")), 401, ErrorCode::Unauthorized, "wrong");
    let unknown = server.send(Request::new("POST", "/changes/no%20such%20call/undo"));
    refused(&unknown, 400, ErrorCode::InvalidArgument, "not the ID of a call");
    assert!(server.root().join("f").exists());
    assert!(server.send(undo_of(&written).of_session("one")).envelope().ok);
}

#[test]
fn an_approver_undoes_the_changes_of_all_and_calls_nothing_else() {
    let refused_start = ToolServer::builder()
        .token("FAKE-the-same")
        .variable("AUTONOUS_TOOL_APPROVER_TOKEN", "FAKE-the-same")
        .start_refused();
    assert_says(&refused_start.stderr, &["another token than AUTONOUS_TOOL_TOKEN"]);

    let mut server = ToolServer::builder()
        .token("FAKE-undo-token")
        .variable("AUTONOUS_TOOL_APPROVER_TOKEN", "FAKE-approver")
        .start();
    let write = Request::call("write", &json!({"path": "f", "content": "x"}));
    let written = server.send(write.clone().of_session("one")).envelope();
    refused(&server.send(write.bearer("FAKE-approver")), 401, ErrorCode::Unauthorized, "wrong");
    server.crash(|_| {});
    let undone = server.send(undo_of(&written).bearer("FAKE-approver")).envelope();
    assert!(undone.ok, "{undone:?}");
    assert!(!server.root().join("f").exists());
    // The undo belongs to the session whose change it was.
    let redo = undo_of(&undone).of_session("one");
    assert!(server.send(redo).envelope().ok);
    assert_eq!(text(&server.root().join("f")).as_deref(), Some("x"));
}

#[test]
fn a_skill_that_the_task_has_read_does_not_keep_its_changes_from_being_undone() {
    let server = ToolServer::start();
    server.dir().write_skill("reading", "description: Reads.\nallowed-tools: read");
    let in_task = |request: Request| request.header("X-Task-Id", "task-1");
    let write = in_task(Request::call("write", &json!({"path": "f", "content": "x"})));
    let written = server.send(write.clone()).envelope();
    let read = server.send(in_task(Request::call("skill", &json!({"name": "reading"})))).envelope();
    assert!(read.ok, "{read:?}");
    assert_eq!(server.send(write).envelope().meta.error.unwrap().code, ErrorCode::ToolNotAllowed);
    let undone = server.send(in_task(undo_of(&written))).envelope();
    assert!(undone.ok, "{undone:?}");
}

#[test]
fn each_session_s_undo_stays_in_its_own_workspace() {
    let server = ToolServer::builder().variable("AUTONOUS_WORKSPACES", "per-chat").start();
    let write = |name: &str| {
        server
            .send(Request::call("write", &json!({"path": "f", "content": name})).of_session(name))
            .envelope()
    };
    let (one, two) = (write("one"), write("two"));
    refused(&server.send(undo_of(&two).of_session("one")), 404, ErrorCode::NotFound, "here");
    assert!(server.send(undo_of(&one).of_session("one")).envelope().ok);
    assert!(!server.root().join("one/f").exists());
    assert_eq!(text(&server.root().join("two/f")).as_deref(), Some("two"));
}

#[test]
fn kept_contents_are_bounded_shared_and_for_nobody_to_read() {
    let server = ToolServer::builder().variable("AUTONOUS_UNDO_MAX_MB", "1").start();
    let file = server.root().join("f");
    let put = |content: &[u8]| server.send(Request::put("/files?path=f", content)).envelope();
    let large = vec![7_u8; 700 * 1024];
    put(&large);
    let first = put(b"small");
    assert_eq!(first.meta.data["can_be_undone"], true);
    assert_eq!(kept_files(&server).len(), 1);
    let kept = kept_files(&server).remove(0);
    assert_eq!(kept.metadata().unwrap().mode() & 0o077, file.metadata().unwrap().mode() & 0o077);
    let read = server.call("read", &json!({"path": kept.display().to_string()}));
    assert_eq!(read.meta.error.unwrap().code, ErrorCode::NotFound);

    put(&large);
    put(b"small");
    assert_eq!(kept_files(&server).len(), 2, "equal contents are kept once");
    let other = vec![8_u8; 700 * 1024];
    put(&other);
    put(b"small again");
    refused(&server.send(undo_of(&first)), 404, ErrorCode::NotFound, "can be undone");

    let too_large = put(&vec![9_u8; (1 << 20) + 1]);
    assert_eq!(too_large.meta.data["can_be_undone"], true, "what it replaces is small");
    let not_kept = put(b"end");
    assert_eq!(not_kept.meta.data["can_be_undone"], false);
    assert!(not_kept.stderr.contains("AUTONOUS_UNDO_MAX_MB"), "{}", not_kept.stderr);
}

#[test]
fn a_change_of_last_week_is_forgotten_and_a_server_that_keeps_nothing_says_so() {
    let mut server = ToolServer::start();
    let written = change(&server, "write", &json!({"path": "f", "content": "x"}));
    let replaced = change(&server, "write", &json!({"path": "f", "content": "y"}));
    let list = server.dir().data().join("output/undo/changes.jsonl");
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let week_ago = (now - Duration::from_secs(8 * 24 * 3600)).as_millis();
    assert_eq!(kept_files(&server).len(), 1);
    server.crash(|_| {
        let records = fs::read_to_string(&list).unwrap();
        let old = made_at(&records, week_ago);
        fs::write(&list, old).unwrap();
    });
    for call in [&written, &replaced] {
        refused(&server.send(undo_of(call)), 404, ErrorCode::NotFound, "can be undone");
    }
    assert_eq!(kept_files(&server), Vec::<PathBuf>::new());

    let off = ToolServer::builder().variable("AUTONOUS_UNDO_MAX_MB", "0").start();
    let written = off.call("write", &json!({"path": "f", "content": "x"}));
    assert_eq!(written.meta.data["can_be_undone"], false);
    refused(&off.send(undo_of(&written)), 404, ErrorCode::NotFound, "can be undone");
}

/// The records with another time.
fn made_at(records: &str, time_ms: u128) -> String {
    let line = |line: &str| {
        let mut record: Value = serde_json::from_str(line).unwrap();
        record["time_ms"] = json!(u64::try_from(time_ms).unwrap());
        format!("{record}\n")
    };
    records.lines().map(line).collect()
}

#[test]
fn a_kept_content_that_was_changed_is_not_brought_back() {
    let server = ToolServer::start();
    fs::write(server.root().join("f"), "old").unwrap();
    let mut held = fs::OpenOptions::new().append(true).open(server.root().join("f")).unwrap();
    assert!(server.call("read", &json!({"path": "f"})).ok);
    let written = change(&server, "write", &json!({"path": "f", "content": "new"}));
    std::io::Write::write_all(&mut held, b" and more").unwrap();
    let answer = server.send(undo_of(&written));
    refused(&answer, 409, ErrorCode::Conflict, "gone or was changed");
    assert_eq!(text(&server.root().join("f")).as_deref(), Some("new"));
}

#[test]
fn a_file_with_two_names_is_kept_as_a_copy() {
    let server = ToolServer::start();
    let (file, other) = (server.root().join("f"), server.root().join("other"));
    fs::write(&file, "old").unwrap();
    fs::hard_link(&file, &other).unwrap();
    assert!(server.call("read", &json!({"path": "f"})).ok);
    let written = change(&server, "write", &json!({"path": "f", "content": "new"}));
    fs::write(&other, "changed under its other name").unwrap();
    undo(&server, &written);
    assert_eq!(text(&file).as_deref(), Some("old"));
}

#[test]
fn the_journal_says_that_a_copy_exists_and_what_an_undo_took_back() {
    let server = ToolServer::start();
    let written = change(&server, "write", &json!({"path": "f", "content": "x"}));
    let undone = undo(&server, &written);
    let journal = fs::read_to_string(server.dir().journal()).unwrap();
    let records: Vec<Value> = journal.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let end_of = |call: &Envelope| {
        records.iter().find(|record| record["parent_id"] == json!(call.meta.call_id)).unwrap().clone()
    };
    assert_eq!(end_of(&written)["can_be_undone"], true);
    let end = end_of(&undone);
    assert_eq!((&end["tool_name"], &end["operation"]), (&json!("undo"), &json!("delete")));
    assert_eq!(end["undone_call_id"], json!(written.meta.call_id));
}
