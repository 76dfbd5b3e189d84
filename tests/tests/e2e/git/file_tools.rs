//! File tools do not write what git takes settings and programs from, in whatever order.

use std::os::unix::fs::symlink;

use harness::ToolServer;
use protocol::ErrorCode;
use serde_json::json;

/// Writes files one after the other; the last one must be refused, the others must not.
fn check(prepare: &str, paths: &[&str]) {
    let server = ToolServer::start();
    let root = server.root();
    let shell = std::process::Command::new("bash").args(["-c", prepare]).current_dir(&root).status().unwrap();
    assert!(shell.success(), "{prepare}");
    symlink("bare", root.join("link")).unwrap();
    let (last, first) = paths.split_last().unwrap();
    let write = |path: &str| server.call("write", &json!({"path": path, "content": "x\n"}));
    for path in first {
        let written = write(path);
        assert!(written.ok, "{prepare} {path}: {:?}", written.meta.error);
    }
    let refused = write(last);
    let code = refused.meta.error.as_ref().map(|error| error.code);
    assert_eq!(code, Some(ErrorCode::ProtectedPath), "{prepare} {paths:?}: {refused:?}");
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
    ] {
        check(BARE, &[path]);
    }
    check("git init -q r", &["r/.git/config.worktree"]);
    check("mkdir r", &["r/.git"]);
    check(
        "git init -q r; git -C r commit -q --allow-empty -m x; git -C r worktree add -q ../w",
        &["r/.git/worktrees/w/config.worktree"],
    );
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
    let shell = std::process::Command::new("bash").args(["-c", prepare]).current_dir(&root).status().unwrap();
    assert!(shell.success());
    assert!(server.call("bash", &json!({"cmd": "true"})).ok, "the index has seen it");
    for path in ["r/.husky/pre-commit", "more"] {
        let refused = server.call("write", &json!({"path": path, "content": "x\n"}));
        let code = refused.meta.error.map(|error| error.code);
        assert_eq!(code, Some(ErrorCode::ProtectedPath), "{path}");
    }
}
