//! The harness detects what a test leaves behind.

use std::fs;
use std::panic::catch_unwind;
use std::process::Command;

use harness::{TestDir, leftovers, wait};

#[test]
fn a_process_that_stays_is_found_in_a_session_of_its_own_and_fails_the_test() {
    let dir = TestDir::new();
    assert!(leftovers::processes_of(&dir).is_empty());
    let mut child = dir.spawn(Command::new("setsid").args(["sleep", "600"]).env_clear()).unwrap();
    let found = wait::until("the process is found", || leftovers::processes_of(&dir).pop());
    assert_eq!((found.pid, found.parent), (child.id(), std::process::id()));
    assert!(catch_unwind(|| leftovers::assert_no_process(&dir)).is_err());
    assert!(!child.wait().unwrap().success(), "the process left behind was killed");
    leftovers::assert_no_process(&dir);
}

#[test]
fn a_temporary_file_in_a_root_is_found_at_any_depth() {
    let dir = TestDir::new();
    fs::create_dir(dir.root().join("deep")).unwrap();
    fs::write(dir.root().join("deep/kept.txt"), "x").unwrap();
    leftovers::assert_no_temporary_file(&dir.root());
    fs::write(dir.root().join("deep/.kept.txt.tmp"), "x").unwrap();
    assert!(catch_unwind(|| leftovers::assert_no_temporary_file(&dir.root())).is_err());
}
