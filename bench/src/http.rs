//! HTTP as a client that costs as little as possible: one kept connection and one request, again and again.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;

/// How long each server is asked in one turn, and how many turns each gets.
const TURN: Duration = Duration::from_millis(500);
const TURNS: u32 = 6;

/// Opens one more connection to a server.
pub(crate) type Connect<'a> = &'a dyn Fn() -> io::Result<Connection>;

/// Answers per second of several servers, in turns, so that other load on the machine affects all of them
/// alike: over so many connections, each of which waits for its answer before it asks again.
pub(crate) fn rates_in_turns<const N: usize>(servers: [(usize, Connect<'_>); N]) -> anyhow::Result<[f64; N]> {
    let mut rates = [0.0; N];
    for _ in 0..TURNS {
        for ((connections, connect), rate) in servers.iter().zip(&mut rates) {
            *rate += throughput(*connections, *connect)? / f64::from(TURNS);
        }
    }
    Ok(rates)
}

fn throughput(count: usize, connect: Connect<'_>) -> anyhow::Result<f64> {
    let connections = (0..count).map(|_| connect()).collect::<io::Result<Vec<_>>>()?;
    let began = Instant::now();
    let exchange = |mut connection: Connection| {
        let mut answers = 0;
        while began.elapsed() < TURN {
            connection.exchange()?;
            answers += 1;
        }
        io::Result::Ok(answers)
    };
    let answers = thread::scope(|scope| {
        let threads: Vec<_> =
            connections.into_iter().map(|connection| scope.spawn(move || exchange(connection))).collect();
        let answers = threads.into_iter().map(|thread| thread.join().expect("a connection does not panic"));
        answers.sum::<io::Result<u32>>()
    })?;
    Ok(f64::from(answers) / began.elapsed().as_secs_f64())
}

/// A kept connection that sends the same request again and again.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: TcpStream,
    request: Vec<u8>,
    received: Vec<u8>,
}

impl Connection {
    pub(crate) fn open(
        address: SocketAddr,
        (method, path): (&str, &str),
        headers: &[(&str, &str)],
        body: &str,
    ) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        let length = body.len();
        let more: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let headers = format!("Host: {address}\r\n{more}Content-Type: application/json\r\n");
        let request = format!("{method} {path} HTTP/1.1\r\n{headers}Content-Length: {length}\r\n\r\n{body}");
        Ok(Self { stream, request: request.into_bytes(), received: Vec::with_capacity(64 * 1024) })
    }

    pub(crate) fn call(&mut self) -> anyhow::Result<()> {
        Ok(self.exchange().map(drop)?)
    }

    /// Sends the request and reads its answer as JSON.
    pub(crate) fn json<T: DeserializeOwned>(&mut self) -> anyhow::Result<T> {
        Ok(serde_json::from_slice(self.exchange()?)?)
    }

    /// Sends the request and returns the body of its answer, which must have a status of success.
    pub(crate) fn exchange(&mut self) -> io::Result<&[u8]> {
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

fn body_length(head: &[u8]) -> io::Result<usize> {
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    if !head.starts_with("http/1.1 20") {
        return Err(io::Error::other(head));
    }
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
    length.ok_or_else(|| io::Error::other("the answer has no Content-Length"))
}
