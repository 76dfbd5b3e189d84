//! `tool-server mcp`: a client starts its own server, and speaks to it over stdin and stdout.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use harness::wait::{SOON, until_true, within};
use harness::{TestDir, binaries, leftovers};
use protocol::ErrorCode;
use serde_json::{Value, json};

use super::{call, cancellation, envelope, forsaken, initialize, message, plain_call, runs};
use crate::ASKS_ABOUT_WRITE;

struct Server<'a> {
    dir: &'a TestDir,
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl<'a> Server<'a> {
    fn start(dir: &'a TestDir, root: &str) -> Self {
        Self::of(dir, program(dir, &["--root", root]))
    }

    fn of(dir: &'a TestDir, mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = dir.spawn(&mut command).expect("the program starts");
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().expect("stdout is a pipe"));
        Self { dir, child, stdin, stdout }
    }

    fn tell(&mut self, message: &Value) {
        writeln!(self.stdin.as_mut().expect("it is open"), "{message}").unwrap();
    }

    fn next(&mut self) -> Value {
        let mut line = String::new();
        assert_ne!(self.stdout.read_line(&mut line).unwrap(), 0, "the server has ended");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    fn ask(&mut self, message: &Value) -> Value {
        self.tell(message);
        let answer = self.next();
        assert_eq!(answer["id"], message["id"], "{answer}");
        answer["result"].clone()
    }

    fn initialize(&mut self, capabilities: &Value) {
        let agreed = self.ask(&initialize("2025-06-18", capabilities));
        assert_eq!(agreed["protocolVersion"], "2025-06-18", "{agreed}");
        self.tell(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    }

    /// Closes stdin, as a client does at its end, and waits for the server's.
    fn end(mut self) {
        drop(self.stdin.take());
        let status = within(SOON, || self.child.try_wait().unwrap());
        assert!(status.is_some_and(|status| status.success()), "{status:?}");
        leftovers::assert_no_process(self.dir);
    }
}

fn program(dir: &TestDir, arguments: &[&str]) -> Command {
    let mut command = Command::new(binaries::path_of("tool-server"));
    command.arg("mcp").args(arguments).env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin");
    command.env("XDG_STATE_HOME", dir.path()).current_dir(dir.path());
    command
}

fn root_of(dir: &TestDir) -> String {
    dir.root().display().to_string()
}

/// The journals below a directory for states of programs.
fn journals(states: &Path) -> Vec<String> {
    let servers = fs::read_dir(states.join("autonous/mcp")).unwrap().flatten();
    servers
        .map(|server| fs::read_to_string(server.path().join("journal/tool-calls.jsonl")).unwrap())
        .collect()
}

#[test]
fn a_client_of_either_kind_lists_and_calls_within_the_root_that_it_names() {
    let dir = TestDir::new();
    fs::write(dir.root().join("a.txt"), "one\n").unwrap();
    let mut server = Server::start(&dir, &root_of(&dir));
    let list = message(1, "tools/list", json!({}), &json!({}));
    assert!(server.ask(&list)["tools"].as_array().unwrap().len() > 5);
    assert!(envelope(&server.ask(&call("read", &json!({"path": "a.txt"})))).stdout.contains("one"));
    let edit = json!({"path": "a.txt", "edits": [{"find": "one", "replace": "two"}]});
    assert!(envelope(&server.ask(&call("multi_edit", &edit))).ok, "it has read the file before");
    let secret = dir.outside().join("secret.txt");
    let outside = envelope(&server.ask(&call("read", &json!({"path": secret}))));
    assert_eq!(outside.error_code(), Some(ErrorCode::PathOutsideRoots));
    server.end();
    let mut server = Server::start(&dir, "root");
    server.initialize(&json!({}));
    let call = plain_call(1, "bash", &json!({"cmd": "tr a-z A-Z < a.txt"}));
    assert_eq!(envelope(&server.ask(&call)).stdout, "TWO\n");
    server.end();
    assert!(!dir.path().join("root/data").exists() && !dir.data().join("journal").exists());
    let journals = journals(dir.path());
    assert!(journals.iter().all(|journal| journal.contains("\"mcp:")), "{journals:?}");
}

#[test]
fn what_is_no_message_is_passed_over_and_a_message_that_is_wrong_is_answered() {
    let dir = TestDir::new();
    let mut server = Server::start(&dir, &root_of(&dir));
    server.initialize(&json!({}));
    writeln!(server.stdin.as_mut().unwrap(), "no message\n\n{{").unwrap();
    writeln!(server.stdin.as_mut().unwrap(), "{{\"jsonrpc\": \"2.0\"}}").unwrap();
    assert_eq!(server.next()["error"]["code"], -32600);
    assert_eq!(server.ask(&json!({"jsonrpc": "2.0", "id": 3, "method": "ping"})), json!({}));
    server.tell(&json!({"jsonrpc": "2.0", "id": 4, "method": "no/such"}));
    assert_eq!(server.next()["error"]["code"], -32601);
    server.end();
}

#[test]
fn a_cancelled_call_and_the_end_of_the_client_kill_commands() {
    let dir = TestDir::new();
    let mut server = Server::start(&dir, &root_of(&dir));
    server.initialize(&json!({}));
    let (word, arguments) = forsaken("at-stdin");
    server.tell(&plain_call(7, "bash", &arguments));
    until_true("the command runs", || runs(&word));
    server.tell(&cancellation(&json!({"requestId": 7})));
    until_true("the command is gone", || !runs(&word));
    server.tell(&plain_call(8, "bash", &arguments));
    until_true("another one runs", || runs(&word));
    server.end();
    assert!(!runs(&word));
}

#[test]
fn the_user_of_the_client_decides_about_calls_that_ask() {
    let dir = TestDir::new();
    let config = dir.write_policy(ASKS_ABOUT_WRITE);
    let write = plain_call(1, "write", &json!({"path": "a.txt", "content": "one\n"}));
    let start = |capabilities: Value| {
        let mut command = program(&dir, &["--root", &root_of(&dir)]);
        command.env("AUTONOUS_CONFIG_DIR", &config);
        let mut server = Server::of(&dir, command);
        server.initialize(&capabilities);
        server
    };
    let mut server = start(json!({}));
    let refused = envelope(&server.ask(&write)).meta.error.unwrap();
    assert_eq!(refused.code, ErrorCode::ApprovalRequired);
    assert!(refused.hint.contains("approved"), "{}", refused.hint);
    server.end();
    let mut server = start(json!({"elicitation": {}}));
    server.tell(&write);
    let question = server.next();
    assert_eq!(question["method"], "elicitation/create", "{question}");
    let said = json!({"action": "accept", "content": {"allow": true}});
    server.tell(&json!({"jsonrpc": "2.0", "id": question["id"], "result": said}));
    let ran = server.next();
    assert!(envelope(&ran["result"]).ok, "{ran}");
    assert_eq!(fs::read_to_string(dir.root().join("a.txt")).unwrap(), "one\n");
    server.end();
}

#[test]
fn two_clients_work_in_one_project_at_the_same_time() {
    let dir = TestDir::new();
    let mut one = Server::start(&dir, &root_of(&dir));
    let mut other = Server::start(&dir, &root_of(&dir));
    for server in [&mut one, &mut other] {
        assert!(envelope(&server.ask(&call("ls", &json!({"path": "."})))).ok);
    }
    let Server { stdin, mut child, .. } = other;
    drop(stdin);
    assert!(within(SOON, || child.try_wait().unwrap()).is_some());
    one.end();
    assert_eq!(journals(dir.path()).len(), 2);
}

#[test]
fn a_start_that_cannot_work_says_why() {
    let dir = TestDir::new();
    let refused = |command: &mut Command| {
        let output = command.stdin(Stdio::null()).output().unwrap();
        assert!(!output.status.success(), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(refused(&mut program(&dir, &[])).contains("--root"));
    let nowhere = refused(&mut program(&dir, &["--root", "nowhere"]));
    assert!(nowhere.contains("nowhere"), "{nowhere}");
    let homeless = refused(program(&dir, &["--root", "root"]).env_remove("XDG_STATE_HOME"));
    assert!(homeless.contains("AUTONOUS_DATA_DIR"), "{homeless}");
    let mut at_home = program(&dir, &["--root", "root"]);
    at_home.env_remove("XDG_STATE_HOME").env("HOME", dir.outside()).stdin(Stdio::null());
    assert!(at_home.stderr(Stdio::null()).status().unwrap().success(), "it ends with its client");
    assert_eq!(journals(&dir.outside().join(".local/state")).len(), 1);
    let root = root_of(&dir);
    let inside = refused(program(&dir, &["--root", &root]).env("AUTONOUS_DATA_DIR", format!("{root}/data")));
    assert!(inside.contains("root"), "{inside}");
}
