//! The tool server alone: `tool-server serve` with a root and a data directory.

mod builder;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{ExitStatus, Output};

use protocol::Envelope;
use serde_json::Value;

use crate::program::Launch;
use crate::{Answer, Program, Request, TestDir, http, leftovers, wait};

pub use builder::{Refusal, ToolServerBuilder};

/// The token of those who decide about calls.
pub const APPROVER: &str = "FAKE-approver-token";

const LISTENING: [&str; 2] = ["listening on http://", "listening on https://"];

#[derive(Debug)]
pub struct ToolServer {
    program: Program,
    launch: Launch,
    address: SocketAddr,
    token: Option<String>,
    roots: Vec<PathBuf>,
    // Dropped last, because a failing test prints the log in it.
    dir: TestDir,
}

impl ToolServer {
    pub fn builder() -> ToolServerBuilder {
        ToolServerBuilder::new()
    }

    pub fn start() -> Self {
        Self::builder().start()
    }

    pub fn dir(&self) -> &TestDir {
        &self.dir
    }

    pub fn root(&self) -> PathBuf {
        self.dir.root()
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn program(&mut self) -> &mut Program {
        &mut self.program
    }

    /// Calls a tool.
    pub fn call(&self, tool: &str, arguments: &Value) -> Envelope {
        self.send(Request::call(tool, arguments)).envelope()
    }

    /// Sends a request; adds the server's token unless the request has `Authorization`.
    pub fn send(&self, request: Request) -> Answer {
        match &self.token {
            Some(token) if !request.has("Authorization") => request.bearer(token).send(self.address),
            _ => request.send(self.address),
        }
    }

    /// Sends a request with the token [`APPROVER`].
    pub fn as_approver(&self, request: Request) -> Answer {
        self.send(request.bearer(APPROVER))
    }

    /// What the approver is shown of a call.
    pub fn approval(&self, id: &str) -> Value {
        self.as_approver(Request::get(&format!("/approvals/{id}"))).json()
    }

    /// Decides about the call with this approval.
    pub fn decide(&self, approval: &str, decision: &Value) -> Answer {
        self.as_approver(Request::post_json(&format!("/approvals/{approval}"), decision))
    }

    /// Sends raw bytes; none if the server closes the connection without a response.
    pub fn raw(&self, bytes: &[u8]) -> Option<Answer> {
        http::raw(self.address, bytes).ok()
    }

    /// Panics if the server no longer lists its root.
    pub fn assert_alive(&self, after: &str) {
        let envelope = self.call("ls", &serde_json::json!({"path": "."}));
        assert!(envelope.ok, "after {after} the server does not list its root: {envelope:?}");
    }

    /// Kills the server, as a crash would, calls `meanwhile`, and starts it again.
    pub fn crash(&mut self, meanwhile: impl FnOnce(&TestDir)) {
        self.program.kill();
        leftovers::assert_no_process(&self.dir);
        meanwhile(&self.dir);
        (self.program, self.address) = listening(&self.dir, &self.launch);
    }

    /// The same, and it listens where it did.
    pub fn crash_in_place(&mut self, meanwhile: impl FnOnce(&TestDir)) {
        let address = self.address.to_string();
        self.launch.variables.push(("AUTONOUS_TOOL_LISTEN".to_owned(), address));
        self.crash(meanwhile);
    }

    /// Runs another `tool-server` command with this server's variables.
    pub fn run_command(&self, arguments: &[&str]) -> Output {
        self.launch.output(&self.dir, arguments, &[])
    }

    /// Stops the server with SIGTERM, and checks that it leaves nothing behind.
    pub fn stop(mut self) -> ExitStatus {
        self.end()
    }

    fn end(&mut self) -> ExitStatus {
        let status = self.program.terminate();
        leftovers::assert_no_process(&self.dir);
        self.roots.iter().for_each(|root| leftovers::assert_no_temporary_file(root));
        status
    }
}

impl Drop for ToolServer {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.end();
        }
    }
}

/// Starts a server and waits for the address in its log.
fn listening(dir: &TestDir, launch: &Launch) -> (Program, SocketAddr) {
    let mut program = Program::start(dir, launch);
    let address = wait::within(wait::SOON, || {
        assert!(program.ended().is_none(), "the server ended at its start:\n{}", program.log_tail());
        LISTENING.into_iter().find_map(|phrase| address_in(&program.log(), phrase))
    });
    let address = address.unwrap_or_else(|| panic!("the server does not listen:\n{}", program.log_tail()));
    (program, address)
}

/// The address after `phrase` in a log, without the quotes or escapes around it.
fn address_in(log: &str, phrase: &str) -> Option<SocketAddr> {
    let (_, rest) = log.split_once(phrase)?;
    let end = rest.find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | ':'))?;
    rest[..end].parse().ok()
}
