//! `file_state_dir` and `file_cache_dir`: names for directories, in every path and in commands.

use std::fs;
use std::path::PathBuf;

use harness::envelope_shape::{assert_error, assert_whole};
use harness::{Request, TestDir, ToolServer};
use protocol::{Envelope, ErrorCode};
use serde_json::{Value, json};

use crate::assert_says;

/// A server with a root for what an agent keeps, whose path needs quotes; and that root.
fn server() -> (ToolServer, TestDir, PathBuf) {
    let kept = TestDir::new();
    let state = kept.path().join("what it keeps/state");
    fs::create_dir_all(&state).unwrap();
    let builder = ToolServer::builder();
    let first = builder.dir().root();
    (builder.roots(&[first, state.clone()]).allowing_all().start(), kept, state)
}

fn called(server: &ToolServer, tool: &str, arguments: &Value) -> Envelope {
    let envelope = assert_whole(&server.send(Request::call(tool, arguments)));
    assert!(envelope.ok, "{tool} {arguments}: {}", envelope.stderr);
    envelope
}

fn refused(server: &ToolServer, tool: &str, arguments: &Value) -> ErrorCode {
    let envelope = assert_whole(&server.send(Request::call(tool, arguments)));
    envelope.meta.error.unwrap_or_else(|| panic!("{tool} {arguments} ran")).code
}

#[test]
fn an_alias_begins_every_path_that_a_tool_takes() {
    let (server, _kept, state) = server();
    called(&server, "write", &json!({"path": "file_state_dir/notes/a.md", "content": "one\n"}));
    assert_eq!(fs::read_to_string(state.join("notes/a.md")).unwrap(), "one\n");
    assert_eq!(called(&server, "read", &json!({"path": "file_state_dir/notes/a.md"})).stdout, "1\tone\n");
    let edits = json!([{"find": "one", "replace": "two"}]);
    called(&server, "multi_edit", &json!({"path": "file_state_dir/notes/a.md", "edits": edits}));
    for (tool, arguments, part) in [
        ("ls", json!({"path": "file_state_dir"}), "notes/"),
        ("find", json!({"path": "file_state_dir/", "name_pattern": "*.md"}), "a.md"),
        ("grep", json!({"path": "file_state_dir", "pattern": "two"}), "two"),
    ] {
        assert_says(&called(&server, tool, &arguments).stdout, &[part]);
    }
    let file = server.send(Request::get("/files?path=file_state_dir/notes/a.md"));
    assert_eq!((file.status, file.text().as_str()), (200, "two\n"));
    called(&server, "write", &json!({"path": "file_cache_dir/x", "content": "cached"}));
    assert_eq!(fs::read_to_string(server.root().join(".cache/autonous/x")).unwrap(), "cached");
    called(&server, "delete", &json!({"path": "file_cache_dir/x"}));
    // Only as the first name of a relative path.
    let read = |path: &str| refused(&server, "read", &json!({"path": path}));
    assert_eq!(read("./file_state_dir/notes/a.md"), ErrorCode::NotFound);
    assert_eq!(read("file_state_dir"), ErrorCode::IsDirectory);
    assert_eq!(read("file_state_dir/../../x"), ErrorCode::PathOutsideRoots);
}

#[test]
fn an_alias_is_a_word_of_a_command_and_its_directory() {
    let (server, _kept, state) = server();
    let bash = |cmd: &str| called(&server, "bash", &json!({"cmd": cmd})).stdout;
    bash("echo one > file_state_dir/a.txt; cp file_state_dir/a.txt 'file_state_dir/b c.txt'");
    assert_eq!(fs::read_to_string(state.join("b c.txt")).unwrap(), "one\n");
    let shown = bash("n=a; cat \"file_state_dir/$n.txt\" && cd file_state_dir && ls");
    assert_eq!(shown, "one\na.txt\nb c.txt\n");
    assert_eq!(bash("echo say file_state_dirs"), "say file_state_dirs\n");
    bash("echo kept > file_cache_dir/k");
    assert_eq!(fs::read_to_string(server.root().join(".cache/autonous/k")).unwrap(), "kept\n");
    let listed = called(&server, "bash", &json!({"cmd": "pwd && ls", "workdir": "file_state_dir"})).stdout;
    assert_eq!(listed, format!("{}\na.txt\nb c.txt\n", state.display()));
}

#[test]
fn a_rule_about_a_path_holds_for_its_alias() {
    let kept = TestDir::new();
    let state = kept.path().join("state");
    fs::create_dir_all(state.join("locked")).unwrap();
    fs::write(state.join("locked/a"), "a").unwrap();
    let rules = "[[rule]]\ntools = [\"read\"]\npaths = [\"locked/**\"]\ndecision = \"deny\"\n\
                 [[rule]]\ncommands = [\"cat STATE/locked/a\"]\ndecision = \"deny\"\n";
    let rules = rules.replace("STATE", state.to_str().unwrap());
    let builder = ToolServer::builder();
    let first = builder.dir().root();
    let server = builder.roots(&[first, state]).policy(&rules).start();
    for (tool, arguments) in [
        ("read", json!({"path": "file_state_dir/locked/a"})),
        ("bash", json!({"cmd": "cat file_state_dir/locked/a"})),
        ("bash", json!({"cmd": "cat 'file_state_dir'/locked/a"})),
    ] {
        assert_eq!(refused(&server, tool, &arguments), ErrorCode::ToolNotAllowed, "{arguments}");
    }
}

#[test]
fn without_such_a_root_the_alias_is_an_error_that_says_so() {
    let server = ToolServer::start();
    for (tool, arguments) in [
        ("read", json!({"path": "file_state_dir/a"})),
        ("write", json!({"path": "file_state_dir/a", "content": ""})),
        ("bash", json!({"cmd": "pwd; ls file_state_dir"})),
        ("bash", json!({"cmd": "pwd; ls", "workdir": "file_state_dir"})),
    ] {
        let envelope = assert_error(&server.send(Request::call(tool, &arguments)), ErrorCode::NotFound);
        assert_says(&envelope.meta.error.unwrap().message, &["`state`, and there is none"]);
    }
}
