//! What a yes covers: of policies, lines and files, all through the real server.

mod files;
mod policies;
mod random;

use std::path::PathBuf;
use std::thread;

use harness::http::{Answer, Request};
use harness::leftovers::everything_below;
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
    server.send(request.of_session(session).header("X-Task-Id", task)).envelope()
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
fn tree(server: &ToolServer) -> Vec<PathBuf> {
    everything_below(&server.root())
}

/// What failed of all, of which a quarter each is checked at once.
fn failed<T: Sync>(all: &[T], failure: impl Fn(&T) -> Option<String> + Sync) -> Vec<String> {
    let failure = &failure;
    thread::scope(|scope| {
        let parts = all.chunks(all.len().div_ceil(4));
        let threads: Vec<_> = parts
            .map(|part| scope.spawn(move || part.iter().filter_map(failure).collect::<Vec<_>>()))
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    })
}
