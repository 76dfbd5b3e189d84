//! A proxy for https: it records what it is asked for and either refuses, or opens the tunnel and keeps the
//! first bytes that come through. The far end of the tunnel is not played.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProxyRequest {
    /// The lines before the empty one, in lower case but for the values of headers.
    pub head: Vec<String>,
    /// What the client sent first through the tunnel; empty if it was refused.
    pub first_bytes: Vec<u8>,
}

#[derive(Debug)]
pub struct FakeProxy {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<ProxyRequest>>>,
}

impl FakeProxy {
    /// A proxy that opens every tunnel, or one that answers this status line instead.
    pub fn start(refusal: Option<&'static str>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("loopback has a free port");
        let address = listener.local_addr().expect("a bound socket has an address");
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if let Some(request) = serve(client, refusal) {
                    seen.lock().expect("nobody panics with it").push(request);
                }
            }
        });
        Self { address, requests }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn requests(&self) -> Vec<ProxyRequest> {
        self.requests.lock().expect("nobody panics with it").clone()
    }
}

fn serve(mut client: TcpStream, refusal: Option<&str>) -> Option<ProxyRequest> {
    let mut reader = BufReader::new(client.try_clone().ok()?);
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|length| *length > 0)?;
        match line.trim_end() {
            "" => break,
            line => head.push(line.to_owned()),
        }
    }
    let status = refusal.unwrap_or("HTTP/1.1 200 Connection established");
    client.write_all(format!("{status}\r\n\r\n").as_bytes()).ok()?;
    let mut first_bytes = vec![0; 4096];
    let length = if refusal.is_none() { reader.read(&mut first_bytes).ok()? } else { 0 };
    first_bytes.truncate(length);
    Some(ProxyRequest { head, first_bytes })
}
