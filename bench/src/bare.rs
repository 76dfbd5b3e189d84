//! The bare route: what axum alone takes to read a request and to answer with a body of the same size.
//!
//! It runs as a process of its own with as many threads as the tool server has, so that the two differ in
//! nothing but what the tool server does.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

use anyhow::Context as _;
use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::routing::post;
use bytes::Bytes;

/// The argument that makes this program a bare server.
pub const COMMAND: &str = "serve-bare";

/// A running bare server.
#[derive(Debug)]
pub struct Bare {
    child: Child,
    /// Where it listens.
    pub address: SocketAddr,
}

impl Bare {
    /// Starts one that answers `POST /` with `body`.
    pub fn start(body: &[u8]) -> anyhow::Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .arg(COMMAND)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        child.stdin.take().context("stdin is piped")?.write_all(body)?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().context("stdout is piped")?).read_line(&mut line)?;
        Ok(Self { child, address: line.trim().parse().context("the bare server says where it is")? })
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads the answer from stdin, says on stdout where it listens, and serves until it is killed.
pub fn serve() -> anyhow::Result<()> {
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
