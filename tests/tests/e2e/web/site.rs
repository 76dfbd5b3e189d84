//! A web site: a thread for each connection, which reads one request and answers it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

#[derive(Debug, Clone, Default)]
pub(crate) struct Asked {
    pub(crate) path: String,
    headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Asked {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn host(&self) -> &str {
        self.header("host").unwrap_or_default()
    }
}

pub(crate) enum Reply {
    Bytes(Vec<u8>),
    /// Chunks without an end.
    Endless,
}

impl Reply {
    pub(crate) fn status(status: u16, headers: &[(&str, &str)], body: &str) -> Self {
        let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let length = body.len();
        Self::raw(&format!("HTTP/1.1 {status} Said\r\n{headers}Content-Length: {length}\r\n\r\n{body}"))
    }

    pub(crate) fn html(body: &str) -> Self {
        Self::status(200, &[("Content-Type", "text/html; charset=utf-8")], body)
    }

    /// A body of this type.
    pub(crate) fn of(content_type: &str, body: &[u8]) -> Self {
        let length = body.len();
        let head =
            format!("HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\nContent-Length: {length}\r\n\r\n");
        Self::Bytes([head.as_bytes(), body].concat())
    }

    pub(crate) fn redirect(to: &str) -> Self {
        Self::status(302, &[("Location", to)], "")
    }

    pub(crate) fn raw(answer: &str) -> Self {
        Self::Bytes(answer.as_bytes().to_vec())
    }
}

pub(crate) struct Site {
    pub(crate) address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Site {
    pub(crate) fn start(
        address: &str,
        port: u16,
        answer: impl Fn(&Asked) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind((address, port)).expect("the network is the test's own");
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (answer, noted) = (Arc::new(answer), Arc::clone(&asked));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (answer, noted) = (Arc::clone(&answer), Arc::clone(&noted));
                thread::spawn(move || serve(stream, &*answer, &noted));
            }
        });
        Self { address, asked }
    }

    pub(crate) fn count(&self) -> usize {
        self.asked.lock().unwrap().len()
    }

    pub(crate) fn last(&self) -> Asked {
        self.asked.lock().unwrap().last().cloned().unwrap_or_default()
    }
}

fn serve(mut stream: TcpStream, answer: &dyn Fn(&Asked) -> Reply, noted: &Mutex<Vec<Asked>>) {
    let Some(asked) = stream.try_clone().ok().and_then(read) else { return };
    let reply = answer(&asked);
    noted.lock().unwrap().push(asked);
    match reply {
        Reply::Bytes(bytes) => {
            let _ = stream.write_all(&bytes);
        }
        Reply::Endless => {
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n";
            let chunk = format!("1000\r\n{}\r\n", "x".repeat(4096));
            let mut sent = stream.write_all(head.as_bytes());
            while sent.is_ok() {
                sent = stream.write_all(chunk.as_bytes());
            }
        }
    }
}

fn read(stream: TcpStream) -> Option<Asked> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut asked = Asked { path: line.split(' ').nth(1)?.to_owned(), ..Asked::default() };
    loop {
        line.clear();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        asked.headers.push((name.to_ascii_lowercase(), value.to_owned()));
    }
    let length = asked.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    asked.body = String::from_utf8_lossy(&body).into_owned();
    Some(asked)
}
