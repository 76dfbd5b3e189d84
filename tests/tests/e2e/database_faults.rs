//! What others do to the database of a running supervisor: lock it, damage it, take its files away. Health
//! says so within bounds of time, and the supervisor can be stopped.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use harness::small_disk::{SmallDisk, in_own_namespace};
use harness::system::direct_ls;
use harness::{Request, System, ToolServer, http, wait};
use rusqlite::Connection;
use serde_json::{Value, json};

/// A probe's time, with what a busy machine adds.
const PROBE: Duration = Duration::from_millis(1500);

/// Longer than damage stays unnoticed.
const UNTIL_NOTICED: Duration = Duration::from_secs(60);

fn database(system: &System) -> PathBuf {
    system.dir().data().join("db/autonous.db")
}

fn part(answer: &Value, name: &str) -> Value {
    let parts = answer["parts"].as_array().cloned().unwrap_or_default();
    parts.into_iter().find(|part| part["name"] == name).unwrap_or_default()
}

fn says(part: &Value, words: &str) -> bool {
    part["detail"].as_str().is_some_and(|detail| detail.contains(words))
}

fn timed<T>(ask: impl FnOnce() -> T) -> (T, Duration) {
    let since = Instant::now();
    (ask(), since.elapsed())
}

#[test]
fn probes_answer_at_once_while_another_program_holds_the_write_lock() {
    let mut system = System::start();
    system.run_task(&direct_ls("."));
    let other = Connection::open(database(&system)).unwrap();
    other.execute_batch("begin immediate").unwrap();
    let address = http::address_of(&system.tokens().control_url);
    wait::until_true("the lock is named", || {
        for route in ["/readyz", "/livez"] {
            let (_, took) = timed(|| Request::get(route).send(address));
            assert!(took < PROBE, "{route} took {took:?}");
        }
        let (status, took) = timed(|| system.control(Request::get("/status")));
        assert!(status.status == 200 && took < PROBE, "/status took {took:?}");
        let answer = system.readyz();
        let report = answer.json();
        assert_ne!(part(&report, "journal")["state"], "failed", "{report}");
        answer.status == 503 && says(&part(&report, "database"), "lock")
    });
    other.execute_batch("rollback").unwrap();
    wait::until_true("it is ready again", || system.readyz().status == 200);
    system.run_task(&direct_ls("."));
    system.stop();
}

#[test]
fn a_stop_ends_while_another_program_holds_the_write_lock() {
    let mut system = System::start();
    let other = Connection::open(database(&system)).unwrap();
    let busy = system.say(&format!("/bash {}", json!({"cmd": "sleep 300", "timeout_seconds": 600})));
    wait::until_true("the task runs", || system.database().task_states() == ["in_progress"]);
    other.execute_batch("begin immediate").unwrap();
    harness::signals::send(system.supervisor_pid(), rustix::process::Signal::TERM);
    // It is orderly only if the lock is given back.
    system.wait();
    other.execute_batch("rollback").unwrap();
    drop(other);
    system.restart();
    // It ran again, or has ended meanwhile.
    system.control(Request::post(&format!("/tasks/{busy}/cancel"), ""));
    let is_open = |state: &String| state == "in_progress" || state == "queued";
    wait::until_true("the task ends", || !system.database().task_states().iter().any(is_open));
    system.stop();
}

/// Does something to the database's files, and waits until health says so or the supervisor has ended by it.
fn check_noticed(harm: impl FnOnce(&System), words: &[&str]) {
    let mut system = System::start();
    system.run_task(&direct_ls("."));
    // A table that is never read, so that the writer itself finds nothing.
    let more = "create table unread (text); insert into unread select hex(zeroblob(200000));
                pragma wal_checkpoint(truncate)";
    Connection::open(database(&system)).unwrap().execute_batch(more).unwrap();
    harm(&system);
    let noticed = wait::within(UNTIL_NOTICED, || {
        let address = http::address_of(&system.tokens().control_url);
        let Ok(answer) = Request::get("/readyz").try_send(address) else {
            return Some("ended".to_owned());
        };
        let database = part(&answer.json(), "database");
        (answer.status == 503 && database["state"] == "failed").then(|| database.to_string())
    });
    let noticed = noticed.expect("health notices it");
    assert!(noticed == "ended" || words.iter().any(|words| noticed.contains(words)), "{noticed}");
    harness::signals::send(system.supervisor_pid(), rustix::process::Signal::TERM);
    system.wait();
    std::mem::forget(system);
}

#[test]
fn damaged_pages_are_noticed() {
    let harm = |system: &System| {
        let path = database(system);
        let bytes = fs::read(&path).unwrap();
        // A page that has nothing but the table's text.
        let page = bytes.chunks(4096).position(|page| page[100..].iter().all(|byte| *byte == b'0')).unwrap();
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        file.write_all_at(&[0xA5; 4096], page as u64 * 4096).unwrap();
    };
    check_noticed(harm, &["damaged"]);
}

#[test]
fn a_truncated_file_is_noticed() {
    let cut = |system: &System| {
        let file = OpenOptions::new().write(true).open(database(system)).unwrap();
        file.set_len(file.metadata().unwrap().len() / 2 / 4096 * 4096).unwrap();
    };
    check_noticed(cut, &["damaged"]);
    check_noticed(|system| drop(File::create(database(system)).unwrap()), &["damaged"]);
}

#[test]
fn a_replaced_file_is_noticed() {
    let log = |system: &System| fs::remove_file(system.dir().data().join("db/autonous.db-wal")).unwrap();
    check_noticed(log, &["removed or replaced"]);
    let by_copy = |system: &System| {
        let copy = system.dir().path().join("copy.db");
        fs::copy(database(system), &copy).unwrap();
        fs::rename(&copy, database(system)).unwrap();
    };
    check_noticed(by_copy, &["removed or replaced"]);
    let by_other_content = |system: &System| {
        let other = system.dir().path().join("other.db");
        let connection = Connection::open(&other).unwrap();
        connection.execute_batch("pragma journal_mode = wal; create table a (b)").unwrap();
        drop(connection);
        fs::write(database(system), fs::read(other).unwrap()).unwrap();
    };
    check_noticed(by_other_content, &["damaged", "database error"]);
}

#[test]
fn a_full_disk_of_the_journal_alone_is_named_and_heals() {
    in_own_namespace("database_faults::a_full_disk_of_the_journal_alone_is_named_and_heals", || {
        let builder = System::builder();
        let journal = builder.dir().data().join("journal");
        fs::create_dir(&journal).unwrap();
        let disk = SmallDisk::mount(&journal, 4 << 20);
        let mut system = builder.start();
        disk.fill();
        wait::until_true("health names the journal", || {
            let answer = system.readyz();
            let journal = part(&answer.json(), "journal");
            answer.status == 503 && journal["state"] == "failed" && says(&journal, "No space left")
        });
        assert_eq!(part(&system.readyz().json(), "database")["state"], "ok");
        wait::until_true("no call runs", || !system.tool("ls", &json!({"path": "."})).ok);
        disk.clear();
        wait::until_true("it is ready again", || system.readyz().status == 200);
        assert!(system.tool("ls", &json!({"path": "."})).ok);
        system.stop();
    });
}

#[test]
fn a_tool_server_alone_says_when_its_journal_takes_no_records() {
    in_own_namespace("database_faults::a_tool_server_alone_says_when_its_journal_takes_no_records", || {
        let builder = ToolServer::builder();
        let journal = builder.dir().data().join("journal");
        fs::create_dir(&journal).unwrap();
        let disk = SmallDisk::mount(&journal, 4 << 20);
        let server = builder.start();
        disk.fill();
        wait::until_true("it is not ready", || {
            let answer = server.send(Request::get("/readyz"));
            answer.status == 503 && answer.text().contains("takes no records")
        });
        disk.clear();
        wait::until_true("it is ready again", || server.send(Request::get("/readyz")).status == 200);
        assert!(server.call("ls", &json!({"path": "."})).ok);
        server.stop();
    });
}

#[test]
fn another_program_that_closes_the_database_leaves_the_log_of_the_supervisor_in_place() {
    let mut system = System::start();
    let log = system.dir().data().join("db/autonous.db-wal");
    // A look at the health of the database reads its file.
    system.part("database");
    let script = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); \
        c.execute(\"insert into kv values ('test.key', 'x')\"); c.commit(); c.close()";
    let program = Command::new("python3").args(["-c", script]).arg(database(&system)).status();
    assert!(program.unwrap().success());
    assert!(log.exists(), "the program took itself for the last one, and removed the log");
    let task = system.run_task("ls path=.");
    system.kill();
    system.restart();
    let kept = format!("select count(*) from inbox where id = '{task}' and state = 'done'");
    assert_eq!(system.database().count(&kept), 1, "what was committed is lost");
}
