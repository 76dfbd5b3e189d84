//! Commands that may reach listed domains alone: through the proxy, and by no other way.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use harness::ToolServer;
use harness::wait::until_true;
use protocol::Envelope;
use serde_json::{Value, json};

use super::network::{PRIVATE, PUBLIC, in_a_network_of_its_own};
use super::site::{Reply, Site};
use crate::assert_says;

/// The certificate of `example.test`, its key, and the authority behind it.
const TLS_DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../fetcher/src/fetch/tls_data");

const LISTED: &str = "example.test,page.test,private.test,rebind.test,other.test:8080,*.below.test";

fn with_network(network: &str) -> ToolServer {
    let builder = ToolServer::builder().variable("AUTONOUS_TOOL_BASH_NETWORK", network);
    // Certificates are public, and the command trusts this one alone.
    let server = if network == "all" { builder.token("FAKE-token-1") } else { builder }.start();
    fs::copy(format!("{TLS_DATA}/authority.txt"), server.root().join("authority.crt")).unwrap();
    server
}

fn bash(server: &ToolServer, cmd: &str) -> Envelope {
    server.call("bash", &json!({"cmd": cmd}))
}

fn refused(answer: &Envelope) -> Vec<&str> {
    answer.meta.data["network_refused"].as_array().unwrap().iter().filter_map(Value::as_str).collect()
}

/// A program in Python that serves until this is dropped.
struct Served(Child);

impl Served {
    /// `script` prints a line once it listens.
    fn start(script: &str, arguments: &[&str]) -> Self {
        let mut command = Command::new("python3");
        command.args(["-c", script]).args(arguments).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("python3 is installed");
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(!line.is_empty(), "it does not listen: {script}");
        Self(child)
    }

    /// Over TLS, as `example.test`.
    fn tls() -> Self {
        let script = "import http.server as h, ssl, sys
class Handler(h.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(b'over TLS')
server = h.ThreadingHTTPServer((sys.argv[1], 443), Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[2] + '/certificate.txt', sys.argv[2] + '/key.txt')
server.socket = context.wrap_socket(server.socket, server_side=True)
print('up', flush=True)
server.serve_forever()";
        Self::start(script, &[PUBLIC, TLS_DATA])
    }

    /// The files of a directory.
    fn files(directory: &Path, port: &str) -> Self {
        let script = "import functools, http.server as h, sys
handler = functools.partial(h.SimpleHTTPRequestHandler, directory=sys.argv[3])
server = h.ThreadingHTTPServer((sys.argv[1], int(sys.argv[2])), handler)
print('up', flush=True)
server.serve_forever()";
        Self::start(script, &[PUBLIC, port, directory.to_str().unwrap()])
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Asks the name server itself, past any proxy.
const DNS_OVER_UDP: &str = "python3 -c \"import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(3)
s.sendto(bytes.fromhex('0001010000010000000000000470616765047465737400') + bytes([0, 1, 0, 1]), \
     ('127.0.0.1', 53))
print('answered' if s.recv(512) else '')\"";

const TLS: &str = "curl -sS --cacert authority.crt https://example.test/";

/// Lines, what proves that they got through, and the name that the proxy refuses; none where none is asked.
const WAYS_OUT: &[(&str, &str, Option<&str>)] = &[
    ("curl -sS --noproxy '*' http://93.184.216.34/", "a page outside", None),
    ("curl -sS --noproxy '*' http://10.9.9.9/", "a page nearby", None),
    (DNS_OVER_UDP, "answered", None),
    ("curl -sS http://evil.test/", "a page outside", Some("evil.test")),
    ("curl -sS http://93.184.216.34/", "a page outside", Some("93.184.216.34")),
    ("curl -sS http://1572395042/", "a page outside", Some("93.184.216.34")),
    ("curl -sSk https://93.184.216.34/", "over TLS", Some("93.184.216.34")),
    ("curl -sS http://private.test/", "a page nearby", Some("private.test")),
    ("curl -sS --noproxy '' http://localhost/", "a page nearby", Some("localhost")),
    ("curl -sS http://below.test/", "a page outside", Some("below.test")),
    ("curl -sSp http://page.test:22/", "a page outside", Some("page.test:22")),
    ("curl -sSp http://page.test/", "a page outside", Some("page.test:80")),
    ("curl -sS http://page.test:8080/", "a page outside", Some("page.test:8080")),
    (
        "curl -sSk --connect-to other.test:443:example.test:443 https://other.test/",
        "over TLS",
        Some("other.test"),
    ),
];

#[test]
fn commands_reach_listed_domains_through_the_proxy_and_nothing_else() {
    in_a_network_of_its_own(|| {
        let _tls = Served::tls();
        let page = Site::start(PUBLIC, 80, |_| Reply::html("a page outside"));
        let _others = [22, 8080].map(|port| Site::start(PUBLIC, port, |_| Reply::html("a page outside")));
        let _near = [PRIVATE, "127.0.0.1"].map(|at| Site::start(at, 80, |_| Reply::html("a page nearby")));
        // The attacks work where nothing guards.
        let open = with_network("all");
        for line in [TLS, WAYS_OUT[0].0, WAYS_OUT[1].0, DNS_OVER_UDP] {
            let answer = bash(&open, line);
            assert!(answer.ok && !answer.stdout.is_empty(), "{line}: {answer:?}");
        }
        drop(open);
        let server = with_network(LISTED);
        let answer = bash(&server, TLS);
        assert_eq!((answer.stdout.as_str(), refused(&answer).len()), ("over TLS", 0), "{answer:?}");
        let answer = bash(&server, "curl -sS -H 'Host: evil.test' http://PAGE.test./a?b");
        assert_eq!(answer.stdout, "a page outside", "{answer:?}");
        assert_eq!((page.last().host(), page.last().path.as_str()), ("page.test", "/a?b"));
        for (line, proof, name) in WAYS_OUT {
            let answer = bash(&server, line);
            assert!(!answer.stdout.contains(proof), "{line}: {answer:?}");
            assert_eq!(refused(&answer), name.iter().copied().collect::<Vec<_>>(), "{line}: {answer:?}");
            let notices = answer.meta.notices.join(" ");
            assert_eq!(notices.contains("AUTONOUS_TOOL_BASH_NETWORK"), name.is_some(), "{answer:?}");
        }
        let journal = fs::read_to_string(server.dir().journal()).unwrap();
        assert!(journal.contains(r#""network_refused":["evil.test"]"#));
        assert_each_request_is_judged(&server);
    });
}

fn assert_each_request_is_judged(server: &ToolServer) {
    // Each request of a connection is judged.
    let output = "-o /dev/null ".repeat(3);
    let requests = "http://page.test/ http://evil.test/ http://page.test/";
    let answer = bash(server, &format!("curl -sS -w '%{{http_code}} ' {output} {requests}"));
    assert_eq!(answer.stdout, "200 403 200 ", "{answer:?}");
    let answer = bash(server, "curl -sS http://evil.test/");
    assert_says(&answer.stdout, &["Commands may not reach evil.test", "The operator can add it", LISTED]);
    // The first address of the name is public, every later one is not.
    let rebinding = "curl -sS http://rebind.test/; curl -sS http://rebind.test/";
    let answer = bash(server, rebinding);
    assert!(answer.stdout.starts_with("a page outsideCommands may not reach rebind.test"), "{answer:?}");
    assert!(answer.stdout.contains("127.0.0.1, which is not public"), "{answer:?}");
}

#[test]
fn git_clones_from_a_listed_port_and_background_processes_have_a_proxy_of_their_own() {
    in_a_network_of_its_own(|| {
        let server = with_network(LISTED);
        let served = tempfile::tempdir().unwrap();
        let make = "git init -q work && cd work \
                && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m first && cd .. \
                && git clone -q --bare work served.git && git -C served.git update-server-info";
        let made = Command::new("sh").args(["-c", make]).current_dir(served.path()).status();
        assert!(made.unwrap().success());
        let _files = Served::files(served.path(), "8080");
        let answer = bash(&server, "git clone -q http://other.test:8080/served.git copy && git -C copy log");
        assert!(answer.stdout.contains("first"), "{answer:?}");

        let cmd = "curl -sS http://evil.test/; python3 -m http.server 8000 --bind 127.0.0.1";
        let started = server.call("bash", &json!({"cmd": cmd, "background": true}));
        let id = started.meta.data["process_id"].as_str().unwrap().to_owned();
        until_true("the process has asked", || {
            let read = server.call("process_read", &json!({"process_id": id}));
            refused(&read) == ["evil.test"]
        });
        // What listens in the session's network is reached without a proxy.
        until_true("the process serves", || bash(&server, "curl -sf http://127.0.0.1:8000/").ok);
        server.call("process_kill", &json!({"process_id": id}));
        until_true("the end is recorded", || {
            let journal = fs::read_to_string(server.dir().journal()).unwrap();
            journal.lines().any(|line| {
                line.contains("background_process.ended")
                    && line.contains(r#""network_refused":["evil.test"]"#)
            })
        });
        let read = server.call("process_read", &json!({"process_id": id}));
        assert_eq!(refused(&read), ["evil.test"], "{read:?}");
    });
}

#[test]
fn without_namespaces_commands_with_a_list_have_no_network_and_the_answer_says_so() {
    let server = ToolServer::builder()
        .variable("AUTONOUS_TOOL_SANDBOX", "landlock")
        .variable("AUTONOUS_TOOL_BASH_NETWORK", "packages")
        .unprivileged()
        .start();
    let connect = "python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", 1))'";
    let answer = bash(&server, connect);
    assert!(answer.stderr.contains("Operation not permitted"), "{answer:?}");
    let notices = answer.meta.notices.join(" ");
    assert!(notices.contains("only sandbox tier A can keep a command to them"), "{notices}");
}
