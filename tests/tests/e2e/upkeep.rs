//! Maintenance of the database: backup, pruning, requeueing and cancelling.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use harness::{Database, System, wait};

use crate::assert_says;

/// Makes everything in an unused database forty days older.
pub(crate) fn age(system: &System) {
    let file = system.dir().data().join("db/autonous.db");
    let connection = rusqlite::Connection::open(file).expect("the database is there");
    let sql = "pragma writable_schema = off;
        drop trigger events_are_never_changed;
        update events set time_ms = time_ms - 40 * 86400000;
        update inbox set finished_at_ms = finished_at_ms - 40 * 86400000 where finished_at_ms is not null;
        create trigger events_are_never_changed before update on events
        begin select raise(abort, 'events are append-only'); end;";
    connection.execute_batch(sql).expect("its clocks can be turned back");
}

#[test]
fn a_backup_of_a_running_system_is_whole_private_and_restores_it() {
    let mut system = System::start();
    let before = system.run_task("ls path=.");
    let file = system.dir().path().join("kept.db");
    let made = system.shown_json(&["backup", "--json", &file.display().to_string()]);
    assert_eq!(made["tasks"], 1, "{made}");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_says(&system.refused(&["backup", &file.display().to_string()]), &["already exists"]);
    let after = system.run_task("ls path=missing");
    system.stop();
    for name in ["autonous.db", "autonous.db-wal", "autonous.db-shm"] {
        let _ = fs::remove_file(system.dir().data().join("db").join(name));
    }
    fs::copy(&file, system.dir().data().join("db/autonous.db")).unwrap();
    system.restart();
    let next = system.run_task("ls path=.");
    assert_eq!(system.database().texts("select id from inbox order by seq"), [before, next]);
    // The journal has the calls made after the backup.
    let ends = "type in ('tool_call.completed', 'tool_call.failed')";
    let ended = format!("select count(*) from events where {ends} and task_id = '{after}'");
    assert_eq!(system.database().count(&ended), 1);
}

/// Restored as docs/backup.md says: the copy is the data directory, with the configuration in it.
#[test]
fn a_backup_of_everything_is_a_data_directory_that_becomes_ready_elsewhere() {
    let rules = "[[rule]]\ntools = [\"edit\"]\ndecision = \"deny\"\nreason = \"kept by the backup\"\n";
    let mut system = System::builder().policy(rules).config("AUTONOUS.md", "Be brief.").start();
    let task = system.run_task(r#"/write {"path": "file_state_dir/notes.txt", "content": "a note"}"#);
    system.run_task(r#"/write {"path": "work.txt", "content": "work"}"#);
    let reply = system.reply(&task);
    fs::create_dir(system.dir().data().join("skills/own")).unwrap();
    fs::write(system.dir().data().join("skills/own/SKILL.md"), "---\nname: own\n---\n").unwrap();
    system.refused(&["backup", "--all", &system.workspace().join("b").display().to_string()]);
    assert_eq!(fs::read_dir(system.workspace()).unwrap().count(), 1);
    let copy = system.dir().path().join("copy");
    let path = copy.display().to_string();
    let made = system.shown_json(&["backup", "--all", "--workspace", "--json", &path]);
    assert_eq!((&made["database"]["tasks"], &made["left_out"]), (&2.into(), &0.into()), "{made}");
    assert_eq!(made["config"], serde_json::json!(["AUTONOUS.md", "policy.toml"]));
    assert_eq!(fs::metadata(&copy).unwrap().permissions().mode() & 0o777, 0o700);
    assert!(!copy.join("tokens").exists());
    assert_says(&system.refused(&["backup", "--all", &path]), &["already exists"]);
    let less = system.dir().path().join("less");
    let told = system.shown(&["backup", "--all", &less.display().to_string()]);
    assert!(told.contains("Not in it: ") && told.contains("workspace"), "{told}");
    assert!(!less.join("workspace").exists());
    system.stop();

    let builder = System::builder();
    let data = builder.dir().data();
    let _ = fs::remove_dir(&data);
    assert!(Command::new("cp").args(["-a", &path]).arg(&data).status().unwrap().success());
    let config = data.join("config").display().to_string();
    let restored = builder.variable("AUTONOUS_CONFIG_DIR", &config).start();
    assert_eq!(restored.reply(&task), reply);
    assert_eq!(fs::read_to_string(data.join("state/notes.txt")).unwrap(), "a note");
    assert_eq!(fs::read_to_string(data.join("workspace/work.txt")).unwrap(), "work");
    assert!(data.join("skills/own/SKILL.md").exists());
    let edit = r#"/edit {"path": "work.txt", "find": "work", "replace": "play"}"#;
    assert!(restored.reply(&restored.say(edit)).contains("kept by the backup"));
    assert_says(&String::from_utf8_lossy(&restored.run_command(&["check"]).stdout), &["journal"]);
    assert_eq!(restored.part("journal")["state"], "ok");
}

#[test]
fn old_tasks_go_with_their_events_whether_a_supervisor_runs_or_not() {
    let mut system = System::builder().workers(1).start();
    for _ in 0..3 {
        system.run_task("ls path=.");
    }
    system.stop();
    age(&system);
    let size = fs::metadata(system.dir().data().join("db/autonous.db")).unwrap().len();
    let would = system.shown(&["prune", "--older-than", "30d", "--dry-run"]);
    assert!(would.contains("2 tasks with"), "{would}");
    assert_eq!(system.database().count("select count(*) from inbox"), 3);
    let gone = system.shown_json(&["prune", "--older-than", "30d", "--json"]);
    assert_eq!(gone["tasks"], 2, "the newest stays, so that no number is given twice: {gone}");
    assert!(fs::metadata(system.dir().data().join("db/autonous.db")).unwrap().len() <= size.max(1 << 20));
    system.restart();
    system.run_task("ls path=.");
    let gone = system.shown(&["prune", "--older-than", "30d"]);
    assert!(gone.contains("1 tasks with"), "{gone}");
    assert_only_whole_trees(&system.database());
    assert_eq!(system.database().events_of("database.pruned"), 2);
    system.refused(&["prune", "--older-than", "5m"]);
}

#[test]
fn what_is_older_than_the_retention_goes_by_itself_once_a_day() {
    let mut system = System::builder().variable("AUTONOUS_RETENTION", "30d").start();
    for _ in 0..3 {
        system.run_task("ls path=.");
    }
    system.stop();
    age(&system);
    let file = system.dir().data().join("db/autonous.db");
    let sql = |sql: &str| rusqlite::Connection::open(&file).unwrap().execute(sql, []).unwrap();
    system.restart();
    system.run_task("ls path=.");
    let tasks = "select count(*) from inbox";
    assert_eq!(system.database().count(tasks), 4, "today it was done already");
    system.stop();
    sql("update kv set value = value - 2 * 86400000 where key = 'housekeeping.last'");
    system.restart();
    wait::until_true("the old tasks are gone", || system.database().count(tasks) == 1);
    wait::until_true("it is recorded", || system.database().has_event("database.pruned"));
}

#[test]
fn an_orderly_stop_leaves_no_log_behind() {
    let mut system = System::start();
    system.run_task("ls path=.");
    assert_eq!(system.database().count("select count(*) from inbox"), 1);
    system.stop();
    let log = system.dir().data().join("db/autonous.db-wal");
    assert_eq!(fs::metadata(log).map_or(0, |log| log.len()), 0);
}

#[test]
fn full_files_of_the_journal_go_once_they_are_taken_in_and_old() {
    let mut system = System::builder().variable("AUTONOUS_TOOL_JOURNAL_MAX_BYTES", "4096").start();
    for number in 0..12 {
        system.run_task(&format!("ls path=missing-{number}"));
    }
    system.stop();
    let directory = system.dir().data().join("journal");
    let full = || {
        let names = fs::read_dir(&directory).unwrap().flatten().map(|entry| entry.path());
        names.filter(|path| path.display().to_string().contains(".jsonl.0")).collect::<Vec<_>>()
    };
    let mut before = full();
    before.sort();
    assert!(before.len() > 1, "{before:?}");
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(40 * 86_400);
    let (young, old) = before.split_last().unwrap();
    for file in old {
        fs::File::options().append(true).open(file).unwrap().set_modified(long_ago).unwrap();
    }
    let arguments = directory.join("arguments");
    fs::create_dir(&arguments).unwrap();
    fs::File::create(arguments.join("of-a-record-that-is-gone")).unwrap().set_modified(long_ago).unwrap();
    fs::write(arguments.join("of-a-record-that-is-there"), "{}").unwrap();
    let gone = system.shown_json(&["prune", "--older-than", "30d", "--json"]);
    assert_eq!(gone["journal_files"], before.len() - 1, "{gone}");
    assert_eq!(full(), std::slice::from_ref(young), "the young one stays");
    let left: Vec<_> = fs::read_dir(&arguments).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(left, ["of-a-record-that-is-there"]);
    system.restart();
    system.run_task("ls path=.");
    assert!(!system.log().contains("read again"), "{}", system.log());
}

/// Checks that no event has lost its parent, and no task its events.
fn assert_only_whole_trees(database: &Database) {
    let orphans = "select count(*) from events as child where parent_id is not null
                   and not exists (select 1 from events where id = child.parent_id)";
    assert_eq!(database.count(orphans), 0);
    let strangers = "select count(*) from events where task_id is not null
                     and task_id not in (select id from inbox)";
    assert_eq!(database.count(strangers), 0);
    assert_eq!(database.events_of("worker.spawned"), 2, "only this run's children are left");
}

#[test]
fn tasks_are_put_back_and_cancelled_whether_a_supervisor_runs_or_not() {
    let mut system = System::builder()
        .variable("AUTONOUS_TASK_MAX_ATTEMPTS", "1")
        .variable("AUTONOUS_MODEL_PROVIDER", "scripted")
        .workers(1)
        .variable("AUTONOUS_MODEL_SCRIPT", "err:bad_request,msg:at last,err:bad_request")
        .start();
    let first = system.run_task("one");
    assert_eq!(system.database().task_states(), ["dead"]);
    let short = crate::short(&first);
    assert_eq!(system.shown(&["requeue", short]).trim(), format!("{short}  queued"));
    wait::until_true("the task is done", || system.database().task_states() == ["done"]);
    let refused = system.run_command(&["cancel", short]);
    assert!(!refused.status.success());
    let said = String::from_utf8_lossy(&refused.stdout);
    assert_says(&said, &["refused: the task has already ended"]);
    system.run_task("two");
    system.run_task("three");
    system.stop();
    let back = system.shown_json(&["requeue", "--all-dead", "--json"]);
    assert_eq!(back.as_array().map(Vec::len), Some(2), "{back}");
    assert_eq!(system.database().task_states(), ["done", "queued", "queued"]);
    let second = back[0]["task_id"].as_str().unwrap().to_owned();
    assert!(system.shown(&["cancel", &second]).contains("cancelled"));
    system.restart();
    let again = "select count(*) from inbox where state = 'dead' and attempt = 2";
    wait::until_true("the third task has run again", || system.database().count(again) == 1);
}
