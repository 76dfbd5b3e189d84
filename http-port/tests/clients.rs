//! Clients that do not behave: each is let go in time, none keeps another waiting, and none delays the end.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::http::StatusCode;
use axum::routing::{get, post};
use http_port::{Bounds, End, Routes, TimeLimits, is_body_timeout, prepare, serve};
use tokio::runtime::Runtime;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// What each test waits for comes within a moment, or not at all.
const SOON: Duration = Duration::from_secs(10);

/// Long enough that no test sees its end.
const NEVER: Duration = Duration::from_secs(3600);

const PATIENT: TimeLimits = TimeLimits { head: NEVER, idle: NEVER, body: NEVER, reading: NEVER };

const SHORT: Duration = Duration::from_millis(300);

struct Server {
    address: SocketAddr,
    runtime: Runtime,
    stop: oneshot::Sender<()>,
    served: JoinHandle<End>,
    /// How many requests to `/hang` are running or ran.
    hanging: Arc<AtomicUsize>,
}

impl Server {
    fn start(time: TimeLimits, connections: usize) -> Self {
        let runtime = Runtime::new().unwrap();
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        prepare(&listener).unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let bounds = Bounds { time, connections, reserve: 2 };
        let stopped = async {
            let _ = stopped.await;
            SHORT
        };
        let hanging = Arc::default();
        let served = runtime.spawn(serve(listener, None, routes(&hanging), bounds, stopped));
        Self { address, runtime, stop, served, hanging }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(SOON)).unwrap();
        stream
    }

    fn send(&self, request: &str) -> TcpStream {
        let mut stream = self.connect();
        stream.write_all(request.as_bytes()).unwrap();
        stream
    }

    /// So many requests that are never answered, once they are running.
    fn hang(&self, count: usize) -> Vec<TcpStream> {
        let hang = || self.send("GET /hang HTTP/1.1\r\nHost: a\r\n\r\n");
        let streams = (0..count).map(|_| hang()).collect();
        let since = Instant::now();
        while self.hanging.load(Ordering::Relaxed) < count {
            assert!(since.elapsed() < SOON, "they are not running");
            std::thread::yield_now();
        }
        streams
    }

    /// Asks until the answer begins so.
    fn get_until(&self, path: &str, beginning: &str) {
        let since = Instant::now();
        while !self.get(path).starts_with(beginning) {
            assert!(since.elapsed() < SOON, "{path} is never answered with {beginning}");
        }
    }

    /// The answer to a request of its own connection.
    fn get(&self, path: &str) -> String {
        rest_of(&mut self.send(&format!("GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")))
    }

    fn stop(self) -> (End, Duration) {
        let since = Instant::now();
        let _ = self.stop.send(());
        let end = self.runtime.block_on(self.served).unwrap();
        (end, since.elapsed())
    }
}

fn routes(hanging: &Arc<AtomicUsize>) -> Routes {
    let length = async |body: Result<Bytes, BytesRejection>| match body {
        Ok(body) => Ok(body.len().to_string()),
        Err(error) if is_body_timeout(&error).is_some() => Err(StatusCode::REQUEST_TIMEOUT),
        Err(_) => Err(StatusCode::BAD_REQUEST),
    };
    let hanging = Arc::clone(hanging);
    let hang = async move || {
        hanging.fetch_add(1, Ordering::Relaxed);
        tokio::time::sleep(NEVER).await;
    };
    let all = Router::new()
        .route("/livez", get(async || "alive"))
        .route("/length", post(length))
        .route("/large", get(async || vec![b'x'; 32 << 20]))
        .route("/hang", get(hang));
    let when_full = Router::new()
        .route("/livez", get(async || "alive"))
        .fallback(async || StatusCode::SERVICE_UNAVAILABLE);
    Routes { all, when_full, metrics: None }
}

/// Everything until the server closes the connection.
fn rest_of(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    match stream.read_to_end(&mut bytes) {
        Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => panic!("it was not closed"),
        Ok(_) | Err(_) => String::from_utf8_lossy(&bytes).into_owned(),
    }
}

/// Reads one answer that says `text`, and leaves the connection open.
fn read_until(stream: &mut TcpStream, text: &str) {
    let mut bytes = Vec::new();
    while !String::from_utf8_lossy(&bytes).contains(text) {
        let mut piece = [0; 4096];
        let length = stream.read(&mut piece).unwrap();
        assert!(length > 0, "closed after {:?}", String::from_utf8_lossy(&bytes));
        bytes.extend_from_slice(&piece[..length]);
    }
}

const LIVEZ: &str = "GET /livez HTTP/1.1\r\nHost: a\r\n\r\n";

#[test]
fn a_head_that_is_not_sent_in_time_closes_the_connection() {
    let server = Server::start(TimeLimits { head: SHORT, ..PATIENT }, 10);
    for beginning in ["", "G", "GET /livez HTTP/1.1\r\nHost: a\r\nX: "] {
        assert_eq!(rest_of(&mut server.send(beginning)), "", "{beginning:?}");
    }
    let mut second = server.send(LIVEZ);
    read_until(&mut second, "alive");
    second.write_all(b"GET /livez").unwrap();
    assert_eq!(rest_of(&mut second), "", "a second head has its limit, too");
}

#[test]
fn a_head_that_drips_closes_the_connection_all_the_same() {
    let server = Server::start(TimeLimits { head: SHORT, ..PATIENT }, 10);
    let mut stream = server.send("GET /livez HTTP/1.1\r\n");
    let since = Instant::now();
    while stream.write_all(b"X: y\r\n").is_ok() {
        assert!(since.elapsed() < SOON, "it drips on");
        std::thread::sleep(SHORT / 30);
    }
}

#[test]
fn an_idle_connection_is_closed_and_a_used_one_is_not() {
    let server = Server::start(TimeLimits { idle: SHORT, ..PATIENT }, 10);
    let mut stream = server.send(LIVEZ);
    read_until(&mut stream, "alive");
    assert_eq!(rest_of(&mut stream), "");
    let mut used = server.send(LIVEZ);
    let since = Instant::now();
    while since.elapsed() < SHORT * 3 {
        read_until(&mut used, "alive");
        used.write_all(LIVEZ.as_bytes()).unwrap();
    }
}

#[test]
fn a_body_that_is_not_sent_in_time_is_an_error_that_the_route_answers() {
    let server = Server::start(TimeLimits { body: SHORT, ..PATIENT }, 10);
    let head = "POST /length HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n";
    let late = rest_of(&mut server.send(&format!("{head}ab")));
    assert!(late.starts_with("HTTP/1.1 408"), "{late}");
    read_until(&mut server.send(&format!("{head}abcde")), "\r\n\r\n5");
}

#[test]
fn a_client_that_reads_nothing_is_let_go() {
    let server = Server::start(TimeLimits { reading: SHORT, ..PATIENT }, 1);
    let mut stream = server.send("GET /large HTTP/1.1\r\nHost: a\r\n\r\n");
    let since = Instant::now();
    // Data sent to a closed connection is answered with a reset.
    while stream.write_all(b"GET /livez HTTP/1.1\r\n").is_ok() {
        assert!(since.elapsed() < SOON, "it was not closed");
        std::thread::sleep(SHORT / 10);
    }
    assert!(rest_of(&mut stream).len() < 32 << 20, "the rest was not sent");
}

#[test]
fn a_client_that_reads_slowly_gets_everything() {
    let limit = Duration::from_millis(800);
    let server = Server::start(TimeLimits { reading: limit, idle: limit, ..PATIENT }, 10);
    let mut stream = server.send("GET /large HTTP/1.1\r\nHost: a\r\n\r\n");
    let (mut read, mut piece) = (0, vec![0; 2 << 20]);
    while read < 32 << 20 {
        std::thread::sleep(limit / 8);
        let length = stream.read(&mut piece).unwrap();
        assert!(length > 0, "closed after {read} bytes");
        read += length;
    }
}

#[test]
fn beyond_the_bound_a_new_connection_takes_the_place_of_the_one_idle_longest() {
    let server = Server::start(PATIENT, 3);
    let mut half = server.send("GET /livez HTTP/1.1\r\n");
    let mut idle: Vec<TcpStream> = (0..2)
        .map(|_| {
            let mut stream = server.send(LIVEZ);
            read_until(&mut stream, "alive");
            stream
        })
        .collect();
    let mut new = server.send(LIVEZ);
    read_until(&mut new, "alive");
    assert_eq!(rest_of(&mut idle[0]), "", "the one that was idle longest was closed");
    idle[1].write_all(LIVEZ.as_bytes()).unwrap();
    read_until(&mut idle[1], "alive");
    half.write_all(b"Host: a\r\n\r\n").unwrap();
    read_until(&mut half, "alive");
}

#[test]
fn no_crowd_of_silent_connections_keeps_a_request_waiting() {
    let server = Server::start(PATIENT, 20);
    let crowd: Vec<TcpStream> = (0..500).map(|number| server.send(["", "GET /"][number % 2])).collect();
    assert!(server.get("/livez").contains("alive"));
    let is_open = |stream: &&TcpStream| {
        stream.set_nonblocking(true).unwrap();
        matches!(stream.peek(&mut [0]), Err(error) if error.kind() == std::io::ErrorKind::WouldBlock)
    };
    // The server has decided which ones it closes; their ends are on their way.
    let deadline = Instant::now() + SOON;
    while crowd.iter().filter(is_open).count() > 20 {
        assert!(Instant::now() < deadline, "more than 20 stay open");
        std::thread::yield_now();
    }
}

#[test]
fn where_every_connection_is_at_work_only_livez_is_answered() {
    let server = Server::start(PATIENT, 2);
    let working = server.hang(2);
    assert!(server.get("/length").starts_with("HTTP/1.1 503"));
    assert!(server.get("/livez").contains("alive"));
    drop(working);
    server.get_until("/length", "HTTP/1.1 405");
}

#[test]
fn no_client_delays_the_end_and_a_running_request_gets_its_time() {
    let server = Server::start(PATIENT, 10);
    let mut idle = server.send(LIVEZ);
    read_until(&mut idle, "alive");
    let waiting = [
        idle,
        server.connect(),
        server.send("GET /"),
        server.send("POST /length HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n"),
    ];
    assert!(server.get("/livez").contains("alive"), "the others were accepted before");
    let (end, took) = server.stop();
    assert_eq!(end, End::Answered);
    assert!(took < SHORT, "{took:?}");
    drop(waiting);

    let server = Server::start(PATIENT, 10);
    let _hanging = server.hang(1);
    let (end, took) = server.stop();
    assert_eq!(end, End::CutOff);
    assert!(took >= SHORT && took < SOON, "{took:?}");
}
