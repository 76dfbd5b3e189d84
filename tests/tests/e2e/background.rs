//! Background processes: started by one call, read, written to and ended by others, within the bounds of
//! every command.

use std::fs;
use std::time::{Duration, Instant};

use harness::http::Request;
use harness::leftovers::processes_with;
use harness::tool_server::ToolServer;
use harness::wait::{until, until_true};
use protocol::{Envelope, ErrorCode};
use serde_json::{Value, json};

use crate::records;

/// A session of a server.
pub(crate) struct Session<'s> {
    server: &'s ToolServer,
    name: &'s str,
}

impl Session<'_> {
    pub(crate) fn call(&self, tool: &str, arguments: &Value) -> Envelope {
        self.server.send(Request::call(tool, arguments).of_session(self.name)).envelope()
    }

    /// Starts a process; its ID.
    fn start(&self, cmd: &str) -> String {
        let started = self.call("bash", &json!({"cmd": cmd, "background": true}));
        assert!(started.ok, "{started:?}");
        let id = started.meta.data["process_id"].as_str().unwrap().to_owned();
        assert!(started.stdout.contains(&id), "{}", started.stdout);
        id
    }

    pub(crate) fn read(&self, arguments: &Value) -> Envelope {
        let read = self.call("process_read", arguments);
        assert!(read.ok, "{read:?}");
        read
    }

    /// Reads from the beginning until the output has this text.
    pub(crate) fn wait_for(&self, id: &str, text: &str) -> Envelope {
        let read = || self.read(&json!({"process_id": id, "after_seq": 0}));
        until(&format!("{id} writes {text:?}"), || Some(read()).filter(|read| read.stdout.contains(text)))
    }

    /// Waits for the end of a process.
    pub(crate) fn wait_for_end(&self, id: &str) -> Envelope {
        let read = || self.read(&json!({"process_id": id, "wait_seconds": 1}));
        until(&format!("{id} ends"), || Some(read()).filter(|read| read.meta.data["state"] != "running"))
    }

    pub(crate) fn kill(&self, id: &str) -> Envelope {
        let killed = self.call("process_kill", &json!({"process_id": id}));
        assert!(killed.ok, "{killed:?}");
        killed
    }
}

pub(crate) fn session<'s>(server: &'s ToolServer, name: &'s str) -> Session<'s> {
    Session { server, name }
}

pub(crate) fn code(envelope: &Envelope) -> ErrorCode {
    envelope.meta.error.as_ref().unwrap_or_else(|| panic!("it should fail: {}", envelope.stdout)).code
}

/// A name for the processes of one test.
pub(crate) fn word(name: &str) -> String {
    format!("{name}-{}", std::process::id())
}

pub(crate) fn runs(word: &str) -> usize {
    processes_with(word).iter().filter(|process| process.command.starts_with(word)).count()
}

/// The records of ended processes in the journal.
pub(crate) fn ended(server: &ToolServer) -> Vec<Value> {
    let mut records = records::<Value>(server.dir());
    records.retain(|record| record["type"] == "background_process.ended");
    records
}

#[test]
fn a_process_outlives_its_call_and_is_read_and_written_to_and_killed() {
    let server = ToolServer::start();
    let (own, word) = (session(&server, "one"), word("talks"));
    let id = own.start(&format!("echo ready; read name; echo \"hello $name\" >&2; exec -a {word} sleep 300"));
    let read = own.wait_for(&id, "ready");
    assert_eq!((&read.meta.data["state"], read.stdout.as_str()), (&json!("running"), "ready\n"));
    let wrote = own.call("process_write", &json!({"process_id": id, "text": "Ada", "keys": ["enter"]}));
    assert_eq!((wrote.ok, &wrote.meta.data["written_bytes"]), (true, &json!(4)));
    let read = own.wait_for(&id, "hello");
    assert_eq!(read.stdout, "ready\nhello Ada\n");
    assert_eq!(read.meta.data["chunks"][1], json!({"seq": 2, "stream": "stderr", "text": "hello Ada\n"}));
    let listed = own.call("process_list", &json!({}));
    assert!(listed.stdout.starts_with(&format!("{id}\trunning\t")), "{}", listed.stdout);
    until_true("it is in the process table", || runs(&word) == 1);

    let killed = own.kill(&id);
    assert_eq!((&killed.meta.data["state"], &killed.meta.data["exit_code"]), (&json!("killed"), &json!(137)));
    assert_eq!(runs(&word), 0);
    let read = own.read(&json!({"process_id": id}));
    assert!(read.stdout.ends_with("hello Ada\n"), "what it wrote stays");
    let path = read.meta.data["output_path"].as_str().unwrap();
    assert_eq!(own.call("read", &json!({"path": path, "line_numbers": false})).stdout, "ready\nhello Ada\n");
    let late = own.call("process_write", &json!({"process_id": id, "text": "x"}));
    assert_eq!(code(&late), ErrorCode::Conflict);
    let records = ended(&server);
    assert_eq!(records.len(), 1, "{records:?}");
    assert_eq!((&records[0]["process_id"], &records[0]["state"]), (&json!(id), &json!("killed")));
    assert!(records[0]["parent_id"].is_string() && records[0]["session_id"] == "one", "{records:?}");
}

#[test]
fn a_reader_continues_where_it_stood_and_waits_for_what_comes() {
    let server = ToolServer::start();
    let own = session(&server, "one");
    let id = own.start("seq 1 500; read; echo more; read; exit 3");
    let read = own.wait_for(&id, "500");
    let seq = read.meta.data["next_seq"].as_u64().unwrap();
    let tail = own.read(&json!({"process_id": id, "tail_lines": 2}));
    assert_eq!((tail.stdout.as_str(), &tail.meta.data["next_seq"]), ("499\n500\n", &json!(seq)));
    let since = Instant::now();
    let nothing = own.read(&json!({"process_id": id, "after_seq": seq, "wait_seconds": 1}));
    assert!(nothing.stdout.is_empty() && since.elapsed() >= Duration::from_secs(1), "{nothing:?}");
    assert_eq!(nothing.meta.data["next_seq"], seq);

    let waits = std::thread::scope(|scope| {
        let reader =
            scope.spawn(|| own.read(&json!({"process_id": id, "after_seq": seq, "wait_seconds": 60})));
        own.call("process_write", &json!({"process_id": id, "keys": ["enter"]}));
        reader.join().unwrap()
    });
    assert_eq!(waits.stdout, "more\n");
    own.call("process_write", &json!({"process_id": id, "eof": true}));
    let end = own.wait_for_end(&id);
    assert_eq!((&end.meta.data["state"], &end.meta.data["exit_code"]), (&json!("exited"), &json!(3)));
    assert!(end.stderr.contains("exit code 3"), "{}", end.stderr);
    let both = json!({"process_id": id, "after_seq": 1, "tail_lines": 1});
    assert_eq!(code(&own.call("process_read", &both)), ErrorCode::InvalidArgument);
}

#[test]
fn keys_are_signals_and_a_process_may_ignore_signals_but_not_its_end() {
    let server = ToolServer::start();
    let (own, word) = (session(&server, "one"), word("stubborn"));
    let id = own.start("trap 'echo interrupted' INT; echo ready; while :; do sleep 0.1; done");
    own.wait_for(&id, "ready");
    own.call("process_write", &json!({"process_id": id, "keys": ["ctrl-c"]}));
    own.wait_for(&id, "interrupted");
    own.kill(&id);

    // It ignores signals, and what forks away lives in sessions of its own.
    let fork_away = format!(
        "trap '' TERM INT HUP; (setsid bash -c 'trap \"\" TERM; (exec -a {word} sleep 300) & exec -a {word} \
         sleep 300' &); (setsid setsid bash -c 'exec -a {word} sleep 300' & disown); echo ready; while :; do \
         sleep 0.1; done"
    );
    let id = own.start(&fork_away);
    own.wait_for(&id, "ready");
    until_true("all have forked away", || runs(&word) == 3);
    let asked = own.call("process_kill", &json!({"process_id": id, "signal": "INT"}));
    assert_eq!(asked.meta.data["state"], "running", "{asked:?}");
    own.kill(&id);
    assert_eq!(runs(&word), 0);
    // What only a daemon is left of has ended.
    let id = own.start(&format!("(setsid bash -c 'exec -a {word} sleep 300' &); exit 4"));
    assert_eq!(own.wait_for_end(&id).meta.data["exit_code"], 4);
    assert_eq!(runs(&word), 0);
}

#[test]
fn other_sessions_find_no_process_of_this_one() {
    let server = ToolServer::start();
    let (own, other) = (session(&server, "one"), session(&server, "two"));
    let id = own.start("echo secret-of-one; sleep 300");
    own.wait_for(&id, "secret-of-one");
    for (tool, arguments) in [
        ("process_read", json!({"process_id": id})),
        ("process_write", json!({"process_id": id, "text": "x"})),
        ("process_kill", json!({"process_id": id})),
    ] {
        assert_eq!(code(&other.call(tool, &arguments)), ErrorCode::NotFound, "{tool}");
    }
    assert_eq!(other.call("process_list", &json!({})).stdout, "");
    assert_eq!(own.read(&json!({"process_id": id})).meta.data["state"], "running");
}

#[test]
fn its_caller_may_go_away() {
    let server = ToolServer::start();
    let (own, word) = (session(&server, "default"), word("orphan"));
    let body = json!({"cmd": format!("exec -a {word} sleep 300"), "background": true}).to_string();
    let stream = Request::post("/tools/bash", body).send_without_the_last(0, server.address());
    until_true("the process runs", || runs(&word) == 1);
    drop(stream);
    let id = own.call("process_list", &json!({})).meta.data["processes"][0]["process_id"].clone();
    let read = own.read(&json!({"process_id": id, "wait_seconds": 1}));
    assert_eq!((&read.meta.data["state"], runs(&word)), (&json!("running"), 1));
    own.kill(id.as_str().unwrap());
    assert_eq!(runs(&word), 0);
}

/// Until a server listens.
const RETRY: &str = "--retry 5 --retry-connrefused";

#[test]
fn fifty_dev_servers_run_at_once_in_bounds_and_none_survives_the_tool_server() {
    let mut server = ToolServer::start();
    let word = word("fifty");
    let names: Vec<String> = (0..7).map(|number| format!("s{number}")).collect();
    let mut ids = Vec::new();
    for name in &names {
        let own = session(&server, name);
        let most = if name == "s6" { 2 } else { 8 };
        let serve = |n| format!("exec -a {word} python3 -m http.server --bind localhost 800{n}");
        ids.extend((0..most).map(|n| own.start(&serve(n))));
        let ask = format!("for n in {{0..{}}}; do curl -sS -o /dev/null -w '%{{http_code}} '", most - 1);
        let asked = own.call("bash", &json!({"cmd": format!("{ask} {RETRY} localhost:800$n; done")}));
        assert_eq!(asked.stdout, "200 ".repeat(most), "{asked:?}");
    }
    assert_eq!(ids.len(), 50);
    until_true("all of them run", || runs(&word) == 50);
    let ninth = session(&server, "s0").call("bash", &json!({"cmd": "sleep 1", "background": true}));
    assert_eq!(code(&ninth), ErrorCode::QuotaExceeded);
    assert!(ninth.stderr.contains("process_kill"), "{}", ninth.stderr);
    let command = session(&server, "s0").call("bash", &json!({"cmd": "echo works"}));
    assert_eq!(command.stdout, "works\n", "commands have places of their own");

    server.crash(|_| {});
    assert_eq!(runs(&word), 0);
    until_true("their ends are recorded", || ended(&server).len() == 50);
    let records = ended(&server);
    assert!(ids.iter().all(|id| records.iter().any(|record| record["process_id"] == **id)), "{records:?}");
    assert!(records.iter().all(|record| record["state"] == "killed"));
    let gone = session(&server, "s0").call("process_read", &json!({"process_id": ids[0]}));
    assert_eq!(code(&gone), ErrorCode::NotFound);
    assert_eq!(session(&server, "s0").call("process_list", &json!({})).stdout, "");
}

#[test]
fn a_server_that_stops_ends_its_processes_and_says_so() {
    let server = ToolServer::start();
    let journal = server.dir().journal();
    session(&server, "one").start("trap '' TERM; echo > .envrc; while :; do sleep 0.1; done");
    until_true("it has left a control file", || server.root().join(".envrc").exists());
    // The directory of the test goes with the server.
    let kept = tempfile::tempdir().unwrap();
    let copy = kept.path().join("journal");
    fs::hard_link(journal, &copy).unwrap();
    assert!(server.stop().success());
    let text = fs::read_to_string(copy).unwrap();
    assert!(text.contains("tool server ended") && text.contains(".envrc"), "{text}");
}

#[test]
fn an_idle_session_loses_its_process_when_the_time_is_over_and_hears_of_it() {
    let server = ToolServer::builder().variable("AUTONOUS_TOOL_MAX_PROCESS_SECONDS", "1").start();
    let (own, word) = (session(&server, "one"), word("idle"));
    let id = own.start(&format!("trap '' TERM; (setsid bash -c 'exec -a {word} sleep 300' &); sleep 300"));
    until_true("it was ended", || !ended(&server).is_empty());
    assert_eq!(runs(&word), 0);
    let listed = own.call("process_list", &json!({}));
    assert!(listed.stdout.starts_with(&format!("{id}\ttimed out\t1 s\t")), "{}", listed.stdout);
    let read = own.read(&json!({"process_id": id}));
    assert_eq!((&read.meta.data["state"], &read.meta.data["exit_code"]), (&json!("timed_out"), &json!(124)));
    assert!(read.stderr.contains("AUTONOUS_TOOL_MAX_PROCESS_SECONDS"), "{}", read.stderr);
    // A shorter time of the call counts as well.
    let server = ToolServer::start();
    let own = session(&server, "one");
    let started = json!({"cmd": "sleep 300", "background": true, "timeout_seconds": 1});
    let id = own.call("bash", &started).meta.data["process_id"].as_str().unwrap().to_owned();
    assert_eq!(own.wait_for_end(&id).meta.data["state"], "timed_out");
}

#[test]
fn a_flood_is_bounded_and_its_end_is_kept() {
    let server = ToolServer::start();
    let own = session(&server, "one");
    let line = "x".repeat(99);
    let id = own.start(&format!("echo first; yes {line} | head -n 400000; echo last; sleep 300"));
    let tail = || own.read(&json!({"process_id": id, "tail_lines": 1}));
    until_true("the flood has passed", || tail().stdout == "last\n");
    let from_start = own.read(&json!({"process_id": id, "after_seq": 0}));
    assert!(from_start.meta.data["dropped_bytes"].as_u64() > Some(38_000_000), "{}", from_start.stderr);
    assert!(from_start.stdout.len() <= 51_200 && from_start.truncated_bytes);
    // A reader that continues gets all that is kept, and nothing twice.
    let (mut seq, mut read, mut last) =
        (from_start.meta.data["next_seq"].clone(), from_start.stdout.len(), 0);
    while last != read {
        last = read;
        let next = own.read(&json!({"process_id": id, "after_seq": seq}));
        assert_eq!(next.meta.data["dropped_bytes"], 0);
        (seq, read) = (next.meta.data["next_seq"].clone(), read + next.stdout.len());
    }
    assert!((800_000..=1 << 20).contains(&read), "{read}");
    let path = from_start.meta.data["output_path"].as_str().unwrap();
    until_true("its file is as large as it may be", || {
        fs::metadata(path).is_ok_and(|file| file.len() == 16 << 20)
    });
    assert!(fs::read(path).unwrap().starts_with(b"first\nxxx"));
    own.kill(&id);
}

#[test]
fn what_it_leaves_for_other_programs_is_taken_back_while_it_runs_and_when_it_ends() {
    let server = ToolServer::builder().allowing_all().start();
    let own = session(&server, "one");
    let file = server.root().join(".envrc");
    let id = own.start("echo one > .envrc; echo ready; read; echo two > .envrc; exit 0");
    own.wait_for(&id, "ready");
    assert!(file.exists());
    let alone = own.call("bash", &json!({"cmd": "true", "allow_control_files": true}));
    assert_eq!(code(&alone), ErrorCode::Conflict, "{alone:?}");
    let meanwhile = own.call("bash", &json!({"cmd": "true"}));
    assert!(meanwhile.ok && !file.exists(), "{meanwhile:?}");
    assert_eq!(meanwhile.meta.data["created_control_files"][0]["taken_back"], true);
    own.call("process_write", &json!({"process_id": id, "eof": true}));
    let end = own.wait_for_end(&id);
    assert!(!file.exists() && end.stderr.contains(".envrc"), "{}", end.stderr);
    assert_eq!(end.meta.data["created_control_files"][0]["path"], json!(file));
    assert_eq!(ended(&server)[0]["created_control_files"][0]["path"], json!(file));
    let both = json!({"cmd": "true", "background": true, "allow_control_files": true});
    assert_eq!(code(&own.call("bash", &both)), ErrorCode::InvalidArgument);
    // With none left, a command may run alone again.
    assert!(own.call("bash", &json!({"cmd": "true", "allow_control_files": true})).ok);
}

#[test]
fn its_output_hides_secrets_and_it_sees_no_hidden_file() {
    let server = ToolServer::start();
    let own = session(&server, "one");
    fs::write(server.root().join(".env"), "PASSWORD=of-the-operator\n").unwrap();
    let (begin, body) =
        (concat!("-----BEGIN ", "PRIVATE KEY-----"), "FAKE6Idr96riOHdfUrAytPDQj0DxOILDtLvUFeLRzlOT");
    let token = concat!("ghp_", "FAKE567890abcdefghijklmnopqrstuvwxyz12");
    let id = own.start(&format!(
        "cat .env || echo hidden; echo token: {token}; echo '{begin}'; read; echo {body}; echo {body}; echo \
         'all done.'"
    ));
    let first = own.wait_for(&id, "BEGIN");
    assert!(first.stdout.contains("hidden\n"), "{}", first.stdout);
    for secret in ["of-the-operator", token] {
        assert!(!first.stdout.contains(secret) && !first.meta.data.to_string().contains(secret), "{secret}");
    }
    own.call("process_write", &json!({"process_id": id, "keys": ["enter"]}));
    own.wait_for_end(&id);
    let rest = own.read(&json!({"process_id": id, "after_seq": first.meta.data["next_seq"]}));
    assert!(!rest.stdout.contains(body) && !rest.meta.data.to_string().contains(body), "{}", rest.stdout);
    assert!(rest.stdout.contains("all done.") && rest.meta.redacted, "{rest:?}");
}

#[test]
fn a_process_has_the_memory_and_the_time_of_any_command() {
    let server = ToolServer::builder().variable("AUTONOUS_TOOL_MAX_MEMORY_MB", "64").start();
    let own = session(&server, "one");
    let id = own.start("head -c 200M /dev/zero | tail -c 150M | sleep 60");
    let end = own.wait_for_end(&id);
    assert_eq!(end.meta.data["state"], "killed");
    assert!(end.stderr.contains("AUTONOUS_TOOL_MAX_MEMORY_MB"), "{}", end.stderr);
    drop(server);

    let limits = "[limits.chat]\ncommand_seconds_per_day = 2\n";
    let server = ToolServer::builder().policy(limits).start();
    let own = session(&server, "one");
    let id = own.start("sleep 300");
    let end = own.wait_for_end(&id);
    assert!(end.stderr.contains("seconds of commands for today are used up"), "{}", end.stderr);
}

#[test]
fn without_places_there_are_no_processes_and_no_tools_for_them() {
    let server = ToolServer::builder().variable("AUTONOUS_TOOL_MAX_PROCESSES", "0").start();
    let own = session(&server, "one");
    let refused = own.call("bash", &json!({"cmd": "true", "background": true}));
    assert_eq!(code(&refused), ErrorCode::ToolNotAllowed);
    let catalogue = server.send(Request::get("/tools")).json().to_string();
    assert!(catalogue.contains("\"bash\"") && !catalogue.contains("\"process_read\""));
    let server = ToolServer::start();
    let nowhere = json!({"cmd": "x", "workdir": "no", "background": true});
    assert_eq!(code(&session(&server, "one").call("bash", &nowhere)), ErrorCode::NotFound);
}

/// Answers every request on a port with the path that was asked for.
const DEV_SERVER: &str = "import http.server
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'you asked for ' + self.path.encode())
server = http.server.HTTPServer(('127.0.0.1', 8000), Handler)
print('listening', flush=True)
server.serve_forever()
";

#[test]
fn a_dev_server_is_asked_by_a_later_command_of_its_session_alone() {
    let server = ToolServer::start();
    let (own, other) = (session(&server, "one"), session(&server, "two"));
    let python = own.call("bash", &json!({"cmd": "command -v python3 curl"}));
    assert!(python.ok, "this test needs python3 and curl: {}", python.stderr);
    own.call("write", &json!({"path": "server.py", "content": DEV_SERVER}));
    let id = own.start("exec python3 server.py");
    own.wait_for(&id, "listening");
    let ask = |session: &Session<'_>, path: &str| {
        let cmd = format!("curl -sS --max-time 5 http://localhost:8000/{path}");
        session.call("bash", &json!({"cmd": cmd}))
    };
    let asked = ask(&own, "hello");
    assert!(asked.ok && asked.stdout == "you asked for /hello", "{asked:?}");
    let log = own.wait_for(&id, "GET /hello");
    assert!(log.stdout.contains("\"GET /hello HTTP/1.1\" 200"), "{}", log.stdout);
    // Another process of the session reaches it, too, and another session neither it nor its ports.
    let client = own.start("curl -sS --max-time 5 http://127.0.0.1:8000/from-process");
    assert_eq!(own.wait_for_end(&client).stdout, "you asked for /from-process");
    assert_eq!(ask(&other, "x").exit_code, 7);
    let theirs = other.start("sleep 300");
    assert_eq!(ask(&other, "x").exit_code, 7, "also when it has a network of its own");
    other.kill(&theirs);
    let taken = own.call("bash", &json!({"cmd": "timeout 5 python3 server.py"}));
    assert!(taken.stderr.contains("Address already in use"), "{}", taken.stderr);

    own.kill(&id);
    assert_eq!(ask(&own, "x").exit_code, 7);
    // Its port is free, for a session that had it as for any other.
    for session in [&own, &other] {
        let id = session.start("exec python3 server.py");
        session.wait_for(&id, "listening");
        assert!(ask(session, "again").ok);
    }
}

#[test]
fn a_session_with_a_process_reaches_no_network_but_its_own() {
    let server = ToolServer::start();
    let own = session(&server, "one");
    own.start("sleep 300");
    let port = server.address().port();
    let cmd =
        format!("cat /proc/net/dev | tail -n +3 | cut -d: -f1; curl -sS --max-time 5 localhost:{port}/livez");
    let tried = own.call("bash", &json!({"cmd": cmd}));
    assert_eq!((tried.stdout.trim(), tried.exit_code), ("lo", 7), "{tried:?}");
}
