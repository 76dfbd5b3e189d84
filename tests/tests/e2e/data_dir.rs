//! The life of a data directory over the years: a database that is lost, a lock that is deleted, a clock that
//! jumps, a disk that becomes read-only, a move to another place, a power loss while it is filled.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use harness::http::Request;
use harness::{System, wait};
use serde_json::json;

use crate::check::finding;
use crate::docs::files_below;
use crate::{assert_says, printed};

/// A system that has run a task and was stopped.
fn stopped() -> System {
    let mut system = System::start();
    system.run_task("ls path=.");
    system.stop();
    system
}

fn refused(system: &System, arguments: &[&str]) -> String {
    let output = system.run_command(arguments);
    assert!(!output.status.success(), "{arguments:?}: {output:?}");
    printed(&output)
}

/// Every file below a directory with its size.
fn files(directory: &Path) -> BTreeMap<PathBuf, u64> {
    let size = |path: PathBuf| (path.clone(), path.symlink_metadata().unwrap().len());
    files_below(directory).into_iter().map(size).collect()
}

#[test]
fn a_database_that_is_gone_refuses_the_start_and_nothing_is_made_in_its_place() {
    let mut system = stopped();
    let data = system.dir().data();
    let (database, kept) = (data.join("db/autonous.db"), system.dir().path().join("kept.db"));
    fs::copy(&database, &kept).unwrap();
    let lose: [(&str, &dyn Fn()); 5] = [
        ("missing", &|| fs::remove_file(&database).unwrap()),
        ("empty", &|| fs::write(&database, "").unwrap()),
        ("missing", &|| fs::remove_dir_all(data.join("db")).unwrap()),
        // A disk that is not mounted, and tokens that somebody tidied away.
        ("missing", &|| {
            fs::remove_dir_all(data.join("db")).unwrap();
            fs::remove_file(data.join("tokens")).unwrap();
        }),
        ("empty", &|| {
            fs::remove_file(data.join("db/autonous.db-wal")).unwrap();
            let blank = rusqlite::Connection::open(data.join("blank")).unwrap();
            blank.execute_batch("create table a (b); drop table a; vacuum").unwrap();
            drop(blank);
            fs::rename(data.join("blank"), &database).unwrap();
        }),
    ];
    for (what, lose) in lose {
        let tokens = fs::read(data.join("tokens")).unwrap();
        fs::write(data.join("db/autonous.db-wal"), "what was not merged").unwrap();
        lose();
        let before = files(&data);
        let said = refused(&system, &["run"]);
        assert_says(&said, &["autonous.db is", what, "backup", "move", "begin anew"]);
        assert_eq!(files(&data), before, "nothing was changed");
        let said = refused(&system, &["check"]);
        assert_says(&said, &["FAIL", what]);
        fs::create_dir_all(data.join("db")).unwrap();
        fs::write(data.join("tokens"), tokens).unwrap();
        let _ = fs::remove_file(data.join("db/autonous.db-wal"));
        fs::copy(&kept, &database).unwrap();
    }
    system.restart();
    assert_eq!(system.database().task_states(), ["done"], "nothing is lost");
}

#[test]
fn a_directory_that_only_a_tool_server_used_and_one_of_a_start_that_failed_are_new() {
    let builder = System::builder();
    let journal = builder.dir().data().join("journal");
    fs::create_dir_all(&journal).unwrap();
    fs::write(journal.join("tool-calls.jsonl"), "").unwrap();
    fs::write(builder.dir().data().join("supervisor.lock"), "").unwrap();
    builder.start().run_task("ls path=.");
}

#[test]
fn a_lock_file_that_is_deleted_lets_no_second_supervisor_in() {
    let system = System::start();
    let lock = system.dir().data().join("supervisor.lock");
    fs::remove_file(&lock).unwrap();
    assert_says(&refused(&system, &["run"]), &["another supervisor is using"]);
    fs::remove_file(&lock).unwrap();
    // The commands know as well that one runs.
    assert_says(&system.shown(&["check"]), &["running at"]);
    assert_says(&refused(&system, &["run"]), &["another supervisor is using"]);
}

#[test]
fn two_data_directories_with_one_database_are_one() {
    let system = System::start();
    let other = system.dir().path().join("other");
    fs::create_dir(&other).unwrap();
    std::os::unix::fs::symlink(system.dir().data().join("db"), other.join("db")).unwrap();
    let said = refused(&system, &["--data-dir", &other.display().to_string(), "run"]);
    assert_says(&said, &["another supervisor is using"]);
}

#[test]
fn a_clock_that_jumped_ahead_deletes_nothing() {
    let mut system = System::builder().variable("AUTONOUS_RETENTION", "30d").start();
    for _ in 0..3 {
        system.run_task("ls path=.");
    }
    system.stop();
    let file = system.dir().data().join("db/autonous.db");
    let shift = |days: i64| {
        let connection = rusqlite::Connection::open(&file).unwrap();
        let by = days * 86_400_000;
        let mut triggers =
            connection.prepare("select name, sql from sqlite_schema where type = 'trigger'").unwrap();
        let triggers = triggers.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        let triggers: Vec<(String, String)> = triggers.collect::<Result<_, _>>().unwrap();
        for (name, _) in &triggers {
            connection.execute(&format!("drop trigger {name}"), []).unwrap();
        }
        for sql in [
            "update inbox set created_at_ms = created_at_ms - ?1, updated_at_ms = updated_at_ms - ?1,
                finished_at_ms = finished_at_ms - ?1, available_at_ms = available_at_ms - ?1",
            "update events set time_ms = time_ms - ?1",
            "update kv set value = value - ?1 where key = 'housekeeping.last'",
        ] {
            connection.execute(sql, [by]).unwrap();
        }
        for (_, sql) in &triggers {
            connection.execute_batch(sql).unwrap();
        }
    };
    // As if the clock were 60 days ahead at this start, and at the next.
    shift(60);
    let tasks = "select count(*) from inbox";
    for (number, said) in [(4, "the clock is far ahead"), (5, "")] {
        system.restart();
        let done = "select count(*) from kv where key = 'housekeeping.last'
                        and cast(value as integer) > 1000 * unixepoch() - 60000";
        wait::until_true("housekeeping has begun", || system.database().count(done) == 1);
        system.run_task("ls path=.");
        assert_says(&system.log(), &[said]);
        system.stop();
        assert_eq!(system.database().count(tasks), number, "nothing was deleted");
        let again = "update kv set value = value - 2 * 86400000 where key = 'housekeeping.last'";
        rusqlite::Connection::open(&file).unwrap().execute(again, []).unwrap();
    }
    // By hand it goes.
    assert_says(&system.shown(&["prune", "--older-than", "30d"]), &["3 tasks with"]);
}

#[test]
fn a_data_directory_that_cannot_be_written_fails_the_check() {
    let system = stopped();
    let data = system.dir().data();
    let checked = || {
        let checked = system.run_command(&["check", "--json"]);
        (checked.status.success(), finding(&checked, "data directory"))
    };
    assert_ne!(checked().1.0, "fail");
    for part in ["", "db", "journal"] {
        let directory = data.join(part);
        let run = |program: &str, arguments: &[&str]| {
            let done = Command::new(program).args(arguments).arg(&directory).status();
            done.is_ok_and(|status| status.success())
        };
        let bound = Command::new("mount").arg("--bind").args([&directory, &directory]).status();
        let is_bound = bound.is_ok_and(|status| status.success());
        if is_bound {
            assert!(run("mount", &["-o", "remount,bind,ro"]));
        } else {
            fs::set_permissions(&directory, fs::Permissions::from_mode(0o500)).unwrap();
        }
        let (succeeded, (verdict, what)) = checked();
        if is_bound {
            run("umount", &[]);
        } else {
            fs::set_permissions(&directory, fs::Permissions::from_mode(0o700)).unwrap();
        }
        assert!(!succeeded && verdict == "fail", "{part}: {what}");
        assert_says(&what, &[&directory.display().to_string(), "cannot be written"]);
    }
}

#[test]
fn the_agents_lists_and_notes_stay_beside_a_directory_of_ones_own() {
    let own = System::builder();
    let root = own.dir().path().join("project");
    fs::create_dir(&root).unwrap();
    let system = own.variable("AUTONOUS_TOOL_ALLOWED_ROOTS", &root.display().to_string()).start();
    let todo = r#"/todo_update {"action": "add", "content": "Water the plants", "people": []}"#;
    assert_says(&system.reply(&system.say(todo)), &["exit 0"]);
    let note = r#"/write {"path": "file_state_dir/notes.md", "content": "a note"}"#;
    assert_says(&system.reply(&system.say(note)), &["exit 0"]);
    assert!(system.dir().data().join("state/notes.md").exists());
    let own = r#"/write {"path": "mine.txt", "content": "in the project"}"#;
    assert_says(&system.reply(&system.say(own)), &["exit 0"]);
    assert!(root.join("mine.txt").exists(), "relative paths begin in the directory of one's own");
}

#[test]
fn a_backup_goes_nowhere_that_tools_reach() {
    let own = System::builder();
    let (root, link) = (own.dir().path().join("project"), own.dir().path().join("link"));
    fs::create_dir_all(root.join("below")).unwrap();
    std::os::unix::fs::symlink(root.join("below"), &link).unwrap();
    let mut system = own.variable("AUTONOUS_TOOL_ALLOWED_ROOTS", &root.display().to_string()).start();
    system.run_task("ls path=.");
    let inside = [
        root.join("a.db"),
        root.join("below/a.db"),
        link.join("a.db"),
        system.dir().data().join("output/a.db"),
    ];
    for _ in 0..2 {
        for file in &inside {
            let said = refused(&system, &["backup", &file.display().to_string()]);
            assert_says(&said, &["tools can read", "outside"]);
            assert!(!file.exists());
        }
        system.stop();
    }
    let outside = system.dir().path().join("kept.db");
    assert_says(&system.shown(&["backup", &outside.display().to_string()]), &["checked"]);
}

#[test]
fn skills_that_a_power_loss_has_torn_are_whole_after_the_next_start() {
    let mut system = System::start();
    system.stop();
    let skills = system.dir().data().join("skills");
    let names: Vec<_> = fs::read_dir(&skills).unwrap().flatten().map(|entry| entry.path()).collect();
    let whole: Vec<_> = names.iter().map(|skill| fs::read(skill.join("SKILL.md")).unwrap()).collect();
    fs::write(names[0].join("SKILL.md"), "").unwrap();
    fs::write(names[1].join("SKILL.md"), "---\nname: mine\n---\n").unwrap();
    fs::write(names[2].join("SKILL.md"), vec![0; whole[2].len()]).unwrap();
    system.restart();
    assert_eq!(fs::read(names[0].join("SKILL.md")).unwrap(), whole[0]);
    assert_eq!(fs::read(names[1].join("SKILL.md")).unwrap(), b"---\nname: mine\n---\n");
    assert_eq!(fs::read(names[2].join("SKILL.md")).unwrap(), whole[2]);
}

#[test]
fn what_was_changed_can_be_undone_after_the_data_directory_was_moved() {
    let builder = System::builder();
    let (data, elsewhere) = (builder.dir().data(), builder.dir().path().join("elsewhere"));
    let _ = fs::remove_dir(&data);
    fs::create_dir_all(elsewhere.join("old")).unwrap();
    std::os::unix::fs::symlink(elsewhere.join("old"), &data).unwrap();
    let mut system = builder.start();
    let path = system.workspace().join("a.txt");
    fs::write(&path, "old\n").unwrap();
    assert!(system.tool("read", &json!({"path": "a.txt"})).ok);
    let changed = system.tool("write", &json!({"path": "a.txt", "content": "new\n"}));
    assert!(changed.ok, "{changed:?}");
    system.stop();
    let moved = elsewhere.join("new");
    fs::rename(elsewhere.join("old"), &moved).unwrap();
    fs::remove_file(&data).unwrap();
    std::os::unix::fs::symlink(&moved, &data).unwrap();
    system.restart();
    let call = changed.meta.call_id.to_string();
    let undone = system.ask_as_approver(Request::post_json(&format!("/changes/{call}/undo"), &json!({})));
    assert_eq!(undone.json()["ok"], true, "{}", undone.text());
    assert_eq!(fs::read_to_string(moved.join("workspace/a.txt")).unwrap(), "old\n");
}
