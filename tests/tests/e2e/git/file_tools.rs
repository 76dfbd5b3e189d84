//! File tools do not write what git takes settings and programs from, in whatever order.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Barrier};
use std::thread;

use harness::{Request, ToolServer};
use protocol::ErrorCode;
use serde_json::json;

use crate::assert_says;

/// Runs a script as the operator.
fn shell(root: &Path, script: &str) {
    let mut shell = Command::new("bash");
    shell.args(["-c", script]).current_dir(root).envs(super::OWN_SETTINGS).env("HOME", "/nonexistent");
    assert!(shell.status().unwrap().success(), "{script}");
}

/// Writes files one after the other; the last one must be refused, the others must not.
fn check(prepare: &str, paths: &[&str]) {
    let server = ToolServer::start();
    let root = server.root();
    shell(&root, prepare);
    symlink("bare", root.join("link")).unwrap();
    let (last, first) = paths.split_last().unwrap();
    let write = |path: &str| server.call("write", &json!({"path": path, "content": "x\n"}));
    for path in first {
        let written = write(path);
        assert!(written.ok, "{prepare} {path}: {:?}", written.meta.error);
    }
    let refused = write(last);
    assert_eq!(refused.error_code(), Some(ErrorCode::ProtectedPath), "{prepare} {paths:?}: {refused:?}");
}

#[test]
fn what_git_takes_settings_and_programs_from_is_not_written() {
    const BARE: &str = "git init -q --bare bare; git init -q --bare a/b";
    for path in [
        "bare/config",
        "bare/config.worktree",
        "bare/hooks/pre-commit",
        "bare/hooks/d/e",
        "bare/commondir",
        "a/b/config",
        "link/config",
        "bare/Config",
        "bare/index",
        "bare/sharedindex.x",
        "bare/packed-refs",
        "bare/rebase-merge/git-rebase-todo",
        "bare/rebase-apply/x",
        "bare/sequencer/opts",
        "bare/remotes/o",
        "bare/HEAD",
        "bare/refs/heads/x",
        "a/b/objects/info/alternates",
    ] {
        check(BARE, &[path]);
    }
    check("git init -q r", &["r/.git/config.worktree"]);
    check("git init -q r", &["r/.git/rebase-merge/git-rebase-todo"]);
    check("git init -q r", &["r/.git/index"]);
    check("mkdir r", &["r/.git"]);
    let linked = "git init -q r; git -C r commit -q --allow-empty -m x; git -C r worktree add -q ../w";
    check(linked, &["r/.git/worktrees/w/config.worktree"]);
}

#[test]
fn no_order_of_steps_makes_a_git_directory() {
    check("true", &["x/HEAD", "x/config", "x/refs/a"]);
    check("true", &["x/config", "x/objects/a", "x/refs/a", "x/HEAD"]);
    check("true", &["x/hooks/pre-commit", "x/commondir", "x/HEAD"]);
    check("true", &["x/HEAD", "x/commondir"]);
}

#[test]
fn what_settings_name_is_not_written() {
    let server = ToolServer::start();
    let root = server.root();
    let prepare = "git init -q r; cd r; mkdir .husky; git config core.hooksPath .husky; \
                   git config include.path ../../more; touch ../more";
    shell(&root, prepare);
    assert!(server.call("bash", &json!({"cmd": "true"})).ok, "the index has seen it");
    for path in ["r/.husky/pre-commit", "more"] {
        let refused = server.call("write", &json!({"path": path, "content": "x\n"}));
        assert_eq!(refused.error_code(), Some(ErrorCode::ProtectedPath), "{path}");
    }
}

/// The four files of a git directory that runs something.
fn git_directory(top: &str) -> Vec<(String, &'static str)> {
    let config = "[core]\n\tfsmonitor = touch RAN; false\n\tworktree = .\n\tbare = false\n";
    let files = [("HEAD", "ref: refs/heads/m\n"), ("config", config), ("objects/a", ""), ("refs/a", "")];
    files.map(|(name, content)| (format!("{top}/{name}"), content)).to_vec()
}

fn is_git_directory(path: &Path) -> bool {
    ["HEAD", "objects", "refs"].iter().all(|name| path.join(name).exists())
}

#[test]
fn parallel_writes_never_make_a_git_directory() {
    let server = ToolServer::start();
    let address = server.address();
    for round in 0..25 {
        let top = format!("p{round}");
        let gate = Arc::new(Barrier::new(4));
        let writers: Vec<_> = git_directory(&top)
            .into_iter()
            .map(|(path, content)| {
                let gate = Arc::clone(&gate);
                let body = json!({"path": path, "content": content});
                thread::spawn(move || {
                    gate.wait();
                    Request::call("write", &body).send(address).envelope()
                })
            })
            .collect();
        let written: Vec<_> = writers.into_iter().map(|writer| writer.join().unwrap()).collect();
        assert!(written.iter().any(|one| one.ok), "{written:?}");
        assert!(!is_git_directory(&server.root().join(&top)), "{written:?}");
    }
}

#[test]
fn what_a_caller_planted_is_not_the_operators_afterwards() {
    let server = ToolServer::start();
    let root = server.root();
    let evil = "[core]\n\tfsmonitor = ./x\n\teditor = y\n";
    for path in ["x/config", "x/hooks.txt"] {
        assert!(server.call("write", &json!({"path": path, "content": evil})).ok);
    }
    // The operator makes a repository of it; git keeps the settings that it finds.
    shell(&root, "git init -q --bare x; git -C x config core.pager mine");
    let ran = server.call("bash", &json!({"cmd": "true"}));
    assert_says(&ran.meta.data["created_control_files"].to_string(), &["core.fsmonitor", "core.editor"]);
    let config = fs::read_to_string(root.join("x/config")).unwrap();
    assert!(!config.contains("fsmonitor") && config.contains("bare = true"), "{config}");
    let ran = server.call("bash", &json!({"cmd": "true"}));
    assert_eq!(ran.meta.data["created_control_files"], json!([]));
}
