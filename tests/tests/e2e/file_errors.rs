//! Every error that the file tools can answer with: its code, its status, its whole envelope, and no change.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use harness::envelope_shape::{assert_error, assert_whole};
use harness::{Request, ToolServer};
use protocol::ErrorCode;
use serde_json::{Value, json};

use crate::assert_says;

const MAX_EDIT_BYTES: usize = 1000;

/// The tools that change something, each with arguments that would change the file at a path.
fn changes(path: &str) -> [(&'static str, Value); 4] {
    [
        ("write", json!({"path": path, "content": "new"})),
        ("edit", json!({"path": path, "find": "old", "replace": "new"})),
        ("multi_edit", json!({"path": path, "edits": [{"find": "old", "replace": "new"}]})),
        ("delete", json!({"path": path})),
    ]
}

fn server() -> ToolServer {
    let builder = ToolServer::builder().allowing_all();
    builder.variable("AUTONOUS_TOOL_MAX_EDIT_BYTES", &MAX_EDIT_BYTES.to_string()).start()
}

/// Everything beneath a directory, names and contents.
fn everything_below(directory: &Path) -> Vec<(String, Option<Vec<u8>>)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let is_file = path.symlink_metadata().unwrap().is_file();
        all.push((path.display().to_string(), is_file.then(|| fs::read(&path).unwrap())));
        if path.is_dir() && !path.is_symlink() {
            all.extend(everything_below(&path));
        }
    }
    all.sort();
    all
}

/// A root with one of everything that a file tool can refuse.
fn prepare(root: &Path) {
    fs::write(root.join("f"), "old old\n").unwrap();
    fs::write(root.join("latin"), b"old caf\xe9\n").unwrap();
    fs::write(root.join("program"), b"\x7fELF\x02\x01\0old").unwrap();
    fs::write(root.join("large"), "old ".repeat(MAX_EDIT_BYTES)).unwrap();
    fs::write(root.join("key.pem"), "old").unwrap();
    fs::create_dir_all(root.join("full/.git/hooks")).unwrap();
    fs::write(root.join("full/.git/config"), "old").unwrap();
    for (link, target) in [("loop", "loop"), ("dangling", "nothing"), ("innocent", "full/.git")] {
        std::os::unix::fs::symlink(target, root.join(link)).unwrap();
    }
    make_fifo(root);
}

/// Makes a pipe of the name `fifo`.
pub(crate) fn make_fifo(root: &Path) {
    let made = std::process::Command::new("mkfifo").arg(root.join("fifo")).status();
    assert!(made.unwrap().success());
}

/// Each call gets its code, and changes nothing.
fn check(server: &ToolServer, cases: &[(&str, Value, ErrorCode)]) {
    let before = everything_below(&server.root());
    for (tool, arguments, code) in cases {
        println!("{tool} {arguments}: {code}");
        assert_error(&server.send(Request::call(tool, arguments)), *code);
        assert_eq!(everything_below(&server.root()), before, "{tool} {arguments}");
    }
}

#[test]
fn each_wrong_use_of_a_tool_that_reads_gets_its_code() {
    let server = server();
    prepare(&server.root());
    let cases = [
        ("read", json!({"path": "program"}), ErrorCode::BinaryFile),
        ("read", json!({"path": "full"}), ErrorCode::IsDirectory),
        ("read", json!({"path": "fifo"}), ErrorCode::NotARegularFile),
        ("read", json!({"path": "nothing"}), ErrorCode::NotFound),
        ("read", json!({"path": "loop"}), ErrorCode::NotFound),
        ("read", json!({"path": "f/x"}), ErrorCode::NotADirectory),
        ("read", json!({"path": ""}), ErrorCode::InvalidArgument),
        ("read", json!({"path": "a\0b"}), ErrorCode::InvalidArgument),
        ("read", json!({"path": "a".repeat(300)}), ErrorCode::InvalidArgument),
        ("read", json!({"path": "key.pem"}), ErrorCode::PathDenied),
        ("read", json!({"path": "/etc/passwd"}), ErrorCode::PathOutsideRoots),
        ("read", json!({"path": "f", "start_line": 9}), ErrorCode::InvalidArgument),
        ("read", json!({"path": "f", "start_line": 0}), ErrorCode::InvalidArgument),
        ("read", json!({"path": "f", "offset": 99}), ErrorCode::InvalidArgument),
        ("read", json!({"path": "f", "offset": 0, "limit": 1}), ErrorCode::InvalidArgument),
        ("read", json!({"path": "f", "limit": 2001}), ErrorCode::InvalidArgument),
        ("read", json!({"path": "f", "cursor": "nonsense"}), ErrorCode::InvalidArgument),
        ("find", json!({"path": "nothing"}), ErrorCode::NotFound),
        ("find", json!({"path": "/etc"}), ErrorCode::PathOutsideRoots),
        ("find", json!({"name_pattern": "[a"}), ErrorCode::InvalidArgument),
        ("grep", json!({"path": "nothing", "pattern": "x"}), ErrorCode::NotFound),
        ("grep", json!({"path": "fifo", "pattern": "x"}), ErrorCode::NotARegularFile),
        ("grep", json!({"path": "/etc", "pattern": "x"}), ErrorCode::PathOutsideRoots),
        ("grep", json!({"path": "key.pem", "pattern": "x"}), ErrorCode::PathDenied),
        ("grep", json!({"pattern": "(x"}), ErrorCode::InvalidArgument),
        ("grep", json!({"path": "."}), ErrorCode::InvalidArgument),
    ];
    check(&server, &cases);
}

#[test]
fn each_wrong_change_gets_its_code_and_changes_nothing() {
    let server = server();
    prepare(&server.root());
    for path in ["f", "latin", "large"] {
        assert!(server.call("read", &json!({"path": path})).ok, "{path}");
    }
    assert!(server.call("read", &json!({"path": "program", "offset": 0})).ok);
    let edit =
        |path: &str, find: &str, replace: &str| json!({"path": path, "find": find, "replace": replace});
    let redacted = json!([{"find": "old old", "replace": "***REDACTED***"}]);
    let overlapping = json!([
        {"find": "ld o", "replace": "x"},
        {"find": "old\n", "replace": "y"},
        {"find": "d old", "replace": "z"},
    ]);
    let cases = [
        ("edit", edit("f", "absent", "x"), ErrorCode::NoMatch),
        ("edit", edit("f", "old", "x"), ErrorCode::NotUnique),
        ("edit", edit("f", "old", "old"), ErrorCode::InvalidArgument),
        ("edit", edit("f", "", "x"), ErrorCode::InvalidArgument),
        ("edit", edit("f", "old old", "***REDACTED***"), ErrorCode::InvalidArgument),
        ("edit", edit(".", "old", "x"), ErrorCode::IsDirectory),
        ("edit", edit("new/", "old", "x"), ErrorCode::IsDirectory),
        ("edit", edit("program", "old", "x"), ErrorCode::BinaryFile),
        ("edit", edit("latin", "old", "é"), ErrorCode::BinaryFile),
        ("edit", edit("large", "old", "x"), ErrorCode::FileTooLarge),
        ("multi_edit", json!({"path": "f", "edits": overlapping}), ErrorCode::InvalidArgument),
        ("multi_edit", json!({"path": "f", "edits": []}), ErrorCode::InvalidArgument),
        ("multi_edit", json!({"path": "f", "edits": redacted}), ErrorCode::InvalidArgument),
        ("write", json!({"path": "f", "content": "key=***REDACTED***"}), ErrorCode::InvalidArgument),
        ("write", json!({"path": ".", "content": "x"}), ErrorCode::IsDirectory),
        ("write", json!({"path": "new/", "content": "x"}), ErrorCode::IsDirectory),
        ("write", json!({"path": "f"}), ErrorCode::InvalidArgument),
        ("write", json!({"path": "f", "content": "x", "mode": "prepend"}), ErrorCode::InvalidArgument),
        ("write", json!({"path": "f/x", "content": "x"}), ErrorCode::NotADirectory),
        ("write", json!({"path": "dangling", "content": "x"}), ErrorCode::NotFound),
        ("delete", json!({"path": "full"}), ErrorCode::IsDirectory),
        ("delete", json!({"path": "."}), ErrorCode::InvalidArgument),
        ("delete", json!({"path": "fifo"}), ErrorCode::NotARegularFile),
        ("delete", json!({"path": "nothing"}), ErrorCode::NotFound),
    ];
    check(&server, &cases);
}

#[test]
fn what_no_change_may_touch_is_refused_by_every_tool_that_changes() {
    let server = server();
    prepare(&server.root());
    let before = everything_below(&server.root());
    for (path, code) in [
        ("full/.git/hooks/pre-commit", ErrorCode::ProtectedPath),
        ("full/.GIT/config", ErrorCode::ProtectedPath),
        ("innocent/config", ErrorCode::ProtectedPath),
        ("new/.envrc", ErrorCode::ProtectedPath),
        ("new/../.mcp.json", ErrorCode::ProtectedPath),
        (".vscode/tasks.json", ErrorCode::ProtectedPath),
        (".env", ErrorCode::PathDenied),
        ("key.pem", ErrorCode::PathDenied),
        ("new/.ssh/authorized_keys", ErrorCode::PathDenied),
        ("/etc/passwd", ErrorCode::PathOutsideRoots),
        ("../outside/secret.txt", ErrorCode::PathOutsideRoots),
        ("a\u{0}b", ErrorCode::InvalidArgument),
        ("fifo", ErrorCode::NotARegularFile),
        ("full", ErrorCode::IsDirectory),
    ] {
        for (tool, arguments) in changes(path) {
            // Hidden files can be removed unread: `hidden_removal` has the tests.
            if tool == "delete" && code == ErrorCode::PathDenied {
                continue;
            }
            println!("{tool} {path}: {code}");
            assert_error(&server.send(Request::call(tool, &arguments)), code);
        }
    }
    assert_eq!(everything_below(&server.root()), before);
}

#[test]
fn a_file_that_was_not_read_or_changed_since_is_not_changed() {
    let server = server();
    let file = server.root().join("f");
    fs::write(&file, "old").unwrap();
    for (tool, arguments) in changes("f") {
        assert_error(&server.send(Request::call(tool, &arguments)), ErrorCode::NotRead);
    }
    let read = server.call("read", &json!({"path": "f"}));
    fs::write(&file, "old, but not the same").unwrap();
    for (tool, mut arguments) in changes("f") {
        let changed = assert_error(&server.send(Request::call(tool, &arguments)), ErrorCode::Conflict);
        arguments["expected_sha256"] = read.meta.data["sha256"].clone();
        let unexpected = assert_error(&server.send(Request::call(tool, &arguments)), ErrorCode::Conflict);
        let now = server.call("read", &json!({"path": "f"})).meta.data["sha256"].as_str().unwrap().to_owned();
        for envelope in [changed, unexpected] {
            assert_says(&envelope.stderr, &[&now]);
        }
        fs::write(&file, format!("old, and changed before {tool}")).unwrap();
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), "old, and changed before delete");
}

#[test]
fn delete_asks_and_does_nothing_where_nobody_can_be_asked() {
    let server = ToolServer::start();
    fs::write(server.root().join("f"), "old").unwrap();
    let asked = server.send(Request::call("delete", &json!({"path": "f"})));
    assert_error(&asked, ErrorCode::ApprovalRequired);
    assert!(server.root().join("f").exists());
}

#[test]
fn what_the_servers_user_may_not_do_is_permission_denied() {
    let builder = ToolServer::builder().unprivileged().allowing_all();
    let root = builder.dir().root();
    fs::write(root.join("closed"), "old").unwrap();
    fs::create_dir(root.join("closed-dir")).unwrap();
    for name in ["closed", "closed-dir"] {
        fs::set_permissions(root.join(name), Permissions::from_mode(0o000)).unwrap();
    }
    fs::create_dir(root.join("fixed")).unwrap();
    fs::write(root.join("fixed/f"), "old").unwrap();
    fs::set_permissions(root.join("fixed/f"), Permissions::from_mode(0o644)).unwrap();
    fs::set_permissions(root.join("fixed"), Permissions::from_mode(0o555)).unwrap();
    let server = builder.start();
    let read = server.call("read", &json!({"path": "fixed/f"}));
    let mut answers = vec![
        server.send(Request::call("read", &json!({"path": "closed"}))),
        server.send(Request::call("ls", &json!({"path": "closed-dir"}))),
        server.send(Request::call("write", &json!({"path": "fixed/new", "content": "x"}))),
        server.send(Request::call("write", &json!({"path": "fixed/new/deep", "content": "x"}))),
    ];
    for (tool, arguments) in [changes("closed"), changes("fixed/f")].concat() {
        answers.push(server.send(Request::call(tool, &arguments)));
    }
    for name in ["fixed", "closed-dir"] {
        fs::set_permissions(root.join(name), Permissions::from_mode(0o755)).unwrap();
    }
    assert!(read.ok, "{}", read.stderr);
    for answer in answers {
        assert_error(&answer, ErrorCode::PermissionDenied);
    }
    assert_eq!(fs::read_to_string(root.join("fixed/f")).unwrap(), "old");
    assert_eq!(fs::read_dir(root.join("fixed")).unwrap().count(), 1);
}

#[test]
fn a_tool_whose_disk_fails_is_paused_for_its_session_alone_until_it_may_be_tried_again() {
    let server = ToolServer::start();
    let pending = server.dir().data().join("journal/pending");
    let write = |session: &str| {
        let request = Request::call("write", &json!({"path": "f", "content": "new"}));
        server.send(request.of_session(session))
    };
    // Without the place where it notes its temporary files a change cannot begin.
    fs::remove_dir(&pending).unwrap();
    for _ in 0..3 {
        assert_error(&write("one"), ErrorCode::IoError);
    }
    fs::create_dir(&pending).unwrap();
    let paused = write("one");
    assert_error(&paused, ErrorCode::CircuitOpen);
    let seconds: u64 = paused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=300).contains(&seconds), "{seconds}");
    assert!(!server.root().join("f").exists());
    let same_session = Request::call("ls", &json!({})).of_session("one");
    assert!(assert_whole(&server.send(same_session)).ok, "another tool goes on");
    assert!(assert_whole(&write("two")).ok, "another session goes on");
}
