//! Output that callers get while it comes: in order, without secrets, the envelope last, and nothing lost to
//! one that comes back.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::TcpStream;

use harness::http::Request;
use harness::tool_server::ToolServer;
use harness::wait::until_true;
use protocol::{Envelope, ErrorCode};
use serde_json::{Value, json};

use crate::background::{code, runs, session, word};

/// A call whose output is wanted as it comes.
fn streamed(tool: &str, arguments: &Value) -> Request {
    Request::call(tool, arguments).of_session("one").header("Accept", "text/event-stream")
}

fn keyed(arguments: &Value, after: Option<u64>) -> Request {
    let request = streamed("bash", arguments).header("Idempotency-Key", "k");
    after.into_iter().fold(request, |request, after| request.header("Last-Event-ID", &after.to_string()))
}

#[derive(Debug, Clone, PartialEq)]
struct Event {
    id: Option<u64>,
    name: String,
    data: Value,
}

impl Event {
    fn text(&self) -> &str {
        self.data["text"].as_str().unwrap_or_default()
    }
}

/// A stream that is read event by event. Dropped, its connection closes.
struct Events {
    connection: BufReader<TcpStream>,
    text: String,
}

impl Events {
    fn open(server: &ToolServer, request: &Request) -> Self {
        let connection = BufReader::new(request.send_without_the_last(0, server.address()));
        let mut events = Self { connection, text: String::new() };
        let head = events.head();
        assert!(head.starts_with("HTTP/1.1 200") && head.contains("text/event-stream"), "{head}");
        events
    }

    fn head(&mut self) -> String {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(self.connection.read_line(&mut head).unwrap(), 0, "{head}");
        }
        head
    }

    /// The next event; none at the end.
    fn next(&mut self) -> Option<Event> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let event = parsed(event);
                self.text = rest.to_owned();
                if event.is_some() {
                    return event;
                }
            } else if !self.read_chunk() {
                return None;
            }
        }
    }

    fn read_chunk(&mut self) -> bool {
        let mut size = String::new();
        self.connection.read_line(&mut size).unwrap();
        let size = usize::from_str_radix(size.trim(), 16).unwrap();
        let mut chunk = vec![0; size + 2];
        self.connection.read_exact(&mut chunk).unwrap();
        self.text.push_str(std::str::from_utf8(&chunk[..size]).unwrap());
        size > 0
    }

    /// All that follows, and the envelope at its end.
    fn rest(mut self) -> (Vec<Event>, Envelope) {
        let mut events: Vec<Event> = std::iter::from_fn(|| self.next()).collect();
        let last = events.pop().expect("the envelope comes last");
        assert_eq!((last.name.as_str(), last.id), ("envelope", None));
        assert!(events.iter().all(|event| event.name != "envelope"), "{events:?}");
        (events, serde_json::from_value(last.data).unwrap())
    }
}

/// An event; none for a comment.
fn parsed(text: &str) -> Option<Event> {
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    let name = field("event")?.to_owned();
    let id = field("id").map(|id| id.parse().unwrap());
    Some(Event { id, name, data: serde_json::from_str(field("data").unwrap()).unwrap() })
}

fn all(server: &ToolServer, request: &Request) -> (Vec<Event>, Envelope) {
    Events::open(server, request).rest()
}

fn texts(events: &[Event]) -> Vec<&str> {
    events.iter().map(Event::text).collect()
}

/// A command line that waits until the test makes this file.
fn until_there(file: &str) -> String {
    format!("while [ ! -e {file} ]; do sleep 0.02; done")
}

#[test]
fn output_comes_while_the_command_runs_and_the_envelope_last() {
    let server = ToolServer::start();
    let cmd =
        format!("echo one; {}; echo two >&2; {}; printf three; exit 4", until_there("a"), until_there("b"));
    let mut events = Events::open(&server, &streamed("bash", &json!({"cmd": cmd})));
    let first = events.next().unwrap();
    let expected = json!({"stream": "stdout", "text": "one\n"});
    assert_eq!(first, Event { id: Some(1), name: "output".to_owned(), data: expected });
    fs::write(server.root().join("a"), "").unwrap();
    let second = events.next().unwrap();
    assert_eq!((second.id, &second.data["stream"], second.text()), (Some(2), &json!("stderr"), "two\n"));
    fs::write(server.root().join("b"), "").unwrap();
    let (rest, envelope) = events.rest();
    assert_eq!((texts(&rest), rest[0].id), (vec!["three"], Some(3)));
    let usual = session(&server, "one").call("bash", &json!({"cmd": cmd}));
    let said = |envelope: &Envelope| {
        let error = envelope.meta.error.as_ref().map(|error| error.code);
        (envelope.exit_code, envelope.stdout.clone(), envelope.stderr.clone(), error)
    };
    assert_eq!(said(&envelope), said(&usual));
    // A caller that lists JSON first gets that.
    let json_first =
        streamed("bash", &json!({"cmd": "true"})).header("Accept", "application/json, text/event-stream");
    assert!(json_first.send(server.address()).envelope().ok);
}

#[test]
fn secrets_are_hidden_wherever_the_command_pauses() {
    let server = ToolServer::start();
    let token = concat!("ghp_", "FAKE567890abcdefghijklmnopqrstuvwxyz12");
    let (begin, body) =
        (concat!("-----BEGIN ", "PRIVATE KEY-----"), "FAKE6Idr96riOHdfUrAytPDQj0DxOILDtLvUFeLRzlOT");
    let (half, rest) = token.split_at(20);
    let cmd = format!(
        "printf {half}; sleep 0.3; echo {rest}; echo '{begin}'; sleep 0.1; echo {body}; sleep 0.1; \
         echo {body}; echo 'all done.'"
    );
    let (events, envelope) = all(&server, &streamed("bash", &json!({"cmd": cmd})));
    let shown = texts(&events).concat();
    for hidden in ["ghp_", "FAKE5", rest, body] {
        assert!(!shown.contains(hidden) && !envelope.stdout.contains(hidden), "{hidden}: {shown}");
    }
    assert!(events.len() >= 3 && shown.contains("REDACTED") && shown.ends_with("all done.\n"), "{events:?}");
}

#[test]
fn what_does_not_run_is_answered_with_its_status() {
    let server = ToolServer::start();
    let refused = |request: Request| {
        let answer = request.send(server.address());
        let said = (answer.status, code(&answer.envelope()));
        assert_eq!(answer.header("content-type"), Some("application/json"), "{said:?}");
        said
    };
    let touch = json!({"cmd": "touch ran"});
    for request in [
        streamed("bash", &json!({"cmd": 1})),
        streamed("bash", &touch).header("Last-Event-ID", "3"),
        keyed(&touch, None).header("Last-Event-ID", "x"),
    ] {
        assert_eq!(refused(request), (400, ErrorCode::InvalidArgument));
    }
    for (tool, arguments) in
        [("bash", json!({"cmd": "true", "workdir": "no"})), ("process_read", json!({"process_id": "p-0"}))]
    {
        let (events, envelope) = all(&server, &streamed(tool, &arguments));
        assert_eq!((events.len(), code(&envelope)), (0, ErrorCode::NotFound), "its status is 200");
    }
    assert!(!server.root().join("ran").exists());
    let (events, envelope) = all(&server, &streamed("bash", &json!({"cmd": "sleep 9", "background": true})));
    assert!(events.is_empty() && envelope.meta.data["process_id"].is_string(), "{envelope:?}");
}

#[test]
fn a_caller_that_comes_back_misses_nothing_and_nothing_runs_twice() {
    let mut server = ToolServer::start();
    let cmd = format!("echo ran >> runs; echo one; {}; echo two; echo three >&2", until_there("go"));
    let arguments = json!({"cmd": cmd});
    let mut first = Events::open(&server, &keyed(&arguments, None));
    assert_eq!(first.next().unwrap().text(), "one\n");
    drop(first);
    // One goes on, another one begins at the beginning.
    let goes_on = Events::open(&server, &keyed(&arguments, Some(1)));
    let begins = Events::open(&server, &keyed(&arguments, None));
    let other = keyed(&json!({"cmd": "touch ran"}), Some(1)).send(server.address());
    assert_eq!((other.status, code(&other.envelope())), (409, ErrorCode::IdempotencyConflict));
    fs::write(server.root().join("go"), "").unwrap();
    let (events, envelope) = goes_on.rest();
    let ids: Vec<_> = events.iter().map(|event| event.id).collect();
    assert_eq!((texts(&events), ids), (vec!["two\n", "three\n"], vec![Some(2), Some(3)]));
    let (whole, same) = begins.rest();
    assert_eq!((texts(&whole), &same), (vec!["one\n", "two\n", "three\n"], &envelope));
    // After its end.
    let (again, same) = all(&server, &keyed(&arguments, Some(2)));
    assert_eq!((again.as_slice(), &same), (&events[1..], &envelope));
    // Another session has a key of its own.
    let others = keyed(&arguments, None).of_session("two");
    assert_ne!(all(&server, &others).1.meta.call_id, envelope.meta.call_id);
    let ran = |server: &ToolServer| fs::read_to_string(server.root().join("runs")).unwrap();
    assert_eq!(ran(&server), "ran\nran\n");
    // After a restart there is the answer.
    server.crash(|_| {});
    let (events, same) = all(&server, &keyed(&arguments, Some(1)));
    assert_eq!((events.len(), &same.stdout, ran(&server).as_str()), (0, &envelope.stdout, "ran\nran\n"));
}

#[test]
fn a_caller_that_goes_away_ends_its_command_unless_it_has_a_key() {
    let server = ToolServer::start();
    let word = word("streams");
    let arguments = json!({"cmd": format!("echo up; exec -a {word} sleep 300")});
    let mut events = Events::open(&server, &streamed("bash", &arguments));
    assert_eq!(events.next().unwrap().text(), "up\n");
    until_true("it runs", || runs(&word) == 1);
    drop(events);
    until_true("it was killed", || runs(&word) == 0);

    let mut events = Events::open(&server, &keyed(&arguments, None));
    events.next().unwrap();
    until_true("it runs", || runs(&word) == 1);
    drop(events);
    let busy = keyed(&arguments, None).header("Accept", "application/json").send(server.address());
    assert_eq!(code(&busy.envelope()), ErrorCode::InProgress);
    assert_eq!(runs(&word), 1);
    assert_eq!(Events::open(&server, &keyed(&arguments, None)).next().unwrap().text(), "up\n");
}

#[test]
fn a_process_is_followed_from_the_call_that_began_it() {
    let server = ToolServer::start();
    let own = session(&server, "one");
    let cmd = format!("echo one; {}; echo two; read; echo three; exit 5", until_there("go"));
    let (events, envelope) = all(&server, &streamed("bash", &json!({"cmd": cmd, "yield_after_seconds": 1})));
    let data = &envelope.meta.data;
    assert_eq!((texts(&events), &data["state"]), (vec!["one\n"], &json!("running")));
    assert_eq!(data["next_seq"], json!(events[0].id));
    let id = data["process_id"].as_str().unwrap();
    let follow = json!({"process_id": id, "after_seq": data["next_seq"], "wait_seconds": 60});
    let mut events = Events::open(&server, &streamed("process_read", &follow));
    fs::write(server.root().join("go"), "").unwrap();
    let two = events.next().unwrap();
    assert_eq!(two.text(), "two\n");
    drop(events);
    let written = own.call("process_write", &json!({"process_id": id, "eof": true}));
    assert!(written.ok, "{written:?}");
    let back = streamed("process_read", &follow).header("Last-Event-ID", &two.id.unwrap().to_string());
    let (events, envelope) = all(&server, &back);
    assert_eq!((texts(&events), envelope.stdout.as_str()), (vec!["three\n"], "three\n"), "{envelope:?}");
    let data = &envelope.meta.data;
    assert_eq!((&data["state"], &data["exit_code"]), (&json!("exited"), &json!(5)));
    let (events, _) = all(&server, &streamed("process_read", &json!({"process_id": id, "tail_lines": 2})));
    assert_eq!(texts(&events), ["two\n", "three\n"]);
    // One that ends in time.
    let soon = json!({"cmd": "echo a; echo b", "yield_after_seconds": 60});
    let (events, envelope) = all(&server, &streamed("bash", &soon));
    assert_eq!((texts(&events).concat().as_str(), envelope.stdout.as_str()), ("a\nb\n", "a\nb\n"));
    assert!(envelope.meta.data["process_id"].is_null());
}

#[test]
fn a_flood_ends_with_its_envelope_and_what_is_not_sent_is_told() {
    let server = ToolServer::start();
    let line = "x".repeat(99);
    let flood = json!({"cmd": format!("yes {line} | head -n 100000; echo last"), "timeout_seconds": 120});
    let (events, envelope) = all(&server, &streamed("bash", &flood));
    let sent: usize = events.iter().map(|event| event.text().len()).sum();
    let dropped = events.iter().filter_map(|event| event.data["bytes"].as_u64()).max().unwrap_or(0);
    assert_eq!(u64::try_from(sent).unwrap() + dropped, 10_000_005);
    assert!(events.iter().filter_map(|event| event.id).is_sorted());
    assert!(envelope.ok && envelope.stdout.ends_with("last\n"));
    assert_eq!(envelope.meta.full_output.unwrap().bytes, 10_000_005);
}
