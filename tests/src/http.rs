//! A bare HTTP/1.1 client over TCP: it sends what it is told, byte by byte, so that it can also be wrong.

use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use protocol::Envelope;
use serde_json::Value;

/// Longer than any answer takes, long polls included.
const ANSWER_WITHIN: Duration = Duration::from_secs(60);

/// A request that is whole and well-formed unless the test makes it otherwise.
#[derive(Debug, Clone)]
pub struct Request {
    method: String,
    target: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Request {
    /// A request without a body; `Host` is filled in when it is sent.
    pub fn new(method: &str, target: &str) -> Self {
        Self { method: method.to_owned(), target: target.to_owned(), headers: Vec::new(), body: Vec::new() }
    }

    /// A GET.
    pub fn get(target: &str) -> Self {
        Self::new("GET", target)
    }

    /// A POST of raw bytes, declared as JSON.
    pub fn post(target: &str, body: impl Into<Vec<u8>>) -> Self {
        let request = Self::new("POST", target).header("Content-Type", "application/json");
        Self { body: body.into(), ..request }
    }

    /// A POST of a JSON value.
    pub fn post_json(target: &str, body: &Value) -> Self {
        Self::post(target, body.to_string())
    }

    /// Sets a header, in place of one of the same name.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.retain(|(present, _)| !present.eq_ignore_ascii_case(name));
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Leaves a header out.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(present, _)| !present.eq_ignore_ascii_case(name));
        self
    }

    /// Whether a header is set.
    pub fn has(&self, name: &str) -> bool {
        self.headers.iter().any(|(present, _)| present.eq_ignore_ascii_case(name))
    }

    /// Sends the request to a server and reads its answer.
    pub fn send(&self, address: SocketAddr) -> Answer {
        self.try_send(address).unwrap_or_else(|error| {
            panic!("{} {} at {address} got no answer: {error}", self.method, self.target)
        })
    }

    /// Sends the request to a server that may not be there.
    pub fn try_send(&self, address: SocketAddr) -> io::Result<Answer> {
        raw(address, &self.bytes(address))
    }

    /// The request as it goes over the wire; a chunked one is one chunk.
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

/// What a server answered.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// Header names in lower case, and values.
    pub headers: Vec<(String, String)>,
    /// The body, unchunked.
    pub body: Vec<u8>,
}

impl Answer {
    /// The value of a header, if it is there.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(present, _)| present == name).map(|(_, value)| value.as_str())
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("status {} without JSON ({error}): {}", self.status, self.text()))
    }

    /// The body as an envelope, which must be exactly one.
    pub fn envelope(&self) -> Envelope {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| {
            panic!("status {} without an envelope ({error}): {}", self.status, self.text())
        })
    }
}

/// Sends bytes as they are and reads one answer. A server that answers before it has read everything is
/// in its right: what could not be sent then does not matter.
pub fn raw(address: SocketAddr, bytes: &[u8]) -> io::Result<Answer> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(ANSWER_WITHIN))?;
    stream.set_write_timeout(Some(ANSWER_WITHIN))?;
    let _ = stream.write_all(bytes);
    read_answer(&mut stream)
}

/// The socket address in a URL such as `http://127.0.0.1:8700`.
pub fn address_of(url: &str) -> SocketAddr {
    let address = url.strip_prefix("http://").and_then(|rest| rest.trim_end_matches('/').parse().ok());
    address.unwrap_or_else(|| panic!("{url} is no address of this machine"))
}

fn read_answer(stream: &mut impl Read) -> io::Result<Answer> {
    let mut bytes = Vec::new();
    let head_end = loop {
        if let Some(end) = position(&bytes, b"\r\n\r\n") {
            break end;
        }
        read_more(stream, &mut bytes)?;
    };
    let head = String::from_utf8_lossy(&bytes[..head_end]).into_owned();
    let mut answer = parse_head(&head)?;
    answer.body = bytes.split_off(head_end + 4);
    read_body(stream, &mut answer)?;
    Ok(answer)
}

fn parse_head(head: &str) -> io::Result<Answer> {
    let mut lines = head.lines();
    let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok());
    let status = status.ok_or_else(|| io::Error::other(format!("no status line: {head}")))?;
    let headers = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    Ok(Answer { status, headers, body: Vec::new() })
}

fn read_body(stream: &mut impl Read, answer: &mut Answer) -> io::Result<()> {
    if answer.header("transfer-encoding").is_some() {
        stream.read_to_end(&mut answer.body)?;
        answer.body = unchunk(&answer.body)?;
        return Ok(());
    }
    let length = answer.header("content-length").and_then(|value| value.parse().ok()).unwrap_or(0);
    while answer.body.len() < length {
        read_more(stream, &mut answer.body)?;
    }
    Ok(())
}

fn unchunk(mut chunks: &[u8]) -> io::Result<Vec<u8>> {
    let malformed = || io::Error::other("malformed chunks");
    let mut body = Vec::new();
    loop {
        let end = position(chunks, b"\r\n").ok_or_else(malformed)?;
        let size = std::str::from_utf8(&chunks[..end]).map_err(|_| malformed())?;
        let size = usize::from_str_radix(size, 16).map_err(|_| malformed())?;
        if size == 0 {
            return Ok(body);
        }
        body.extend(chunks.get(end + 2..end + 2 + size).ok_or_else(malformed)?);
        chunks = chunks.get(end + 4 + size..).ok_or_else(malformed)?;
    }
}

fn read_more(stream: &mut impl Read, bytes: &mut Vec<u8>) -> io::Result<()> {
    let mut buffer = [0; 16 * 1024];
    match stream.read(&mut buffer)? {
        0 => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the server closed the connection")),
        read => {
            bytes.extend_from_slice(&buffer[..read]);
            Ok(())
        }
    }
}

fn position(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|window| window == needle)
}
