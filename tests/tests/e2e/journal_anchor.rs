//! The end of the journal's chain is anchored in the database: what hashes alone cannot show is found.

use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;

use harness::{Request, System, TestDir, http, wait};
use protocol::JournalRecord;
use protocol::event::{JournalAccepted, JournalTampered};
use protocol::journal::{FIRST_PREV, archive_name};

use crate::check::finding;
use crate::journal_rotation::SMALL;

fn lines(dir: &TestDir) -> Vec<String> {
    let text = fs::read_to_string(dir.journal()).unwrap();
    text.lines().map(|line| format!("{line}\n")).collect()
}

/// Writes into the file that is there, as a shell would.
/// In place and without emptying the file first: a running supervisor reads it at any moment.
fn write(dir: &TestDir, lines: &[String]) {
    let (file, content) = (File::options().write(true).open(dir.journal()).unwrap(), lines.concat());
    file.write_all_at(content.as_bytes(), 0).unwrap();
    file.set_len(content.len().try_into().unwrap()).unwrap();
}

fn cut_tail(dir: &TestDir) {
    let lines = lines(dir);
    write(dir, &lines[..lines.len() - 2]);
}

fn remove_file(dir: &TestDir) {
    fs::remove_file(dir.journal()).unwrap();
}

fn swap(dir: &TestDir) {
    let mut lines = lines(dir);
    lines.swap(0, 2);
    write(dir, &lines);
}

fn remove_archive(dir: &TestDir) {
    fs::remove_file(dir.journal().with_file_name(archive_name("tool-calls.jsonl", 2))).unwrap();
}

/// Tells another story, with hashes that are all valid.
fn hash_anew(dir: &TestDir) {
    let mut prev = FIRST_PREV.to_owned();
    let forged = lines(dir).into_iter().map(|line| {
        let mut record: JournalRecord = serde_json::from_str(&line.replace("secret-plan", "plan")).unwrap();
        record.prev = prev.clone();
        let line = serde_json::to_string(&record).unwrap();
        prev = JournalRecord::line_hash(line.as_bytes());
        line + "\n"
    });
    let forged: Vec<String> = forged.collect();
    write(dir, &forged);
}

fn start() -> System {
    let system = System::builder().variables(&[SMALL]).start();
    for number in 0..2 {
        system.run_task(&format!("ls path=secret-plan-{number}"));
    }
    system
}

fn tampered(system: &System) -> Vec<JournalTampered> {
    system.database().payloads()
}

/// What `check` says of the journal: the verdict and the reason.
fn checked(system: &System) -> (String, String) {
    finding(&system.run_command(&["check", "--json"]), "journal")
}

/// An attack is found, reported everywhere, survives a restart, stops no work, and ends with an acceptance
/// alone.
fn assert_found(mut system: System, is_running: bool, attack: fn(&TestDir), what: &str) -> JournalTampered {
    if is_running {
        attack(system.dir());
    } else {
        system.stop();
        attack(system.dir());
        assert_eq!(checked(&system).0, "fail", "{what}: `check` finds it alone");
        system.start_again();
    }
    wait::until_true("the attack is found", || !tampered(&system).is_empty());
    let found = tampered(&system).remove(0);
    assert!(found.error.contains(what), "{what}: {found:?}");
    wait::until_true("the children are up", || system.readyz().text().contains(what));
    assert_eq!(system.readyz().status, 503);
    assert_eq!(checked(&system).0, "fail", "{what}");

    let task = system.run_task("ls path=.");
    let calls = format!("select count(*) from tool_calls where task_id = '{task}' and status = 'done'");
    assert_eq!(system.database().count(&calls), 1, "{what}: new calls become events");
    system.stop();
    system.start_again();
    wait::until_true("the finding stays", || {
        let answer = Request::get("/readyz").try_send(http::address_of(&system.tokens().control_url));
        answer.is_ok_and(|answer| answer.status == 503 && answer.text().contains(what))
    });

    let unexplained = system.run_command(&["journal", "accept", "--reason", ""]);
    assert!(!unexplained.status.success());
    system.shown(&["journal", "accept", "--reason", "a test attacked it"]);
    system.wait_until_ready();
    let accepted: Vec<JournalAccepted> = system.database().payloads();
    assert_eq!(accepted[0].reason, "a test attacked it");
    assert_eq!(accepted[0].expected_hash, found.expected_hash);
    system.run_task("ls path=.");
    system.stop();
    assert_eq!(checked(&system).0, "ok", "{what}: it holds from there on");
    system.restart();
    assert_eq!(accepted.len(), system.database().payloads::<JournalAccepted>().len());
    found
}

#[test]
fn records_cut_from_the_end_are_found() {
    for is_running in [true, false] {
        let found = assert_found(start(), is_running, cut_tail, "ends before the record that was read last");
        assert_eq!(found.missing_records, 2, "{found:?}");
        assert!(found.first_missing_id.is_some() && found.last_missing_id != found.first_missing_id);
    }
}

#[test]
fn a_removed_file_is_found_and_the_server_goes_on_in_a_new_one() {
    for is_running in [true, false] {
        let found = assert_found(start(), is_running, remove_file, "file 1 of the journal is gone");
        assert_eq!(found.missing_records, 4, "{found:?}");
    }
}

#[test]
fn a_chain_that_was_hashed_anew_is_found() {
    let mut system = start();
    system.stop();
    let (verdict, said) = checked(&system);
    assert_eq!(verdict, "ok", "{said}");
    let head = said.rsplit(' ').next().unwrap();
    let verify = |system: &System| {
        let path = system.dir().journal().display().to_string();
        let alone = system.run_tool_server(&["journal", "verify", &path]).status.success();
        (alone, system.run_tool_server(&["journal", "verify", "--expect", head, &path]).status.success())
    };
    assert_eq!(verify(&system), (true, true));
    let original = lines(system.dir());
    hash_anew(system.dir());
    assert_eq!(verify(&system), (true, false), "the chain alone shows nothing");
    write(system.dir(), &original);
    system.restart();
    assert_found(start(), false, hash_anew, "file 1 of the journal");
}

#[test]
fn swapped_records_and_a_missing_file_in_the_middle_are_found() {
    assert_found(start(), false, swap, "the chain of file 1 of the journal is broken");
    let with_files = || {
        let system = start();
        (0..18).for_each(|number| drop(system.run_task(&format!("ls path=missing-{number}"))));
        system
    };
    for is_running in [true, false] {
        assert_found(with_files(), is_running, remove_archive, "file 2 of the journal is gone");
    }
}

#[test]
fn a_crash_of_everything_is_no_attack() {
    let mut system = start();
    for _ in 0..2 {
        system.kill();
        // What a server leaves that was killed during a write.
        let text = fs::read_to_string(system.dir().journal()).unwrap();
        fs::write(system.dir().journal(), text + "{\"type\":\"tool_ca").unwrap();
        system.restart();
        system.run_task("ls path=.");
    }
    assert!(tampered(&system).is_empty(), "{:?}", tampered(&system));
    let refused = system.run_command(&["journal", "accept", "--reason", "nothing"]);
    assert!(!refused.status.success(), "there is nothing to accept");
}
