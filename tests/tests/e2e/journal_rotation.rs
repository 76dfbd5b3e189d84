//! A journal of many files: the chain goes through all of them, and the supervisor takes each record in once.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use harness::{System, TestDir, ToolServer, wait};
use protocol::JournalRecord;
use protocol::journal::{RecordBody, archive_number};
use serde_json::{Value, json};

/// As small as it can be: a few calls fill a file.
pub(crate) const SMALL: (&str, &str) = ("AUTONOUS_TOOL_JOURNAL_MAX_BYTES", "4096");

/// The full files in their order, then the journal itself.
pub(crate) fn files(dir: &TestDir) -> Vec<PathBuf> {
    let journal = dir.journal();
    let entries = fs::read_dir(journal.parent().unwrap()).expect("a server has a journal").flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut full: Vec<_> = names.filter(|name| archive_number("tool-calls.jsonl", name).is_some()).collect();
    full.sort();
    full.iter().map(|name| journal.with_file_name(name)).chain([journal.clone()]).collect()
}

/// The lines of all files.
pub(crate) fn on_disk(dir: &TestDir) -> Vec<String> {
    let texts = files(dir).into_iter().map(|file| fs::read_to_string(file).expect("a journal is text"));
    texts.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// How many calls began, by the journal's own files.
fn recorded_calls(dir: &TestDir) -> usize {
    let record = |line: &String| serde_json::from_str::<JournalRecord>(line).expect("a line is a record");
    let bodies = on_disk(dir).iter().map(|line| record(line).body).collect::<Vec<_>>();
    bodies.iter().filter(|body| matches!(body, RecordBody::Started(_))).count()
}

fn verified(server: &ToolServer) -> Result<Value, String> {
    let output = server.run_command(&["journal", "verify", "--json"]);
    match output.status.success() {
        true => Ok(serde_json::from_slice(&output.stdout).expect("--json prints JSON")),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

fn server_with_full_files() -> ToolServer {
    let server = ToolServer::builder().variables(&[SMALL]).start();
    for number in 0..24 {
        server.call("ls", &json!({"path": format!("missing-{number}")}));
    }
    assert!(files(server.dir()).len() > 3, "{:?}", files(server.dir()));
    server
}

#[test]
fn a_full_file_is_put_aside_and_the_chain_goes_through_all_of_them() {
    let mut server = server_with_full_files();
    let chain = verified(&server).unwrap();
    assert_eq!(chain["records"], 48, "{chain}");
    assert_eq!(chain["files"], files(server.dir()).len(), "{chain}");
    for file in files(server.dir()) {
        assert!(fs::metadata(&file).unwrap().len() <= 4096, "{file:?}");
    }
    server.crash(|dir| fs::remove_file(dir.journal()).unwrap());
    server.assert_alive("a kill between two files");
    verified(&server).expect("the chain goes on from the newest full file");
}

#[test]
fn what_was_done_to_a_full_file_is_found() {
    let server = server_with_full_files();
    let all = files(server.dir());
    let (first, second) = (&all[0], &all[1]);
    let original = fs::read_to_string(first).unwrap();
    let lines: Vec<&str> = original.lines().collect();
    let without_last = lines[..lines.len() - 1].join("\n") + "\n";
    let swapped = [&lines[1..2], &lines[..1], &lines[2..]].concat().join("\n") + "\n";
    for (what, content) in [
        ("changed", original.replacen("missing", "miss1ng", 1)),
        ("without its last record", without_last),
        ("reordered", swapped),
        ("cut in the middle of a line", original[..original.len() - 9].to_owned()),
    ] {
        fs::write(first, content).unwrap();
        let error = verified(&server).expect_err(what);
        assert!(error.contains("tool-calls.jsonl.00000"), "{what}: {error}");
    }
    fs::write(first, &original).unwrap();
    let kept = fs::read(second).unwrap();
    fs::remove_file(second).unwrap();
    verified(&server).expect_err("a file in the middle is missing");
    fs::write(second, kept).unwrap();
    fs::remove_file(first).unwrap();
    assert_eq!(verified(&server).unwrap()["files_gone"], 1, "the oldest may go");
}

#[test]
fn a_supervisor_that_was_away_takes_in_each_record_once() {
    let mut system = System::builder().variables(&[SMALL]).start();
    for number in 0..12 {
        system.run_task(&format!("ls path=missing-{number}"));
    }
    assert!(files(system.dir()).len() > 1, "the running system has full files: {:?}", files(system.dir()));
    system.stop();
    // A tool server alone continues the same journal, and puts several files aside.
    let journal = system.dir().journal().display().to_string();
    let alone = ToolServer::builder().variables(&[SMALL, ("AUTONOUS_TOOL_JOURNAL", &journal)]).start();
    for number in 0..24 {
        alone.call("ls", &json!({"path": format!("alone-{number}")}));
    }
    alone.stop();
    system.restart();
    let recorded = recorded_calls(system.dir());
    wait::until_true("all calls are events", || system.database().events_of("tool_call.started") == recorded);
    system.run_task("ls path=.");
    let ids = system.database().texts("select id from events where type like 'tool_call.%' order by seq");
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "no record is an event twice");
    let open = "select count(*) from tool_calls where status = 'running'";
    assert_eq!(system.database().count(open), 0, "every call has its end");
    let log = system.log();
    assert!(!log.contains("chain is broken") && !log.contains("read again"), "{log}");
}
