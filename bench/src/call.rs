//! A call over HTTP beside the bare route: one connection for latency, many for throughput.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::bare::Bare;
use crate::measure::{Durations, us};
use crate::pieces;
use crate::program::{Program, until_ready};
use crate::table::Table;

/// What is asked for.
pub const BODY: &str = r#"{"path":"."}"#;

/// How many entries are listed.
const ENTRIES: usize = 20;

const CALLS: usize = 10_000;
const CONNECTIONS: usize = 64;
const THROUGHPUT_FOR: Duration = Duration::from_secs(3);

/// Measures a call, the bare route, and where the difference goes.
pub fn bench(table: &mut Table) -> anyhow::Result<()> {
    let place = tempfile::tempdir()?;
    let root = place.path().join("root");
    fill(&root, ENTRIES)?;
    let (_server, address) = Program::tool_server(&root, &place.path().join("data"))?;
    until_ready(address)?;
    let mut ls = Connection::post(address, "/tools/ls", BODY)?;
    let answer = ls.exchange()?.to_vec();
    let bare = Bare::start(&answer)?;
    let mut bare_route = Connection::post(bare.address, "/", BODY)?;

    let bare_time = Durations::of(CALLS, || bare_route.exchange().map(drop))?;
    let ls_time = Durations::of(CALLS, || ls.exchange().map(drop))?;
    table.note("answer", format!("{} bytes", answer.len()));
    table.note("bare route, 1 connection, p50", us(bare_time.p50_us()));
    table.note("bare route, 1 connection, p99", us(bare_time.percentile_us(99)));
    table.note("POST /tools/ls, 1 connection, p50", us(ls_time.p50_us()));
    table.note("POST /tools/ls, 1 connection, p99", us(ls_time.percentile_us(99)));
    table.bound("ratio of the p50s", ls_time.p50_us() / bare_time.p50_us(), 8.0, "times");
    let bare_rate = throughput(CONNECTIONS, || Connection::post(bare.address, "/", BODY))?;
    let ls_rate = throughput(CONNECTIONS, || Connection::post(address, "/tools/ls", BODY))?;
    table.note("bare route, 64 connections", format!("{bare_rate:.0}/s"));
    table.note("POST /tools/ls, 64 connections", format!("{ls_rate:.0}/s"));
    pieces::bench(table, &root, &place.path().join("pieces"), &answer, ls_time.p50_us())
}

/// Makes a directory with this many small files.
pub fn fill(directory: &Path, entries: usize) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    (0..entries).try_for_each(|number| fs::write(directory.join(format!("file-{number:06}.txt")), "x"))
}

/// Answers a second over many connections, each of which waits for its answer before it asks again.
pub fn throughput(count: usize, connect: impl Fn() -> io::Result<Connection>) -> anyhow::Result<f64> {
    let connections = (0..count).map(|_| connect()).collect::<io::Result<Vec<_>>>()?;
    let began = Instant::now();
    let end = began + THROUGHPUT_FOR;
    let threads: Vec<_> = connections
        .into_iter()
        .map(|connection| thread::spawn(move || exchanges_until(connection, end)))
        .collect();
    let mut answers = 0;
    for thread in threads {
        answers += thread.join().map_err(|_| anyhow::anyhow!("a connection's thread panicked"))??;
    }
    Ok(f64::from(answers) / began.elapsed().as_secs_f64())
}

fn exchanges_until(mut connection: Connection, end: Instant) -> io::Result<u32> {
    let mut answers = 0;
    while Instant::now() < end {
        connection.exchange()?;
        answers += 1;
    }
    Ok(answers)
}

/// A kept connection that sends the same request again and again.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    request: Vec<u8>,
    received: Vec<u8>,
}

impl Connection {
    /// A connection that posts a JSON body.
    pub fn post(address: SocketAddr, path: &str, body: &str) -> io::Result<Self> {
        Self::posting(address, path, "", body)
    }

    /// The same, with a token.
    pub fn post_with_token(address: SocketAddr, path: &str, token: &str, body: &str) -> io::Result<Self> {
        Self::posting(address, path, &bearer(token), body)
    }

    /// A connection that gets a path.
    pub fn get(address: SocketAddr, path: &str) -> io::Result<Self> {
        Self::open(address, format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n"))
    }

    /// The same, with a token.
    pub fn get_with_token(address: SocketAddr, path: &str, token: &str) -> io::Result<Self> {
        let headers = bearer(token);
        Self::open(address, format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n{headers}\r\n"))
    }

    fn posting(address: SocketAddr, path: &str, more: &str, body: &str) -> io::Result<Self> {
        let length = body.len();
        let headers = format!("{more}Content-Type: application/json\r\nContent-Length: {length}\r\n");
        Self::open(address, format!("POST {path} HTTP/1.1\r\nHost: {address}\r\n{headers}\r\n{body}"))
    }

    fn open(address: SocketAddr, request: String) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, request: request.into_bytes(), received: Vec::with_capacity(64 * 1024) })
    }

    /// Sends the request and returns the body of its answer, which must have a status of success.
    pub fn exchange(&mut self) -> io::Result<&[u8]> {
        self.stream.write_all(&self.request)?;
        self.received.clear();
        let head = loop {
            if let Some(end) = self.received.windows(4).position(|window| window == b"\r\n\r\n") {
                break end + 4;
            }
            self.receive()?;
        };
        let whole = head + body_length(&self.received[..head])?;
        while self.received.len() < whole {
            self.receive()?;
        }
        Ok(&self.received[head..whole])
    }

    fn receive(&mut self) -> io::Result<()> {
        let mut piece = [0; 16 * 1024];
        match self.stream.read(&mut piece)? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            read => {
                self.received.extend_from_slice(&piece[..read]);
                Ok(())
            }
        }
    }
}

fn bearer(token: &str) -> String {
    format!("Authorization: Bearer {token}\r\n")
}

/// The length of the body that a head announces.
fn body_length(head: &[u8]) -> io::Result<usize> {
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    if !head.starts_with("http/1.1 20") {
        return Err(io::Error::other(head));
    }
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
    length.ok_or_else(|| io::Error::other("an answer without a length"))
}
