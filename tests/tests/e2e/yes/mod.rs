//! What a yes covers: of policies, lines and files, all through the real server.

mod files;
mod policies;
mod random;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use harness::http::{Answer, Request};
use harness::{ToolServer, ToolServerBuilder};
use protocol::{Envelope, ErrorCode};
use serde_json::json;

const CALLER: &str = "FAKE-caller-token";

/// The chat and task of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whose {
    Mine,
    Another,
}

/// What became of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Met {
    Ran,
    /// A person must allow it: the approval's ID.
    Asked(String),
    Denied,
    Other(String),
}

fn builder(policy: &str) -> ToolServerBuilder {
    ToolServer::builder().token(CALLER).approver().policy(policy)
}

/// Calls `bash` with a line, or with arguments if it is a JSON object.
fn run(server: &ToolServer, line: &str, whose: Whose) -> Met {
    met(&answer(server, line, whose))
}

fn answer(server: &ToolServer, line: &str, whose: Whose) -> Envelope {
    let line = line.replace('⏎', "\n");
    let arguments =
        if line.starts_with("{\"") { serde_json::from_str(&line).unwrap() } else { json!({"cmd": line}) };
    let (session, task) = match whose {
        Whose::Mine => ("telegram:1", "0198c0de-0000-7000-8000-00000000000a"),
        Whose::Another => ("telegram:2", "0198c0de-0000-7000-8000-00000000000b"),
    };
    let request = Request::call("bash", &arguments);
    server.send(request.header("X-Session-Id", session).header("X-Task-Id", task)).envelope()
}

fn met(envelope: &Envelope) -> Met {
    match envelope.error_code() {
        None => Met::Ran,
        Some(ErrorCode::ApprovalRequired) => {
            Met::Asked(envelope.meta.data["approval_id"].as_str().unwrap().to_owned())
        }
        Some(ErrorCode::ToolNotAllowed) => Met::Denied,
        // The command itself ran, and failed.
        Some(ErrorCode::ExitNonzero) => Met::Ran,
        Some(_) => Met::Other(format!("{envelope:?}")),
    }
}

fn grant(server: &ToolServer, id: &str, scope: &str) -> Answer {
    server.decide(id, &json!({"decision": "grant", "scope": scope}))
}

/// The paths of all that is in the root.
fn tree(server: &ToolServer) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    add_tree(&server.root(), &mut found);
    found
}

fn add_tree(directory: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
        found.insert(entry.path().display().to_string());
        if entry.file_type().unwrap().is_dir() {
            add_tree(&entry.path(), found);
        }
    }
}
