//! A server's response, read to its end however its length is given.

use std::io::{self, Read};

use protocol::Envelope;
use serde_json::Value;

#[derive(Debug, Clone)]
pub struct Answer {
    pub status: u16,
    /// Header names, in lower case, and values.
    pub headers: Vec<(String, String)>,
    /// The body, without chunks.
    pub body: Vec<u8>,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(present, _)| present == name).map(|(_, value)| value.as_str())
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("status {} without JSON ({error}): {}", self.status, self.text()))
    }

    /// The names of the tools of a catalogue.
    pub fn tool_names(&self) -> Vec<String> {
        let catalogue = self.json();
        let tools = catalogue["tools"].as_array().unwrap_or_else(|| panic!("no list of tools: {catalogue}"));
        tools.iter().filter_map(|tool| tool["name"].as_str().map(str::to_owned)).collect()
    }

    /// The body, which must be an envelope.
    pub fn envelope(&self) -> Envelope {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| {
            panic!("status {} without an envelope ({error}): {}", self.status, self.text())
        })
    }
}

pub(super) fn read_answer(stream: &mut impl Read) -> io::Result<Answer> {
    let mut answer = read_head(stream)?;
    read_body(stream, &mut answer)?;
    Ok(answer)
}

/// The head, with what of the body came with it.
pub(super) fn read_head(stream: &mut impl Read) -> io::Result<Answer> {
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
    match read_some(stream, &mut buffer)? {
        0 => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the server closed the connection")),
        read => {
            bytes.extend_from_slice(&buffer[..read]);
            Ok(())
        }
    }
}

pub(crate) fn position(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|window| window == needle)
}

/// Reads once; retries if a signal interrupts it.
fn read_some(stream: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match stream.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            settled => return settled,
        }
    }
}
