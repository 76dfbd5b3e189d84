//! The Model Context Protocol at `POST /mcp`, in the current revision and in older ones.

mod asking;
mod current;
mod refused;
mod sessions;
mod stdin;

use std::io::{BufRead, BufReader};
use std::net::TcpStream;

use harness::{Answer, Request, ToolServer};
use protocol::Envelope;
use serde_json::{Value, json};

use crate::background::word;
use crate::commands::runs;

const CURRENT: &str = "2026-07-28";

/// A message of the current revision, which says in itself who sends it.
fn message(id: i64, method: &str, mut params: Value, capabilities: &Value) -> Value {
    let meta = params.as_object_mut().unwrap().entry("_meta").or_insert_with(|| json!({}));
    meta["io.modelcontextprotocol/protocolVersion"] = CURRENT.into();
    meta["io.modelcontextprotocol/clientInfo"] = json!({"name": "test client", "version": "1"});
    meta["io.modelcontextprotocol/clientCapabilities"] = capabilities.clone();
    plain(id, method, &params)
}

/// A message of an older revision.
fn plain(id: i64, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// A call of an older revision.
fn plain_call(id: i64, tool: &str, arguments: &Value) -> Value {
    plain(id, "tools/call", &json!({"name": tool, "arguments": arguments}))
}

/// What begins a session of an older revision.
fn initialize(revision: &str, capabilities: &Value) -> Value {
    let params = json!({
        "protocolVersion": revision, "capabilities": capabilities,
        "clientInfo": {"name": "old client", "version": "1"},
    });
    plain(0, "initialize", &params)
}

fn cancellation(params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
}

/// Asks for the tools in the current revision.
fn list() -> Request {
    posted(&message(1, "tools/list", json!({}), &json!({})))
}

/// The request that carries it.
fn posted(message: &Value) -> Request {
    let request = Request::post_json("/mcp", message)
        .header("Accept", "application/json, text/event-stream")
        .header("MCP-Protocol-Version", CURRENT)
        .header("Mcp-Method", message["method"].as_str().unwrap_or_default());
    match message["params"]["name"].as_str() {
        Some(name) => request.header("Mcp-Name", name),
        None => request,
    }
}

fn call(tool: &str, arguments: &Value) -> Value {
    message(1, "tools/call", json!({"name": tool, "arguments": arguments}), &json!({}))
}

/// Calls a tool in the current revision.
fn called(server: &ToolServer, tool: &str, arguments: &Value) -> Value {
    let answer = server.send(posted(&call(tool, arguments)));
    assert_eq!(answer.status, 200, "{}", answer.text());
    result(&answer)
}

/// The messages of an answer, which is one or a stream of them.
fn messages(answer: &Answer) -> Vec<Value> {
    match answer.header("content-type") {
        Some("text/event-stream") => answer.text().lines().filter_map(event).collect(),
        _ => vec![answer.json()],
    }
}

/// The data of an event, in a line.
fn event(line: &str) -> Option<Value> {
    let data = line.strip_prefix("data:")?.trim();
    (!data.is_empty()).then(|| serde_json::from_str(data).unwrap_or_else(|error| panic!("{error}: {data}")))
}

fn result(answer: &Answer) -> Value {
    let last = messages(answer).pop().unwrap_or_default();
    assert!(last.get("result").is_some(), "{last}");
    last["result"].clone()
}

/// The envelope in a result, which also says in words what it says.
fn envelope(result: &Value) -> Envelope {
    let envelope: Envelope = serde_json::from_value(result["structuredContent"].clone())
        .unwrap_or_else(|error| panic!("{error}: {result}"));
    assert_eq!(result["isError"], json!(!envelope.ok), "{result}");
    let text = protocol::text_form::text_form(&envelope);
    assert_eq!(result["content"], json!([{"type": "text", "text": text}]));
    envelope
}

/// Sends a request, and keeps the connection open to read what comes.
fn begin(server: &ToolServer, request: &Request) -> BufReader<TcpStream> {
    let stream = request.send_without_the_last(0, server.address());
    stream.set_read_timeout(Some(harness::wait::SOON)).unwrap();
    BufReader::new(stream)
}

/// The next message of a stream.
fn next(stream: &mut BufReader<TcpStream>) -> Value {
    let mut line = String::new();
    loop {
        line.clear();
        assert_ne!(stream.read_line(&mut line).unwrap(), 0, "the stream has ended");
        if let Some(message) = event(line.trim_end()) {
            return message;
        }
    }
}

/// A command that runs until it is killed, under a name of its own.
fn forsaken(name: &str) -> (String, Value) {
    let word = word(name);
    let arguments = json!({"cmd": format!("exec -a {word} sleep 300"), "timeout_seconds": 600});
    (word, arguments)
}
