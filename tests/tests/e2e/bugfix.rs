//! A bug is found and fixed in twelve turns; then again while the worker is killed.

use std::path::PathBuf;
use std::process::Command;

use harness::FakeModel;
use harness::bugfix::{self, ANSWER, Check, Model, REQUEST, kill};
use harness::project_copy::workspace;

/// Only every third position is tried here; `make crash` tries all.
const EVERY: usize = 3;

/// The text before the tree in README.
const README_MARK: &str = "took twelve:";

/// The time that a line of a tree begins with.
const TIME_CHARS: usize = "22:41:04.391".len();

/// The directory of the Rust toolchain itself: the programs in the search path may be links into a home
/// directory, which commands cannot see.
fn toolchain() -> PathBuf {
    let asked = Command::new("rustc").args(["--print", "sysroot"]).output().expect("rustc built this test");
    PathBuf::from(String::from_utf8(asked.stdout).expect("a path of a toolchain is text").trim())
}

/// Checks that README shows lines of this tree, in order, ignoring times.
fn assert_shows(tree: &str) {
    let readme = std::fs::read_to_string(workspace().join("README.md")).expect("there is a README");
    let (_, rest) = readme.split_once(README_MARK).expect("README shows the tree of this work");
    let shown = rest.split("```").nth(1).unwrap_or_default().lines().skip(1).filter(|line| *line != "…");
    let without_time = |line: &str| line.chars().skip(TIME_CHARS).collect::<String>();
    let mut real = tree.lines().map(without_time);
    for line in shown.map(without_time) {
        let is_there = real.any(|next| next == line);
        assert!(is_there, "README shows:\n{line}\nwhich is not in the tree, or out of order:\n{tree}");
    }
}

#[test]
fn a_bug_is_found_shown_fixed_and_tested_in_twelve_turns() {
    let model = Model::new(Check::CARGO);
    let server = FakeModel::start(move |request| model.next(request));
    let toolchain = toolchain();
    let system = bugfix::system(&server)
        .variable("AUTONOUS_TOOL_READONLY_ROOTS", &toolchain.display().to_string())
        .variable("PATH", &format!("{}/bin:/usr/local/bin:/usr/bin:/bin", toolchain.display()))
        .start();
    bugfix::lay_out(&system.workspace());
    assert_eq!(system.reply(&system.say(REQUEST)), ANSWER);
    bugfix::assert_repaired(&system.workspace());
    assert_eq!(server.requests().len(), 12);
    let calls =
        system.database().texts("select tool_name || ' ' || status from tool_calls order by started_at, id");
    let expected = "ls done, find done, grep done, read done, bash failed, grep done, edit done, read done, \
                    bash done, write done, read done";
    assert_eq!(calls.join(", "), expected);
    assert_shows(&system.shown(&["tree"]));
}

#[test]
fn a_worker_killed_after_any_event_loses_no_answer_and_repeats_no_effect() {
    let events = kill::undisturbed();
    let outcomes: Vec<_> = (1..=events).step_by(EVERY).map(kill::after_event).collect();
    let again = outcomes.iter().filter(|outcome| outcome.attempts > 1).count();
    assert!(again * 2 > outcomes.len(), "most kills hit the worker during the task: {outcomes:?}");
}
