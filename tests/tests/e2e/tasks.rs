//! `supervisor tasks`: the queue for people and programs, with or without a supervisor and write access.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use harness::test_dir::NOBODY;
use harness::{System, binaries};

use crate::{assert_says, short};

fn system_with_an_old_queue() -> (System, String, String) {
    let system = System::builder()
        .variable("AUTONOUS_TASK_MAX_ATTEMPTS", "1")
        .variable("AUTONOUS_MODEL_PROVIDER", "scripted")
        .workers(1)
        .variable("AUTONOUS_MODEL_SCRIPT", "msg:hello,err:bad_request")
        .start();
    let done = system.run_task("say hello, please, in as many words as a line of eighty columns cannot hold");
    let dead =
        system.run_task("日本語で\u{1b}[2Jお願いします、一行に収まらないほど長い長い文章を書いてください");
    (system, done, dead)
}

#[test]
fn tasks_are_listed_with_state_and_last_error_while_the_system_runs_and_when_it_does_not() {
    let (mut system, done, dead) = system_with_an_old_queue();
    let running = system.shown(&["tasks"]);
    for (task, state) in [(&done, "done"), (&dead, "dead")] {
        let row = running.lines().find(|line| line.starts_with(short(task))).expect("each task has a row");
        assert!(row.contains(state), "{running}");
    }
    assert!(running.ends_with("1 done, 1 dead\n"), "{running}");
    assert!(!running.contains('\u{1b}'), "no colours and no control characters in a file: {running:?}");
    system.stop();
    let stopped = system.shown(&["tasks", "--state", "dead"]);
    assert_says(&stopped, &[short(&dead), "(1 shown)"]);
    assert!(!stopped.contains(short(&done)), "{stopped}");
}

#[test]
fn programs_get_json_and_a_task_is_meant_by_the_end_of_its_id() {
    let (system, done, dead) = system_with_an_old_queue();
    let json = system.shown_json(&["tasks", "--json"]);
    let ids: Vec<&str> =
        json["tasks"].as_array().unwrap().iter().map(|t| t["id"].as_str().unwrap()).collect();
    assert_eq!(ids, [&done, &dead], "the newest is last");
    assert!(json["tasks"][1]["error"].is_string() && json["tasks"][1]["attempt"] == 1, "{json}");
    let counts = &json["counts"]["tasks"];
    assert!(counts["done"] == 1 && counts["queued"] == 0, "{counts}");
    assert_says(&system.shown(&["tree", "--task", short(&done)]), &["task.done"]);
    system.refused(&["tree", "--task", "00000000"]);
}

#[test]
fn a_database_in_a_directory_that_nobody_can_write_to_is_read_all_the_same() {
    let (mut system, done, _) = system_with_an_old_queue();
    system.stop();
    let binary = system.dir().hand_over(&binaries::path_of("supervisor"));
    let archive = system.dir().path().join("archive");
    fs::create_dir_all(archive.join("db")).unwrap();
    let copy = archive.join("db/autonous.db");
    for file in ["autonous.db", "autonous.db-wal"] {
        fs::copy(system.dir().data().join("db").join(file), archive.join("db").join(file)).unwrap();
    }
    // The last connection to close merges the write-ahead log.
    let merging = rusqlite::Connection::open(&copy).unwrap();
    merging.query_row("select count(*) from inbox", [], |_| Ok(())).unwrap();
    drop(merging);
    assert!(!archive.join("db/autonous.db-wal").exists());
    for (path, mode) in [(&copy, 0o444), (&archive.join("db"), 0o555), (&archive, 0o555)] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    let mut command = Command::new(binary);
    command.args(["tasks", "--data-dir"]).arg(&archive).env_clear().envs(system.dir().variables());
    if rustix::process::geteuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    let listed = command.output().unwrap();
    fs::set_permissions(archive.join("db"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(&archive, fs::Permissions::from_mode(0o755)).unwrap();
    assert_says(&harness::program::stdout_of(&listed), &[short(&done)]);
    assert!(!archive.join("db/autonous.db-shm").exists());
}

#[test]
fn a_directory_without_a_database_is_named_with_what_to_do() {
    let (system, ..) = system_with_an_old_queue();
    let empty = system.dir().path().join("empty");
    fs::create_dir(&empty).unwrap();
    let said = system.refused(&["tasks", "--data-dir", &empty.display().to_string()]);
    assert_says(&said, &["supervisor run"]);
}
