//! Clients that do not behave, at both ports: slow ones are let go in time, a crowd of them keeps no one
//! waiting, and none of them delays the end.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use harness::{Answer, Request, System, http};
use protocol::ErrorCode;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;

/// More connections than any of our processes serves at once, for each port.
const CROWD: usize = 2000;

/// The most that a call may take while others misbehave, on a machine that is busy with other tests.
const IN_TIME: Duration = Duration::from_secs(10);

/// Longer than any limit that is tried here.
const AT_LAST: Duration = Duration::from_secs(50);

fn ports(system: &System) -> [SocketAddr; 2] {
    let tokens = system.tokens();
    [http::address_of(&tokens.control_url), http::address_of(&tokens.tool_url)]
}

fn send(address: SocketAddr, text: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(AT_LAST)).unwrap();
    // In a crowd it may have been closed for the next already.
    let _ = stream.write_all(text.as_bytes());
    stream
}

/// A head whose last line is missing.
fn head(address: SocketAddr, what: &str) -> String {
    format!("{what} HTTP/1.1\r\nHost: {address}\r\n")
}

/// How long the server leaves a connection open, after this was sent.
fn open_for(address: SocketAddr, text: &str) -> Duration {
    let since = Instant::now();
    let mut stream = send(address, text);
    let end = stream.read_to_end(&mut Vec::new());
    let waits = matches!(&end, Err(error) if error.kind() == std::io::ErrorKind::WouldBlock);
    assert!(!waits, "{text:?} holds a connection for longer than {AT_LAST:?}");
    since.elapsed()
}

/// The answer to a call whose body does not come.
fn slow_body(address: SocketAddr, path: &str, token: &str) -> (Answer, Duration) {
    let since = Instant::now();
    let request = Request::post(path, "{\"text\":")
        .header("Authorization", &format!("Bearer {token}"))
        .header("Content-Length", "1000");
    let answer = request.try_send(address).expect("a slow body is answered");
    (answer, since.elapsed())
}

fn assert_serves(system: &System) {
    let since = Instant::now();
    let called = system.tool("ls", &json!({"path": "."}));
    assert!(called.ok, "{:?}", called.meta.error);
    for address in ports(system) {
        assert_eq!(Request::get("/livez").send(address).status, 200);
    }
    assert_eq!(system.control(Request::get("/outbox/1")).status, 404);
    assert!(since.elapsed() < IN_TIME, "{:?}", since.elapsed());
}

#[test]
fn a_client_has_5_s_for_a_head_and_30_s_for_a_body() {
    let mut system = System::start();
    let tokens = system.tokens();
    let [control, tool] = ports(&system);
    thread::scope(|scope| {
        let bodies = [
            scope.spawn(|| slow_body(control, "/messages", &tokens.control_token)),
            scope.spawn(|| slow_body(tool, "/tools/ls", &tokens.tool_token)),
        ];
        for address in [control, tool] {
            for text in [String::new(), "GET".to_owned(), head(address, "GET /livez") + "X: "] {
                scope.spawn(move || {
                    let open = open_for(address, &text);
                    assert!(open >= Duration::from_secs(5) && open < Duration::from_secs(15), "{open:?}");
                });
            }
        }
        assert_serves(&system);
        let [control, tool] = bodies.map(|body| body.join().unwrap());
        for (answer, took) in [&control, &tool] {
            assert!(*took >= Duration::from_secs(30), "{took:?}");
            assert_eq!(answer.status, 408, "{}", answer.text());
        }
        let error = tool.0.envelope().meta.error.expect("the envelope says what was wrong");
        assert_eq!(error.code, ErrorCode::Timeout);
        assert_eq!(control.0.json()["error"]["code"], "TIMEOUT");
    });
    system.stop();
}

/// Connections that hold what they can: silent, with half a head, idle after an answer, and with an answer
/// that no client reads.
fn crowd(address: SocketAddr) -> Vec<TcpStream> {
    let livez = head(address, "GET /livez") + "\r\n";
    let unread = (head(address, "GET /openapi.json") + "\r\n").repeat(64);
    let texts = [String::new(), head(address, "GET /livez"), livez, unread];
    (0..CROWD).map(|number| send(address, &texts[number % texts.len()])).collect()
}

/// How many files this process and those that it starts may have open, up to the hard limit.
fn limit_open_files(current: u64) {
    let limit = Rlimit { current: Some(current), ..getrlimit(Resource::Nofile) };
    setrlimit(Resource::Nofile, limit).expect("the hard limit allows a crowd");
}

#[test]
fn two_thousand_connections_that_hold_what_they_can_keep_no_call_waiting() {
    // What a shell or a service usually starts them with. This process is the crowd and needs more.
    limit_open_files(1024);
    let mut system = System::start();
    limit_open_files(10_000);
    let crowds = ports(&system).map(crowd);
    assert_serves(&system);
    let again = ports(&system).map(crowd);
    assert_serves(&system);
    let since = Instant::now();
    system.stop();
    assert!(since.elapsed() < Duration::from_secs(20), "the end took {:?}", since.elapsed());
    drop((crowds, again));
}
