//! Kills at each step, and what the next start finds.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Signal, getpid, kill_process};

use super::*;
use crate::change::{Durability, UndoStore};
use crate::roots::{ControlFiles, DeniedPaths, Roots, Workspaces};

const STEPS: [Step; 5] =
    [Step::Written, Step::Intended, Step::Replaced(1), Step::Replaced(2), Step::Forgotten];

fn open(directory: &Path) -> Changer {
    let root = directory.join("root");
    fs::create_dir_all(&root).unwrap();
    let denied = DeniedPaths::new([]).unwrap();
    let roots = Roots::open(&[root], denied, ControlFiles::default(), |_| None).unwrap();
    let workspaces: Arc<Workspaces> = roots.into();
    let undo = UndoStore::open(&directory.join("undo"), 0, &[]).unwrap();
    Changer::open(workspaces, &directory.join("pending"), 1 << 20, undo, Durability::Synced).unwrap()
}

fn call() -> Call {
    Call::own(Duration::from_secs(30))
}

fn file(path: &str, before: Option<&str>, content: &str) -> NewFile {
    let sha256_before = before.map(|text| sha256(text.as_bytes()));
    NewFile { path: path.to_owned(), content: content.to_owned(), sha256_before }
}

/// Moves an item from one list to the other, which is new or not.
fn moved(done_before: Option<&str>) -> [NewFile; 2] {
    let done = format!("- [x] item\n{}", done_before.unwrap_or_default());
    [file("lists/done", done_before, &done), file("todo", Some("- [ ] item\nmore\n"), "more\n")]
}

fn contents(directory: &Path) -> [Option<String>; 2] {
    ["lists/done", "todo"].map(|name| fs::read_to_string(directory.join("root").join(name)).ok())
}

fn files_in(directory: &Path) -> usize {
    fs::read_dir(directory)
        .map_or(0, |entries| entries.filter(|entry| entry.as_ref().unwrap().path().is_file()).count())
}

fn begin(directory: &Path, done_before: Option<&str>) {
    drop(open(directory));
    fs::write(directory.join("root/todo"), "- [ ] item\nmore\n").unwrap();
    if let Some(done) = done_before {
        fs::create_dir_all(directory.join("root/lists")).unwrap();
        fs::write(directory.join("root/lists/done"), done).unwrap();
    }
}

/// The program that is killed: this test, run alone.
#[test]
#[ignore = "it is run by the test of kills, which ends it"]
fn is_killed() {
    let told = io::read_to_string(io::stdin()).unwrap();
    let (step, directory) = told.split_once(' ').unwrap();
    let (killed_at, directory) = (STEPS[step.parse::<usize>().unwrap()], PathBuf::from(directory));
    let done_before = contents(&directory)[0].clone();
    let _ = open(&directory).change_several_at(&call(), &moved(done_before.as_deref()), &mut |step| {
        if step == killed_at {
            kill_process(getpid(), Signal::KILL).unwrap();
        }
    });
}

fn run_and_kill(directory: &Path, step: usize) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "change::several::tests::is_killed", "--ignored"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    write!(child.stdin.take().unwrap(), "{step} {}", directory.display()).unwrap();
    let ended = child.wait_with_output().unwrap();
    assert!(!ended.status.success() && ended.status.code().is_none(), "it was killed: {ended:?}");
}

#[test]
fn a_kill_at_any_step_leaves_all_files_or_none_to_whoever_reads_next() {
    for done_before in [None, Some("- [x] older\n")] {
        for (step, killed_at) in STEPS.into_iter().enumerate() {
            let directory = tempfile::tempdir().unwrap();
            let directory = directory.path();
            begin(directory, done_before);
            run_and_kill(directory, step);
            let cut = contents(directory);
            if killed_at == Step::Replaced(1) {
                assert!(
                    cut[0].as_ref().unwrap().contains("item") && cut[1].as_ref().unwrap().contains("item")
                );
            }
            let changer = open(directory);
            let [done, todo] = contents(directory);
            let is_done = killed_at != Step::Written;
            let expected = if is_done {
                Some(moved(done_before)[0].content.clone())
            } else {
                done_before.map(str::to_owned)
            };
            assert_eq!(done, expected, "{killed_at:?}");
            assert_eq!(
                todo.as_deref(),
                Some(if is_done { "more\n" } else { "- [ ] item\nmore\n" }),
                "{killed_at:?}"
            );
            let left =
                [directory.join("root"), directory.join("root/lists"), directory.join("pending.several")];
            let expected = [1, usize::from(is_done || done_before.is_some()), 0];
            assert_eq!(left.map(|directory| files_in(&directory)), expected, "{killed_at:?}");
            if !is_done {
                let made = changer.change_several(&call(), &moved(done_before));
                assert!(made.is_ok(), "it can be done again: {made:?}");
            }
        }
    }
}

#[test]
fn what_somebody_else_changed_after_the_kill_is_kept_and_the_rest_taken_back() {
    for done_before in [None, Some("- [x] older\n")] {
        let directory = tempfile::tempdir().unwrap();
        let directory = directory.path();
        begin(directory, done_before);
        run_and_kill(directory, 2);
        fs::write(directory.join("root/todo"), "- [ ] item\nmine\n").unwrap();
        drop(open(directory));
        let expected = [done_before.map(str::to_owned), Some("- [ ] item\nmine\n".to_owned())];
        assert_eq!(contents(directory), expected);
        assert_eq!(files_in(&directory.join("root")), 1);
    }
}

#[test]
fn a_file_that_is_not_as_expected_refuses_the_whole_change() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    begin(directory, None);
    let changer = open(directory);
    let before = contents(directory);
    for (files, code) in [
        (vec![file("lists/done", None, "x"), file("todo", Some("other"), "x")], ErrorCode::Conflict),
        (vec![file("lists/done", Some("x"), "x"), file("todo", None, "x")], ErrorCode::Conflict),
        (vec![file("new", None, "x"), file("./new", None, "y")], ErrorCode::InvalidArgument),
        (vec![file("new", None, "x"), file("../outside", None, "y")], ErrorCode::PathOutsideRoots),
    ] {
        let error = changer.change_several(&call(), &files).unwrap_err();
        assert_eq!((error.code, contents(directory)), (code, before.clone()), "{error}");
        assert!(!directory.join("root/lists").exists() && files_in(&directory.join("root")) == 1);
    }
}

#[test]
fn a_file_that_is_changed_during_the_change_keeps_that_and_the_others_are_taken_back() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    begin(directory, Some("- [x] older\n"));
    let error = open(directory)
        .change_several_at(&call(), &moved(Some("- [x] older\n")), &mut |step| {
            if step == Step::Replaced(1) {
                fs::write(directory.join("root/todo"), "mine\n").unwrap();
            }
        })
        .unwrap_err();
    assert_eq!(error.code, ErrorCode::Conflict);
    assert_eq!(contents(directory), [Some("- [x] older\n".to_owned()), Some("mine\n".to_owned())]);
    assert_eq!(files_in(&directory.join("root")) + files_in(&directory.join("root/lists")), 2);
    assert_eq!(files_in(&directory.join("pending.several")), 0);
}
