//! Mishaps of a data directory: nothing is lost, and the operator reads what to do.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::process::Command;

use harness::program::refusal_of;
use harness::{Request, System, TestDir, binaries, wait};
use rusqlite::Connection;
use serde_json::json;

use crate::assert_says;

fn database(system: &System) -> PathBuf {
    system.dir().data().join("db/autonous.db")
}

/// A stopped system with one finished task, its database merged into one file.
fn stopped() -> System {
    let mut system = System::start();
    system.run_task("ls path=.");
    system.stop();
    let merging = Connection::open(database(&system)).expect("the database is there");
    merging.query_row("select count(*) from inbox", [], |_| Ok(())).expect("it can be read");
    drop(merging);
    system
}

#[test]
fn a_damaged_database_refuses_the_start_says_what_to_do_and_is_left_as_it_is() {
    let mut system = stopped();
    let whole = fs::read(database(&system)).unwrap();
    // In the header, and in the schema behind it.
    for offset in [0, 100] {
        let file = OpenOptions::new().write(true).open(database(&system)).unwrap();
        file.write_all_at(&[0x5a; 64], offset).unwrap();
        let damaged = fs::read(database(&system)).unwrap();
        for command in ["run", "tasks"] {
            assert_says(&system.refused(&[command]), &["damaged", "backup"]);
        }
        assert_eq!(fs::read(database(&system)).unwrap(), damaged, "it is left as it is");
        fs::write(database(&system), &whole).unwrap();
    }
    system.restart();
    assert_eq!(system.database().task_states(), ["done"], "nothing is lost");
}

#[test]
fn a_database_that_turns_out_to_be_damaged_ends_the_run_and_nothing_more_is_written() {
    let mut system = System::start();
    system.run_task("ls path=.");
    // Writes all pages to the file, and makes the running program read them again.
    let other = Connection::open(database(&system)).unwrap();
    other.busy_timeout(wait::SOON).unwrap();
    let merge = "pragma wal_checkpoint(truncate)";
    wait::until_true("all is in one file", || {
        other.query_row(merge, [], |row| row.get::<_, i64>(0)).is_ok_and(|busy| busy == 0)
    });
    let backup = fs::read(database(&system)).unwrap();
    let file = OpenOptions::new().write(true).open(database(&system)).unwrap();
    let page: u32 = other.query_row("pragma page_size", [], |row| row.get(0)).unwrap();
    let rest = file.metadata().unwrap().len() - u64::from(page);
    other.execute("insert into kv (key, value) values ('other', '1')", []).unwrap();
    file.write_all_at(&vec![0x5a; usize::try_from(rest).unwrap()], page.into()).unwrap();
    let damaged = fs::read(database(&system)).unwrap();

    let refused = system.control(Request::post_json("/messages", &json!({"text": "ls path=."})));
    assert_eq!(refused.status, 503, "{}", refused.text());
    let status = system.wait();
    assert_eq!(status.code(), Some(1));
    assert_says(&system.log(), &["is damaged and nothing more is written", "backup"]);
    assert_eq!(fs::read(database(&system)).unwrap(), damaged, "nothing more was written to it");

    drop(other);
    for ending in ["-wal", "-shm"] {
        let _ = fs::remove_file(system.dir().data().join("db").join(format!("autonous.db{ending}")));
    }
    fs::write(database(&system), &backup).unwrap();
    system.restart();
    assert_eq!(system.database().task_states(), ["done"]);
}

#[test]
fn a_database_of_a_newer_program_is_refused_and_left_as_it_is() {
    let mut system = stopped();
    let set_version = |version: i64| {
        let connection = Connection::open(database(&system)).unwrap();
        connection.pragma_update(None, "user_version", version).unwrap();
    };
    let known: i64 = Connection::open(database(&system))
        .and_then(|connection| connection.query_row("pragma user_version", [], |row| row.get(0)))
        .unwrap();
    set_version(known + 1);
    let before = fs::read(database(&system)).unwrap();
    assert_says(&system.refused(&["run"]), &["newer program"]);
    let compared = system.run_command(&["version", "--check"]);
    let compared = String::from_utf8_lossy(&compared.stdout).into_owned();
    assert_says(&compared, &["FAIL", "of a newer program", "docs/packages.md"]);
    assert_eq!(fs::read(database(&system)).unwrap(), before);
    set_version(known);
    system.restart();
    assert_eq!(system.database().task_states(), ["done"]);
}

#[test]
fn the_version_says_whether_everything_fits() {
    let mut system = System::start();
    let own = format!("supervisor {}, database schema ", env!("CARGO_PKG_VERSION"));
    assert_says(&system.shown(&["version"]), &[&own]);
    let runs = format!("{} runs", env!("CARGO_PKG_VERSION"));
    let fits = system.shown(&["version", "--check"]);
    assert_says(&fits, &[&own, "tool-server and agent-worker", "schema", &runs]);
    system.stop();
    let connection = Connection::open(database(&system)).unwrap();
    connection.pragma_update(None, "user_version", 3).unwrap();
    let older = system.shown_json(&["version", "--check", "--json"]);
    let of = |name: &str| {
        let findings = older["findings"].as_array().unwrap().iter().filter(|finding| finding["name"] == name);
        findings.map(|finding| finding["what"].to_string()).collect::<String>()
    };
    assert!(of("database").contains("schema 3; the next start changes it"), "{older}");
    assert!(of("service").contains("does not run"), "{older}");
    // A file that cannot be used keeps no version.
    fs::write(system.dir().data().join("autonous.toml"), "[telegram\n").unwrap();
    assert_says(&system.shown(&["version"]), &[&own]);
}

#[test]
fn a_second_supervisor_on_one_directory_is_refused_and_the_first_goes_on() {
    let system = System::start();
    assert_says(&system.refused(&["run"]), &["another supervisor is using"]);
    let task = system.say("ls path=.");
    assert!(system.reply(&task).contains("no output"), "the workspace is empty");
}

#[test]
fn a_database_that_another_program_holds_is_waited_for() {
    let mut system = stopped();
    let logs = system.dir().logs();
    let holder = Connection::open(database(&system)).unwrap();
    holder.execute_batch("begin immediate").unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            wait::until_true("the supervisor says that the database is locked", || {
                let texts = fs::read_dir(&logs).unwrap().flatten().map(|log| fs::read_to_string(log.path()));
                texts.flatten().any(|text| text.contains("database is locked"))
            });
            holder.execute_batch("rollback").unwrap();
        });
        system.restart();
    });
    system.run_task("ls path=.");
    assert_eq!(system.database().task_states(), ["done", "done"]);
}

#[test]
fn a_supervisor_without_the_other_programs_does_not_start_and_names_the_first() {
    let dir = TestDir::new();
    let alone = dir.path().join("supervisor");
    fs::copy(binaries::path_of("supervisor"), &alone).unwrap();
    let run = || Command::new(&alone).arg("run").env_clear().envs(dir.variables()).output().unwrap();
    let missing = format!("there is no tool-server in {}", dir.path().display());
    assert_says(&refusal_of(&run()), &[&missing, "cargo install --locked --path tool-server"]);
    fs::write(dir.path().join("tool-server"), "").unwrap();
    assert_says(&refusal_of(&run()), &["there is no agent-worker"]);
    assert!(!dir.data().join("db").exists());
}
