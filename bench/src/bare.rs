//! The bare route: what axum alone takes to read a request and to answer with a body of the same size.
//!
//! It runs in its own process with two threads, so that the two differ only in what the tool server does.

use std::io::{BufRead, Read, Write};
use std::net::SocketAddr;
use std::process::{Command, Stdio};

use anyhow::Context as _;
use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::routing::post;
use bytes::Bytes;

use crate::http::Connection;
use crate::program::Program;

/// The argument that makes this program a bare server.
pub(crate) const COMMAND: &str = "serve-bare";

#[derive(Debug)]
pub(crate) struct Bare {
    address: SocketAddr,
    _program: Program,
}

impl Bare {
    /// Starts one that answers `POST /` with `body`.
    pub(crate) fn start(body: &[u8]) -> anyhow::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        let mut program = Program::spawn(command.arg(COMMAND).stdin(Stdio::piped()).stdout(Stdio::piped()))?;
        let (mut stdin, mut stdout) = program.pipes()?;
        stdin.write_all(body)?;
        drop(stdin);
        let mut line = String::new();
        stdout.read_line(&mut line)?;
        let address = line.trim().parse().context("the bare server printed no address")?;
        Ok(Self { address, _program: program })
    }

    pub(crate) fn connect(&self, body: &str) -> std::io::Result<Connection> {
        Connection::open(self.address, ("POST", "/"), &[], body)
    }
}

/// Reads the answer from stdin, prints its address, and serves until it is killed.
pub(crate) fn serve() -> anyhow::Result<()> {
    let mut body = Vec::new();
    std::io::stdin().read_to_end(&mut body)?;
    let body = Bytes::from(body);
    let route = post(async move |_request: Bytes| ([(CONTENT_TYPE, "application/json")], body.clone()));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        writeln!(std::io::stdout(), "{}", listener.local_addr()?)?;
        axum::serve(listener, Router::new().route("/", route)).await.context("the bare server failed")
    })
}
