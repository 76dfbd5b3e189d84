//! The journal as its file shows it: torn, tampered with, wanted by two.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use protocol::journal::{CallStarted, RecordBody};
use protocol::{JournalRecord, Risk};
use tool_server::journal::Journal;
use toolkit::runner::CallIds;
use toolkit::{Recorder, Scope};

/// A journal's path, and the temporary directory that it is in.
fn place() -> (PathBuf, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    (directory.path().join("journal/tool-calls.jsonl"), directory)
}

fn record_calls(journal: &Journal, number: usize) {
    for _ in 0..number {
        let ids = CallIds::of(None, None, &Scope::default());
        let body = CallStarted {
            tool_name: "ls".to_owned(),
            token: None,
            arguments: serde_json::Map::new(),
            arguments_sha256: None,
            arguments_file: None,
            risk: Risk::Low,
            request_id: None,
            traceparent: None,
        };
        journal.started(&ids, body).unwrap();
    }
}

fn verify(path: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tool-server")).args(["journal", "verify"]).arg(path).output().unwrap()
}

fn lines(path: &Path) -> Vec<String> {
    fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn a_journal_that_was_opened_again_and_again_is_one_chain() {
    let (path, _directory) = place();
    for _ in 0..3 {
        record_calls(&Journal::open(&path).unwrap(), 2);
    }
    let verified = verify(&path);
    assert!(verified.status.success());
    assert!(String::from_utf8_lossy(&verified.stdout).contains("6 records, the chain is intact"));
}

#[test]
fn a_torn_last_line_is_cut_away_and_recorded() {
    let (path, _directory) = place();
    record_calls(&Journal::open(&path).unwrap(), 2);
    let mut text = fs::read(&path).unwrap();
    text.extend_from_slice(b"{\"type\":\"tool_ca");
    fs::write(&path, text).unwrap();
    let verified = verify(&path).stdout;
    assert!(String::from_utf8_lossy(&verified).contains("the last line is unfinished (16 bytes)"));

    record_calls(&Journal::open(&path).unwrap(), 1);
    let repaired: JournalRecord = serde_json::from_str(&lines(&path)[2]).unwrap();
    assert_eq!(repaired.body, RecordBody::Repaired { cut_bytes: 16 });
    assert!(verify(&path).status.success());
}

#[test]
fn verify_finds_a_changed_a_removed_and_a_reordered_record() {
    let (path, _directory) = place();
    record_calls(&Journal::open(&path).unwrap(), 4);
    let whole = lines(&path);
    let mut changed = whole.clone();
    changed[1] = changed[1].replace("\"ls\"", "\"rm\"");
    let mut removed = whole.clone();
    removed.remove(1);
    let mut reordered = whole.clone();
    reordered.swap(1, 2);
    for (lines, line) in [(changed, 3), (removed, 2), (reordered, 2)] {
        fs::write(&path, lines.join("\n") + "\n").unwrap();
        let verified = verify(&path);
        assert!(!verified.status.success());
        let error = String::from_utf8_lossy(&verified.stderr).into_owned();
        assert!(error.contains(&format!("line {line} does not follow line {}", line - 1)), "{error}");
    }
}

#[test]
fn the_journal_is_private() {
    use std::os::unix::fs::PermissionsExt;
    let (path, _directory) = place();
    let _journal = Journal::open(&path).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o600);
    assert_eq!(mode(path.parent().unwrap()), 0o700);
}
