//! Programs in the roots that the operator's own settings name: commands and file tools leave them as they
//! are.

use harness::corpus::Mode;
use protocol::ErrorCode;
use serde_json::json;

use super::operator::{Operator, assert_safe};

const SCRIPT: &str = "cd repo; mkdir tools; printf '#!/bin/sh\\nexit 0\\n' | tee run.sh > tools/run.sh; \
                      chmod +x run.sh tools/run.sh; echo y > f; ";

/// What the operator has set, what a command does about it, and what the operator then does.
const CASES: &[(&str, &str, &str)] = &[
    ("git config core.fsmonitor ./run.sh", "cp evil.sh repo/run.sh", "git status"),
    ("git config core.fsmonitor ./run.sh", "rm -f repo/run.sh; cp evil.sh repo/run.sh", "git status"),
    ("git config core.fsmonitor ./run.sh", "cp evil.sh x; mv -f x repo/run.sh", "git status"),
    ("git config core.fsmonitor 'sh run.sh'", "cat evil.sh > repo/run.sh", "git status"),
    (
        "git config core.fsmonitor tools/run.sh",
        "cd repo; mv tools t; mkdir tools; cp ../evil.sh tools/run.sh",
        "git status",
    ),
    ("git config core.fsmonitor ./missing.sh", "cp evil.sh repo/missing.sh", "git status"),
    (
        "rm run.sh; ln -s tools/run.sh run.sh; git config core.fsmonitor ./run.sh",
        "cd repo; rm run.sh; ln -s ../evil.sh run.sh",
        "git status",
    ),
    (
        "rm run.sh; ln -s tools/run.sh run.sh; git config core.fsmonitor ./run.sh",
        "cat evil.sh > repo/tools/run.sh",
        "git status",
    ),
    ("git config core.fsmonitor $PWD/run.sh", "cat evil.sh > repo/run.sh", "git status"),
    (
        "git config core.fsmonitor '$(git rev-parse --show-toplevel)/tools/run.sh'",
        "cat evil.sh > repo/tools/run.sh",
        "git status",
    ),
    (
        "echo '* filter=x' > .gitattributes; git config filter.x.clean 'sh tools/run.sh %f'",
        "cat evil.sh > repo/tools/run.sh",
        "git status; git add f",
    ),
    (
        "echo '* diff=x' > .gitattributes; git config diff.x.textconv ./run.sh",
        "cat evil.sh > repo/run.sh",
        "git diff",
    ),
    ("git config diff.external ./run.sh", "cat evil.sh > repo/run.sh", "git diff"),
    ("git config alias.go '!./run.sh'", "cat evil.sh > repo/run.sh", "git go"),
    ("git config alias.go '!sh run.sh'", "cat evil.sh > repo/run.sh", "git go"),
    (
        "git config core.sshCommand ./run.sh; git remote add o ssh://localhost/x",
        "cat evil.sh > repo/run.sh",
        "git fetch o",
    ),
    ("git config core.editor ./run.sh", "cat evil.sh > repo/run.sh", "git commit --allow-empty"),
    (
        "git config core.hooksPath tools; cp run.sh tools/pre-commit",
        "cat evil.sh > repo/tools/pre-commit",
        "git commit --allow-empty -m x",
    ),
    ("git config core.hooksPath tools", "cp evil.sh repo/tools/pre-commit", "git commit --allow-empty -m x"),
    (
        "printf '[core]\\nfsmonitor = ./run.sh\\n' > ../inc; git config include.path ../../inc",
        "cat evil.sh > repo/run.sh",
        "git status",
    ),
    (
        "git worktree add -q ../wt; cp run.sh ../wt; git config core.fsmonitor ./run.sh",
        "cat evil.sh > wt/run.sh",
        "cd ../wt; git status",
    ),
];

fn check(mode: Mode) {
    let attacks = CASES
        .iter()
        .map(|(setup, step, work)| (format!("{SCRIPT}{setup}"), vec![*step], format!("cd repo; {work}")));
    assert_safe(mode, attacks);
}

#[test]
fn what_the_operators_settings_name_is_not_replaced_in_tier_a() {
    check(Mode::TierA);
}

#[test]
fn what_the_operators_settings_name_is_not_replaced_in_tier_a_as_an_ordinary_user() {
    check(Mode::TierAAsOrdinaryUser);
}

#[test]
fn what_the_operators_settings_name_is_taken_back_in_tier_b() {
    check(Mode::TierBAsOrdinaryUser);
}

#[test]
fn commands_cannot_change_it_in_tier_a_and_file_tools_refuse() {
    let operator = Operator::start(Mode::TierA);
    let root = operator.server.root();
    let names = "git config core.fsmonitor ./run.sh; git config alias.go '!sh tools/new.sh'";
    operator.shell(&root, &format!("git init -q repo; {SCRIPT} {names}"));
    assert!(operator.command(&root, "true").ok, "the index has seen it");
    let ran = operator.command(&root, "echo >> repo/run.sh");
    assert!(!ran.ok && ran.meta.data["created_control_files"] == json!([]), "{ran:?}");
    for path in ["repo/run.sh", "repo/tools/new.sh"] {
        operator.server.call("read", &json!({"path": path}));
        let refused = operator.server.call("write", &json!({"path": path, "content": "x\n"}));
        assert_eq!(refused.error_code(), Some(ErrorCode::ProtectedPath), "{path} {refused:?}");
    }
    // A file that no setting names is a program of no one.
    assert!(operator.command(&root, "echo >> repo/tools/run.sh; echo x > repo/other.sh").ok);
}
