//! Files that other programs run because of their names: what a command plants is taken back, what a clone
//! brings and what was there before stays.

use harness::corpus::Mode;
use serde_json::json;

use super::operator::{Operator, assert_safe};

/// Each with something that only it would be taken back for.
const PLANTED: &[&str] = &[
    ".hg/hgrc",
    ".jj/repo/config.toml",
    ".devcontainer/devcontainer.json",
    ".devcontainer.json",
    ".cargo/config.toml",
    ".cargo/config",
    ".nvim.lua",
    ".nvimrc",
    ".exrc",
    ".vimrc",
    ".yarnrc.yml",
    ".yarn/releases/yarn.cjs",
    ".pnpmfile.cjs",
    "my.code-workspace",
    "My.CODE-workspace",
    ".zed/tasks.json",
    ".gemini/settings.json",
    ".claude/settings.json",
    ".vscode/tasks.json",
    ".envrc",
    ".mise.toml",
    ".dir-locals.el",
    ".irbrc",
    ".Rprofile",
    ".gdbinit",
    "deep/down/.windsurf/x",
];

fn planted(operator: &Operator, line: &str) -> String {
    let ran = operator.command(&operator.server.root(), line);
    assert!(ran.ok, "{line}: {ran:?}");
    ran.meta.data["created_control_files"].to_string()
}

#[test]
fn what_a_command_plants_is_taken_back() {
    for mode in [Mode::TierA, Mode::TierBAsOrdinaryUser] {
        let operator = Operator::start(mode);
        let root = operator.server.root();
        operator.shell(&root, "git init -q repo; mkdir plain");
        for (top, path) in PLANTED.iter().flat_map(|path| [("repo", path), ("plain", path), (".", path)]) {
            let path = format!("{top}/{path}");
            let left = planted(&operator, &format!("mkdir -p $(dirname {path}); echo x > {path}"));
            assert!(left.contains("\"taken_back\":true"), "{path}: {left}");
            assert!(!root.join(&path).exists(), "{path}");
            let written = operator.server.call("write", &json!({"path": path, "content": "x"}));
            assert!(!written.ok, "{path}");
        }
    }
}

#[test]
fn what_a_clone_brings_for_itself_stays_and_can_be_changed_and_removed() {
    for mode in [Mode::TierA, Mode::TierBAsOrdinaryUser] {
        let operator = Operator::start(mode);
        let root = operator.server.root();
        let project = ".cargo/config.toml .yarnrc.yml .yarn/releases/yarn.cjs .pnpmfile.cjs \
                       .devcontainer/devcontainer.json .husky/pre-commit package.json Cargo.toml .mise.toml";
        let setup = format!(
            "git init -q -b main src; cd src; for f in {project} .vscode/settings.json; do \
             mkdir -p $(dirname $f); echo $f > $f; done; git add -A; git commit -qm m; \
             mkdir .idea; echo x > .idea/x; git add -A; git commit -qm idea; \
             cd ..; git clone -q --bare src bare.git; git -C src reset -q --hard HEAD~1"
        );
        operator.shell(&root, &setup);
        // From a repository beside it, all of it is a copy; from a bare one, only a project's own settings
        // may stay.
        let left = planted(&operator, "git clone -q src copy; git clone -q bare.git other");
        assert!(left.contains("other/.idea"), "{left}");
        assert!(["copy", "yarn", "vscode"].iter().all(|name| !left.contains(name)), "{left}");
        let look = "cd copy && cat .vscode/settings.json && git status --short && cd ../other";
        let there = operator.shell(&root, &format!("{look} && cat {project}"));
        assert!(!there.contains("No such file") && !there.contains(" D "), "{there}");
        let change =
            "cd other; echo more >> .yarnrc.yml; echo x > .yarn/releases/new.cjs; echo > .husky/pre-push";
        assert_eq!(planted(&operator, change), "[]");
        // Also when the first repository is a new one, and in a linked working tree.
        let make = "git init -q made; cd made; mkdir .cargo; echo x > .cargo/config.toml; git add .; \
                    git commit -qm m; git worktree add -q ../tree";
        assert_eq!(planted(&operator, make), "[]");
        assert_eq!(planted(&operator, "rm -rf copy other made tree"), "[]");
        assert!(!root.join("copy").exists() && !root.join("other").exists());
    }
}

#[test]
fn a_new_repository_around_an_old_project_brings_nothing() {
    let operator = Operator::start(Mode::TierA);
    let root = operator.server.root();
    operator.shell(&root, "mkdir project; echo x > project/Cargo.toml");
    // The file system's clock must have gone on.
    let older = "touch now; find project -maxdepth 0 ! -newermt '-1 second'";
    harness::wait::until_true("the directory is older than the command", || {
        operator.shell(&root, older).contains("project")
    });
    let make =
        "cd project; git init -q; mkdir .cargo; echo x > .cargo/config.toml; git add -A; git commit -qm m";
    let left = planted(&operator, make);
    assert!(left.contains(".cargo/config.toml"), "{left}");
}

#[test]
fn scripts_of_husky_are_hooks_where_the_operator_uses_it() {
    let setup = "cd repo; mkdir -p .husky/_; \
                 printf '#!/bin/sh\nsh -e .husky/pre-commit\n' > .husky/_/pre-commit; \
                 chmod +x .husky/_/pre-commit; echo true > .husky/pre-commit; \
                 git config core.hooksPath .husky/_";
    let commit = "cd repo; git commit --allow-empty -m x";
    let steps = [
        "cat evil.sh > repo/.husky/pre-commit",
        "cd repo; rm -rf .husky/pre-commit; cp ../evil.sh .husky/pre-commit",
        "cd repo; mv .husky x; cp -r x .husky; cp ../evil.sh .husky/pre-commit",
    ];
    let attacks = steps.map(|step| (setup.to_owned(), vec![step], commit.to_owned()));
    assert_safe(Mode::TierA, attacks);
}
