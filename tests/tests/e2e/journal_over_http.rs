//! The journal over HTTP: every record, byte by byte and once, for a reader that keeps one number.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use harness::http::{Answer, Request};
use harness::tool_server::APPROVER;
use harness::{TestDir, ToolServer};
use protocol::hash::sha256;
use protocol::journal::{FIRST_PREV, archive_number};
use protocol::{ErrorCode, JournalRecord};
use serde_json::{Value, json};

const CALLER: &str = "FAKE-caller-token";

fn started() -> ToolServer {
    let small = ("AUTONOUS_TOOL_JOURNAL_MAX_BYTES", "4096");
    ToolServer::builder().token(CALLER).approver().variable(small.0, small.1).start()
}

fn call(server: &ToolServer, times: usize) {
    for number in 0..times {
        server.call("ls", &json!({"path": format!("missing-{number}")}));
    }
}

/// The full files in their order, then the journal itself.
fn files(dir: &TestDir) -> Vec<PathBuf> {
    let journal = dir.journal();
    let entries = fs::read_dir(journal.parent().unwrap()).unwrap().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut full: Vec<_> = names.filter(|name| archive_number("tool-calls.jsonl", name).is_some()).collect();
    full.sort();
    full.iter().map(|name| journal.with_file_name(name)).chain([journal.clone()]).collect()
}

/// The lines of all files.
fn on_disk(dir: &TestDir) -> Vec<String> {
    let texts = files(dir).into_iter().map(|file| fs::read_to_string(file).unwrap());
    texts.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>()).collect()
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
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let head = format!(
        "GET /journal?after=0 HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {APPROVER}\r\n\r\n",
        server.address()
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut data = BufReader::new(stream).lines().map_while(Result::ok).filter_map(|line| {
        let data = line.strip_prefix("data: ")?;
        serde_json::from_str::<Value>(data).ok()
    });
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
