//! The journal over HTTP: every record, byte by byte and once, for a reader that keeps one number.

use std::fs;
use std::time::{Duration, Instant};

use harness::ToolServer;
use harness::http::{Answer, Request};
use harness::tool_server::APPROVER;
use protocol::hash::sha256;
use protocol::journal::FIRST_PREV;
use protocol::{ErrorCode, JournalRecord};
use serde_json::{Value, json};

use crate::journal_rotation::{SMALL, files, on_disk};
use crate::lines_of;

const CALLER: &str = "FAKE-caller-token";

fn started() -> ToolServer {
    ToolServer::builder().token(CALLER).approver().variables(&[SMALL]).start()
}

fn call(server: &ToolServer, times: usize) {
    for number in 0..times {
        server.call("ls", &json!({"path": format!("missing-{number}")}));
    }
}

fn ask(server: &ToolServer, query: &str) -> Answer {
    server.as_approver(Request::get(&format!("/journal?{query}")))
}

/// The numbers and the lines of an answer that ends.
fn records(answer: &Answer) -> Vec<(u64, String)> {
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("text/event-stream")));
    let text = answer.text();
    let events = text.split("\n\n").filter(|event| !event.is_empty());
    let record = |event: &str| {
        let fields: Vec<&str> = event.lines().collect();
        let [id, "event: record", data] = fields[..] else { panic!("no event of a record: {event}") };
        (id["id: ".len()..].parse().unwrap(), data["data: ".len()..].to_owned())
    };
    events.map(record).collect()
}

fn lines(records: &[(u64, String)]) -> Vec<String> {
    records.iter().map(|(_, line)| line.clone()).collect()
}

fn error_of(answer: &Answer) -> (u16, Option<ErrorCode>) {
    (answer.status, answer.envelope().error_code())
}

#[test]
fn a_reader_gets_every_record_of_all_files_as_it_stands_and_can_check_the_chain() {
    let server = started();
    call(&server, 24);
    assert!(files(server.dir()).len() > 3);
    let all = records(&ask(&server, "after=0&follow=false"));
    assert_eq!(lines(&all), on_disk(server.dir()));
    assert_eq!(all, records(&ask(&server, "follow=false")));
    assert!(all.windows(2).all(|two| two[0].0 < two[1].0), "{:?}", all.iter().map(|one| one.0));
    let mut prev = FIRST_PREV.to_owned();
    for (_, line) in &all {
        assert_eq!(serde_json::from_str::<JournalRecord>(line).unwrap().prev, prev);
        prev = sha256(line.as_bytes());
    }
    // From each of them on, in a query or as the last event that a client has.
    for (index, (number, _)) in all.iter().enumerate() {
        assert_eq!(records(&ask(&server, &format!("after={number}&follow=false"))), all[index + 1..]);
        let again = Request::get("/journal?after=0&follow=false");
        let again = server.as_approver(again.header("Last-Event-ID", &number.to_string()));
        assert_eq!(records(&again), all[index + 1..]);
    }
}

#[test]
fn a_number_stays_true_when_its_file_is_archived_and_over_a_kill() {
    let mut server = started();
    call(&server, 2);
    let before = records(&ask(&server, "follow=false"));
    let (last, _) = before.last().unwrap();
    call(&server, 24);
    server.crash(|_| ());
    call(&server, 1);
    let rest = records(&ask(&server, &format!("after={last}&follow=false")));
    assert_eq!([lines(&before), lines(&rest)].concat(), on_disk(server.dir()));
}

#[test]
fn a_reader_that_waits_gets_each_record_when_it_is_written_and_keeps_no_server_from_ending() {
    let server = started();
    call(&server, 1);
    let request = Request::get("/journal?after=0").header("Authorization", &format!("Bearer {APPROVER}"));
    let lines = lines_of(&request, server.address());
    let mut data = lines.filter_map(|line| serde_json::from_str::<Value>(line.strip_prefix("data: ")?).ok());
    let mut next = |kind: &str| {
        let record = data.next().expect("there is another record");
        assert_eq!(record["type"], kind, "{record}");
        record
    };
    next("tool_call.started");
    next("tool_call.failed");
    // Files are archived meanwhile.
    for number in 0..24 {
        let asked = format!("here-{number}");
        server.call("ls", &json!({"path": asked}));
        assert_eq!(next("tool_call.started")["arguments"]["path"], asked);
        next("tool_call.failed");
    }
    let since = Instant::now();
    server.stop();
    assert!(since.elapsed() < Duration::from_secs(5), "{:?}", since.elapsed());
    assert_eq!(data.next(), None);
}

#[test]
fn what_is_no_place_in_the_journal_is_refused() {
    let server = started();
    call(&server, 24);
    let all = records(&ask(&server, "follow=false"));
    let (first, last) = (all[0].0, all.last().unwrap().0);
    for number in [1, first - 1, first + 1, last + 1, last * 2, u64::MAX] {
        let answer = ask(&server, &format!("after={number}&follow=false"));
        assert_eq!(error_of(&answer), (404, Some(ErrorCode::NotFound)), "{number}: {}", answer.text());
        assert!(answer.text().contains(&number.to_string()), "{}", answer.text());
    }
    for query in ["after=-1", "after=x", "after=1.5", "after=18446744073709551616", "seq=1", "follow=maybe"] {
        let answer = ask(&server, query);
        assert_eq!(error_of(&answer), (400, Some(ErrorCode::InvalidArgument)), "{query}: {}", answer.text());
    }
    let header = Request::get("/journal").header("Last-Event-ID", "the last");
    assert_eq!(error_of(&server.as_approver(header)), (400, Some(ErrorCode::InvalidArgument)));
    // The oldest file was pruned: what it had is not there any more, and the rest is.
    fs::remove_file(&files(server.dir())[0]).unwrap();
    assert_eq!(ask(&server, &format!("after={first}&follow=false")).status, 404);
    assert_eq!(lines(&records(&ask(&server, "after=0&follow=false"))), on_disk(server.dir()));
}

#[test]
fn only_the_approvers_token_reads_the_journal() {
    let server = started();
    for path in ["/journal?follow=false", "/journal/arguments/0"] {
        for request in [
            Request::get(path),
            Request::get(path).header("Authorization", "Bearer FAKE-guessed"),
            Request::get(path).without("Authorization"),
        ] {
            let answer = server.send(request);
            assert_eq!(error_of(&answer), (401, Some(ErrorCode::Unauthorized)), "{path}");
        }
    }
    assert_eq!(server.as_approver(Request::post("/journal", "")).status, 405);
    let without_an_approver = ToolServer::start();
    assert_eq!(without_an_approver.send(Request::get("/journal?follow=false")).status, 401);
}

#[test]
fn arguments_that_are_too_large_for_a_record_are_read_by_their_hash() {
    let server = started();
    let content = "x".repeat(100_000);
    server.call("ls", &json!({"path": content}));
    let all = records(&ask(&server, "follow=false"));
    let record: Value = serde_json::from_str(&all[0].1).unwrap();
    let name = record["arguments_file"].as_str().expect("they are in a file");
    let answer = server.as_approver(Request::get(&format!("/journal/arguments/{name}")));
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(sha256(&answer.body), name);
    assert_eq!(answer.json()["path"], content);
    for name in ["0", &"0".repeat(64), "..%2Ftool-calls.jsonl", &"é".repeat(32)] {
        let answer = server.as_approver(Request::get(&format!("/journal/arguments/{name}")));
        assert_eq!(error_of(&answer), (404, Some(ErrorCode::NotFound)), "{name}: {}", answer.text());
    }
}

/// A line that somebody else wrote is no part of the protocol: the reader's check of the chain finds it.
#[test]
fn a_forged_line_forges_no_event() {
    let mut server = started();
    server.crash(|dir| fs::write(dir.journal(), "{}\rid: 7\revent: record\rdata: {\"x\": 1}\n").unwrap());
    let all = records(&ask(&server, "follow=false"));
    assert_eq!(lines(&all)[0], r#"{} id: 7 event: record data: {"x": 1}"#);
}
