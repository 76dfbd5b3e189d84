//! Everyday lines of git in a repository that the agent made, in a clone, and in one that was there before,
//! with hooks, a linked worktree and a submodule.

use std::fs;
use std::path::PathBuf;

use harness::corpus::Mode;
use harness::{Request, wait};
use serde_json::json;

use super::operator::{Operator, STATUS};

const LINES: &[&str] = &[
    "git status",
    "git status --short --branch",
    "git log --oneline -5",
    "git diff",
    "echo 1 > new.txt && git add new.txt",
    "git diff --cached --stat",
    "git commit -m 'add a file'",
    "git show --stat HEAD",
    "echo 2 >> new.txt && git commit -am 'change it'",
    "git branch topic",
    "git switch -q topic && echo t > topic.txt && git add -A && git commit -qm topic",
    "git switch -q -",
    "git merge -q --no-ff -m merge topic",
    "git branch -d topic",
    "git tag v1",
    "git tag -a v2 -m two",
    "git describe --tags",
    "echo 3 >> new.txt && git stash",
    "git stash pop",
    "git restore new.txt",
    "git remote add upstream https://example.org/x.git",
    "git remote set-url upstream https://example.org/y.git",
    "git remote -v",
    "git remote rename upstream other",
    "git remote remove other",
    "git config user.name Somebody",
    "test \"$(git config --get user.name)\" = Somebody",
    "git config --unset user.name",
    "git config alias.st 'status -sb' && git st",
    "git config core.autocrlf input",
    "git remote add lib ../lib && git fetch -q lib",
    "git branch -q -u lib/main",
    "git push -q lib HEAD:refs/heads/pushed-$RANDOM",
    "git branch --unset-upstream",
    "git -c protocol.file.allow=always submodule --quiet add ../lib vendor/lib",
    "git submodule status",
    "git commit -qm 'add the library'",
    "git submodule update --init --quiet",
    "git worktree add -q ../$(basename $PWD)-tree -b tree",
    "git -C ../$(basename $PWD)-tree commit -q --allow-empty -m tree",
    "git worktree list",
    "git worktree remove --force ../$(basename $PWD)-tree",
    "git submodule deinit -q -f vendor/lib && git rm -q vendor/lib && git commit -qm 'drop the library'",
    "git mv f g && git commit -qm move",
    "git revert --no-edit HEAD",
    "git reset -q --hard HEAD~1",
    "git blame g",
    "git cherry-pick tree --allow-empty",
    "git rebase -q HEAD~1",
    "git reflog -3",
    "git grep -q x",
    "git archive HEAD | tar t",
    "git format-patch -1 --stdout",
    "git fsck",
    "git gc -q",
    "git clean -fdq",
];

/// Makes the three repositories, and the library that they use.
fn repositories(operator: &Operator) -> Vec<PathBuf> {
    let root = operator.server.root();
    let library = "git init -q -b main lib && cd lib && echo l > l && git add l && git commit -qm lib";
    operator.shell(&root, library);
    let before = "git init -q -b main before && cd before && echo x > f && git add f && \
        git commit -qm one && \
        printf '#!/bin/sh\nexit 0\n' | tee .git/hooks/pre-commit > .git/hooks/post-checkout && \
        chmod +x .git/hooks/pre-commit .git/hooks/post-checkout && git worktree add -q ../before-linked && \
        git -c protocol.file.allow=always submodule --quiet add ../lib lib && git commit -qm 'with lib' && \
        git config core.pager less";
    operator.shell(&root, before);
    let made = "git init -q -b main made && cd made && echo x > f && git add f && git commit -qm one";
    let cloned = "git clone -q made cloned";
    for line in [made, cloned] {
        let ran = operator.command(&root, line);
        assert!(ran.ok, "{line}: {}", ran.stderr);
        assert_eq!(ran.meta.data["created_control_files"], json!([]), "{line}");
    }
    ["made", "cloned", "before"].map(|name| root.join(name)).to_vec()
}

#[test]
fn everyday_lines_work_in_three_repositories_and_the_operator_runs_nothing_of_the_agents() {
    let operator = Operator::start(Mode::TierA);
    let mut failed = Vec::new();
    for repository in repositories(&operator) {
        for line in LINES {
            let ran = operator.command(&repository, line);
            let said = operator.shell(&repository, STATUS);
            let taken = &ran.meta.data["created_control_files"];
            if !ran.ok || *taken != json!([]) || operator.was_attacked() || said.contains("fatal:") {
                let name = repository.file_name().unwrap();
                failed.push(format!("{name:?} {line}: {} {} {taken} {said}", ran.exit_code, ran.stderr));
            }
        }
    }
    assert!(LINES.len() >= 40 && failed.is_empty(), "{} failed:\n{}", failed.len(), failed.join("\n"));
}

#[test]
fn commits_have_a_name_in_a_fresh_sandbox_and_the_repositorys_own_goes_before() {
    for mode in [Mode::TierA, Mode::TierBAsOrdinaryUser] {
        let operator = Operator::start(mode);
        let root = operator.server.root();
        let commit = "git commit -q --allow-empty -m m && git log -1 --format='%an <%ae> %cn'";
        let ran = operator.command(&root, &format!("git init -q r && cd r && {commit}"));
        assert_eq!(ran.stdout, "Autonous <autonous@localhost> Autonous\n", "{}", ran.stderr);
        let ran = operator.command(&root, &format!("cd r && git config user.name Own && {commit}"));
        assert_eq!(ran.stdout, "Own <autonous@localhost> Own\n", "{}", ran.stderr);
    }
}

#[test]
fn a_clone_can_be_removed_whole_by_a_later_command() {
    let operator = Operator::start(Mode::TierA);
    let root = operator.server.root();
    operator.shell(&root, "git init -q r && cd r && git commit -q --allow-empty -m m");
    assert!(operator.command(&root, "git clone -q r clone && git -C clone config user.name x").ok);
    let ran = operator.command(&root, "rm -rf clone && mv r moved && rm -rf moved");
    assert!(ran.ok, "{}", ran.stderr);
    assert!(!root.join("clone").exists() && !root.join("moved").exists());
}

#[test]
fn what_was_taken_back_can_be_read_and_the_answer_says_where_and_how_to_ask() {
    let operator = Operator::start(Mode::TierA);
    let root = operator.server.root();
    operator.shell(&root, "git init -q r");
    let line = "cd r && git config user.name Me && git config core.pager 'less -R' && echo use > .envrc";
    let ran = operator.command(&root, line);
    assert!(ran.ok, "{}", ran.stderr);
    let left = ran.meta.data["created_control_files"].as_array().unwrap().clone();
    let config = root.join("r/.git/config");
    let why = "git runs or follows what `core.pager` says";
    assert!(left.contains(&json!({"path": config, "why": why, "taken_back": true})), "{left:?}");
    let notice = ran.meta.notices.join("\n");
    assert!(notice.contains("allow_control_files"), "{notice}");
    let quarantine = operator.server.dir().data().join("output/quarantine").join(ran.meta.call_id.as_str());
    assert!(notice.contains(quarantine.to_str().unwrap()), "{notice}");
    let read = |path: PathBuf| operator.server.call("read", &json!({"path": path}));
    assert!(read(quarantine.join("r/.envrc")).stdout.contains("use"));
    assert!(read(quarantine.join("r/.git/config")).stdout.contains("less -R"));
    let kept = fs::read_to_string(config).unwrap();
    assert!(kept.contains("name = Me") && !kept.contains("pager"), "{kept}");
    let journal = fs::read_to_string(operator.server.dir().journal()).unwrap();
    assert!(journal.contains(why), "{journal}");
}

#[test]
fn a_server_that_is_killed_before_the_check_does_it_at_its_next_start() {
    let mut operator = Operator::start(Mode::TierA);
    let root = operator.server.root();
    operator.shell(&root, "git init -q r && git -C r config core.editor mine");
    assert!(operator.command(&root, "true").ok);
    let line = "git -C r config core.pager evil && touch done && sleep 60";
    let (address, body) = (operator.server.address(), json!({"cmd": line}));
    let call = std::thread::spawn(move || Request::call("bash", &body).try_send(address).is_ok());
    wait::until_true("the command has left it", || root.join("done").exists());
    operator.server.crash(|_| ());
    let _ = call.join();
    let config = root.join("r/.git/config");
    wait::until_true("it is taken back", || {
        !fs::read_to_string(&config).is_ok_and(|config| config.contains("pager"))
    });
    assert!(fs::read_to_string(&config).unwrap().contains("editor = mine"));
    let journal = operator.server.dir().journal();
    let is_recorded = || fs::read_to_string(&journal).unwrap().contains("INTERRUPTED");
    wait::until_true("it is in the journal", is_recorded);
}
