//! No command ends commands for others by what it leaves: names that must be hidden, or a closed root.

use std::fs;
use std::path::Path;

use harness::http::Request;
use harness::tool_server::ToolServer;
use protocol::ErrorCode;
use serde_json::{Value, json};

use crate::commands::bash;

fn start() -> ToolServer {
    ToolServer::builder().variable("AUTONOUS_TOOL_SANDBOX", "full").start()
}

/// What `/readyz` says of commands.
fn readiness(server: &ToolServer) -> Value {
    let answer: Value = server.send(Request::get("/readyz")).json();
    let checks = answer["checks"].as_array().unwrap();
    checks.iter().find(|check| check["name"] == "commands").unwrap().clone()
}

/// Directories with a hidden file each.
fn plant(root: &Path, count: usize) {
    for number in 0..count {
        let directory = root.join(format!("{number}"));
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join(".env"), "KEY").unwrap();
    }
}

#[test]
fn hidden_names_that_a_command_leaves_in_excess_are_taken_back() {
    for flood in [
        "for i in {1..6000}; do mkdir d$i; : > d$i/.env; done",
        "mkdir -p a/b; for i in {1..6000}; do : > a/b/$i.key; done",
        "mkdir s; python3 -c 'import socket\nfor i in range(6000): \
         s = socket.socket(socket.AF_UNIX); s.bind(f\"s/{i}\"); s.close()'",
    ] {
        let server = start();
        fs::write(server.root().join(".env"), "OLD-SECRET").unwrap();
        let left = bash(&server, flood);
        assert!(left.ok, "{left:?}");
        let taken = left.meta.data["created_control_files"].to_string();
        assert!(taken.contains("names that must be hidden"), "{flood}: {left:?}");
        let next = bash(&server, "cat .env; ls -d d1 a s 2>/dev/null; echo works > new && cat new");
        assert!(next.ok && next.stdout.contains("works") && !next.stdout.contains("SECRET"), "{next:?}");
        assert!(!server.root().join("d1/.env").exists() && !server.root().join("a/b/1.key").exists());
        assert!(server.root().join(".env").exists(), "what was there before stays");
    }
}

/// Each of them costs every later command time: a hundred thousand would end all commands.
#[test]
fn git_directories_that_a_command_leaves_in_excess_are_taken_back() {
    let server = start();
    for directory in ["own/.git/objects", "own/.git/refs"] {
        fs::create_dir_all(server.root().join(directory)).unwrap();
    }
    fs::write(server.root().join("own/.git/HEAD"), "ref: refs/heads/main\n").unwrap();
    let make = |top: &str| {
        format!(
            "python3 -c '
import os
for n in range(4200):
    for name in [\"objects\", \"refs/modules\"]: os.makedirs(f\"{top}/\" + name)
    open(f\"{top}/HEAD\", \"w\").write(\"ref: refs/heads/main\\n\")'"
        )
    };
    for top in ["bare/{n}", "trees/{n}/.git"] {
        let left = bash(&server, &make(top));
        assert!(left.ok, "{left:?}");
        let taken = left.meta.data["created_control_files"].to_string();
        let too_many = "one of 4200 new git directories, more than commands may leave";
        assert!(taken.contains(too_many), "{taken:.300}");
        let next = bash(&server, "ls bare trees/7 2>/dev/null; cat own/.git/HEAD");
        let head = next.stdout.lines().last();
        assert_eq!(head, Some("ref: refs/heads/main"), "what was there stays: {next:?}");
        assert!(!server.root().join("bare/7").exists() && !server.root().join("trees/7/.git").exists());
    }
}

#[test]
fn a_directory_with_too_much_to_hide_is_hidden_whole() {
    let server = start();
    plant(&server.root().join("a/flood"), 5000);
    fs::create_dir(server.root().join("a/web")).unwrap();
    fs::write(server.root().join("a/web/.env"), "KEY").unwrap();
    let look = "cat a/web/.env a/flood/7/.env; ls a/flood; echo x > a/web/new; ls a/web 2>&1; true";
    let ran = bash(&server, look);
    assert_eq!(ran.stdout, "new\n", "{ran:?}");
    // The rest of it goes in one call, unread.
    assert_eq!(readiness(&server)["ok"], true);
}

#[test]
fn too_much_to_hide_in_a_root_is_named_with_its_remedy_until_it_is_gone() {
    let server = ToolServer::builder().variable("AUTONOUS_TOOL_SANDBOX", "full").allowing_all().start();
    plant(&server.root(), 17_000);
    let refused = bash(&server, "true").meta.error.unwrap();
    assert_eq!(refused.code, ErrorCode::SandboxFailed);
    assert!(refused.message.contains("17000 names in the roots must be hidden"), "{refused:?}");
    assert!(refused.hint.contains("`delete`"), "{refused:?}");
    let told = readiness(&server);
    assert_eq!(told["ok"], false);
    assert!(told["detail"].to_string().contains("`delete`"), "{told}");
    for number in 0..1000 {
        let gone = server.call("delete", &json!({"path": format!("{number}/.env")}));
        assert!(gone.ok, "{gone:?}");
    }
    let told = readiness(&server);
    assert_eq!(told["ok"], true, "{told}");
    assert!(bash(&server, "true").ok);
}

#[test]
fn a_root_that_a_command_closes_is_opened_again() {
    for unprivileged in [false, true] {
        let builder = ToolServer::builder().variable("AUTONOUS_TOOL_SANDBOX", "full");
        let server = if unprivileged { builder.unprivileged() } else { builder }.start();
        assert!(bash(&server, "echo x > file").ok);
        for close in ["chmod 000 .", "chmod 0311 .", "chmod 000 . & sleep 0.1; exit 1", "chmod 0000 $PWD"] {
            bash(&server, close);
            assert!(server.call("read", &json!({"path": "file"})).ok, "{close}");
            assert!(server.call("ls", &json!({})).ok, "{close}");
            assert!(bash(&server, "cat file && echo x > file").ok, "{close}");
        }
        assert_eq!(readiness(&server)["ok"], true);
    }
}
