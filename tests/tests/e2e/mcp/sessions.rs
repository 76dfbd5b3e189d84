//! Older revisions: a client opens a session with a handshake, and listens and cancels in it.

use std::fs;

use harness::wait::until_true;
use harness::{Request, ToolServer, wait};
use protocol::ErrorCode;
use serde_json::{Value, json};

use super::{begin, cancellation, envelope, forsaken, initialize, messages, next, plain_call, result, runs};

/// A client that has opened a session.
pub(super) struct Client<'a> {
    server: &'a ToolServer,
    revision: String,
    session: String,
}

impl<'a> Client<'a> {
    fn open(server: &'a ToolServer, revision: &str) -> Self {
        Self::open_with(server, revision, json!({}))
    }

    pub(super) fn open_with(server: &'a ToolServer, revision: &str, capabilities: Value) -> Self {
        let answer = server.send(sent(&initialize(revision, &capabilities)));
        let session = answer.header("mcp-session-id").expect("a session is opened").to_owned();
        let agreed = result(&answer);
        assert_eq!(agreed["serverInfo"]["name"], "autonous-tool-server", "{agreed}");
        let revision = agreed["protocolVersion"].as_str().unwrap().to_owned();
        let client = Self { server, revision, session };
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(server.send(client.request(&ready)).status, 202);
        client
    }

    pub(super) fn request(&self, message: &Value) -> Request {
        let request = sent(message).header("Mcp-Session-Id", &self.session);
        request.header("MCP-Protocol-Version", &self.revision)
    }

    pub(super) fn call(&self, id: i64, tool: &str, arguments: &Value) -> Request {
        self.request(&plain_call(id, tool, arguments))
    }

    fn called(&self, tool: &str, arguments: &Value) -> Value {
        result(&self.server.send(self.call(1, tool, arguments)))
    }

    fn bare(&self, method: &str) -> Request {
        let request = Request::new(method, "/mcp").header("Accept", "text/event-stream");
        request.header("Mcp-Session-Id", &self.session).header("MCP-Protocol-Version", &self.revision)
    }
}

fn sent(message: &Value) -> Request {
    Request::post_json("/mcp", message).header("Accept", "application/json, text/event-stream")
}

#[test]
fn every_older_revision_opens_a_session_lists_and_calls() {
    let mut server = ToolServer::start();
    fs::write(server.root().join("a.txt"), "one\n").unwrap();
    for (asked, agreed) in [
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ] {
        let client = Client::open(&server, asked);
        assert_eq!(client.revision, agreed);
        let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
        let listed = result(&server.send(client.request(&list)));
        assert!(listed["tools"].as_array().unwrap().iter().any(|tool| tool["name"] == "read"), "{listed}");
        let read = client.called("read", &json!({"path": "a.txt"}));
        assert!(envelope(&read).stdout.contains("one"), "{read}");
        assert!(read.get("resultType").is_none(), "it has no such field: {read}");
        let outside = envelope(&client.called("read", &json!({"path": "/etc/passwd"})));
        assert_eq!(outside.error_code(), Some(ErrorCode::PathOutsideRoots));
    }
    let log = server.program().log();
    assert!(!log.contains("rmcp"), "the library has nothing to say of it: {log}");
}

#[test]
fn a_session_has_its_own_reads_until_it_is_closed() {
    let server = ToolServer::start();
    fs::write(server.root().join("a.txt"), "one\n").unwrap();
    let (one, other) = (Client::open(&server, "2025-06-18"), Client::open(&server, "2025-06-18"));
    let edit = json!({"path": "a.txt", "edits": [{"find": "one", "replace": "two"}]});
    assert!(envelope(&one.called("read", &json!({"path": "a.txt"}))).ok);
    assert_eq!(envelope(&other.called("multi_edit", &edit)).error_code(), Some(ErrorCode::NotRead));
    assert!(envelope(&one.called("multi_edit", &edit)).ok);
    let journal = fs::read_to_string(server.dir().journal()).unwrap();
    assert!(!journal.contains(&one.session), "the ID of a session is its client's secret");
    assert_eq!(server.send(one.bare("DELETE")).status, 204);
    assert_eq!(server.send(one.call(2, "ls", &json!({"path": "."}))).status, 404);
    assert_eq!(server.send(other.call(2, "ls", &json!({"path": "."}))).status, 200);
    let unknown = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    assert_eq!(server.send(sent(&unknown)).status, 400, "without a session");
}

#[test]
fn a_cancelled_call_has_its_command_killed() {
    let server = ToolServer::start();
    let client = Client::open(&server, "2025-06-18");
    let (word, arguments) = forsaken("cancelled");
    let _stream = begin(&server, &client.call(77, "bash", &arguments));
    until_true("the command runs", || runs(&word));
    let cancel = cancellation(&json!({"requestId": 77, "reason": "enough"}));
    assert_eq!(server.send(client.request(&cancel)).status, 202);
    until_true("the command is gone", || !runs(&word));
    until_true("its end is recorded", || {
        fs::read_to_string(server.dir().journal()).unwrap().contains("CANCELLED")
    });
}

#[test]
fn a_session_that_is_closed_takes_its_commands_with_it() {
    let server = ToolServer::start();
    let client = Client::open(&server, "2025-11-25");
    let (word, arguments) = forsaken("closed");
    let _stream = begin(&server, &client.call(1, "bash", &arguments));
    until_true("the command runs", || runs(&word));
    assert_eq!(server.send(client.bare("DELETE")).status, 204);
    until_true("the command is gone", || !runs(&word));
}

#[test]
fn progress_comes_on_the_stream_of_the_call() {
    let server = ToolServer::start();
    let client = Client::open(&server, "2025-03-26");
    let mut call = plain_call(1, "bash", &json!({"cmd": "until [ -e go ]; do sleep 0.01; done"}));
    call["params"]["_meta"] = json!({"progressToken": 3});
    let mut stream = begin(&server, &client.request(&call));
    let progress = next(&mut stream);
    assert_eq!(progress["params"]["progressToken"], 3, "{progress}");
    fs::write(server.root().join("go"), "").unwrap();
    let end = std::iter::repeat_with(|| next(&mut stream)).find(|message| message.get("result").is_some());
    assert!(envelope(&end.unwrap()["result"]).ok);
}

#[test]
fn a_client_that_listens_keeps_no_server_from_ending() {
    let server = ToolServer::start();
    let client = Client::open(&server, "2025-06-18");
    let listening = begin(&server, &client.bare("GET"));
    let ping = json!({"jsonrpc": "2.0", "id": 5, "method": "ping"});
    assert_eq!(messages(&server.send(client.request(&ping))).pop().unwrap()["result"], json!({}));
    let began = std::time::Instant::now();
    server.stop();
    assert!(began.elapsed() < wait::SOON / 6, "{:?}", began.elapsed());
    drop(listening);
}

#[test]
fn there_are_at_most_so_many_sessions() {
    let server = ToolServer::start();
    let first = Client::open(&server, "2025-06-18");
    for _ in 1..256 {
        Client::open(&server, "2025-06-18");
    }
    let open = sent(&initialize("2025-06-18", &json!({})));
    let refused = server.send(open.clone()).envelope();
    assert_eq!(refused.error_code(), Some(ErrorCode::Overloaded));
    assert!(envelope(&first.called("ls", &json!({"path": "."}))).ok);
    assert!(envelope(&super::called(&server, "ls", &json!({"path": "."}))).ok);
    assert_eq!(server.send(first.bare("DELETE")).status, 204);
    assert_eq!(server.send(open).status, 200);
}
