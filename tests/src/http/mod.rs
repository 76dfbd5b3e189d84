//! A bare HTTP/1.1 client over TCP, which can also send malformed requests.

mod answer;

use std::fmt::Write as _;
use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

pub use answer::Answer;
pub(crate) use answer::position;

/// Longer than any response takes, long polls included.
const ANSWER_WITHIN: Duration = Duration::from_secs(60);

/// A request that is well-formed unless the test makes it otherwise.
#[derive(Debug, Clone)]
pub struct Request {
    method: String,
    target: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Request {
    /// A request without a body; sending adds `Host`.
    pub fn new(method: &str, target: &str) -> Self {
        Self { method: method.to_owned(), target: target.to_owned(), headers: Vec::new(), body: Vec::new() }
    }

    pub fn get(target: &str) -> Self {
        Self::new("GET", target)
    }

    /// A POST of raw bytes, declared as JSON.
    pub fn post(target: &str, body: impl Into<Vec<u8>>) -> Self {
        let request = Self::new("POST", target).header("Content-Type", "application/json");
        Self { body: body.into(), ..request }
    }

    /// A PUT of raw bytes.
    pub fn put(target: &str, body: impl Into<Vec<u8>>) -> Self {
        Self { body: body.into(), ..Self::new("PUT", target) }
    }

    pub fn post_json(target: &str, body: &Value) -> Self {
        Self::post(target, body.to_string())
    }

    pub fn call(tool: &str, arguments: &Value) -> Self {
        Self::post_json(&format!("/tools/{tool}"), arguments)
    }

    /// Sets a header, replacing one of the same name.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.retain(|(present, _)| !present.eq_ignore_ascii_case(name));
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// With this token.
    #[must_use]
    pub fn bearer(self, token: &str) -> Self {
        self.header("Authorization", &format!("Bearer {token}"))
    }

    /// Of this session.
    #[must_use]
    pub fn of_session(self, session: &str) -> Self {
        self.header("X-Session-Id", session)
    }

    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(present, _)| !present.eq_ignore_ascii_case(name));
        self
    }

    pub fn has(&self, name: &str) -> bool {
        self.headers.iter().any(|(present, _)| present.eq_ignore_ascii_case(name))
    }

    pub fn send(&self, address: SocketAddr) -> Answer {
        self.try_send(address).unwrap_or_else(|error| {
            panic!("{} {} at {address}: no response: {error}", self.method, self.target)
        })
    }

    /// Sends the request to a server that may not be running.
    pub fn try_send(&self, address: SocketAddr) -> io::Result<Answer> {
        let mut stream = begin(address, &self.bytes(address))?;
        if self.method == "HEAD" { answer::read_head(&mut stream) } else { answer::read_answer(&mut stream) }
    }

    /// Sends the request without the end of its body, and leaves the connection open.
    pub fn send_without_the_last(&self, bytes: usize, address: SocketAddr) -> TcpStream {
        let whole = self.bytes(address);
        begin(address, &whole[..whole.len() - bytes]).expect("the server listens")
    }

    /// The bytes on the wire; a chunked body is one chunk.
    fn bytes(&self, address: SocketAddr) -> Vec<u8> {
        let mut head = format!("{} {} HTTP/1.1\r\nConnection: close\r\n", self.method, self.target);
        if !self.has("Host") {
            let _ = write!(head, "Host: {address}\r\n");
        }
        let chunked = self.has("Transfer-Encoding");
        if !chunked && !self.has("Content-Length") && self.method != "GET" {
            let _ = write!(head, "Content-Length: {}\r\n", self.body.len());
        }
        for (name, value) in &self.headers {
            let _ = write!(head, "{name}: {value}\r\n");
        }
        let mut bytes = format!("{head}\r\n").into_bytes();
        if chunked {
            bytes.extend(format!("{:x}\r\n", self.body.len()).into_bytes());
        }
        bytes.extend(&self.body);
        if chunked {
            bytes.extend(b"\r\n0\r\n\r\n");
        }
        bytes
    }
}

/// Sends raw bytes and reads one response. A server may respond before it has read everything, so errors
/// while sending are ignored.
pub fn raw(address: SocketAddr, bytes: &[u8]) -> io::Result<Answer> {
    answer::read_answer(&mut begin(address, bytes)?)
}

fn begin(address: SocketAddr, bytes: &[u8]) -> io::Result<TcpStream> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(ANSWER_WITHIN))?;
    stream.set_write_timeout(Some(ANSWER_WITHIN))?;
    let _ = stream.write_all(bytes);
    Ok(stream)
}

/// The socket address in a URL such as `http://127.0.0.1:8700`.
pub fn address_of(url: &str) -> SocketAddr {
    let address = url.strip_prefix("http://").and_then(|rest| rest.trim_end_matches('/').parse().ok());
    address.unwrap_or_else(|| panic!("{url} is not a socket address"))
}
