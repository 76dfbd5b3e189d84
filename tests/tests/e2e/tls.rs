//! A tool server that speaks TLS: who connects, who does not, and what it refuses to start with.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use harness::program::refusal_of;
use harness::{Program, TestDir, binaries};
use serde_json::{Value, json};

const TOKEN: &str = "FAKE-token-of-tls";

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data/tls").join(name)
}

fn program(dir: &TestDir, files: &[(&str, PathBuf)]) -> Command {
    let mut command = Command::new(binaries::path_of("tool-server"));
    command.args(["run", "--root", "root", "--listen", "127.0.0.1:0"]).current_dir(dir.path());
    command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").env("AUTONOUS_TOOL_TOKEN", TOKEN);
    command.env("AUTONOUS_DATA_DIR", dir.data()).envs(files.iter().map(|(name, file)| (*name, file)));
    command.stdin(Stdio::null());
    command
}

fn with_tls() -> [(&'static str, PathBuf); 2] {
    [("AUTONOUS_TOOL_TLS_CERT", data("server.pem")), ("AUTONOUS_TOOL_TLS_KEY", data("server.key"))]
}

fn started(dir: &TestDir, files: &[(&str, PathBuf)]) -> Program {
    let server = Program::spawn(dir, &mut program(dir, files), None);
    server.until_logged("listening on https://127.0.0.1:");
    server
}

/// Host and port.
fn address(server: &Program) -> String {
    let log = server.log();
    let (_, rest) = log.split_once("listening on https://").unwrap();
    rest.split_once(' ').unwrap().0.to_owned()
}

fn ask(server: &Program, path: &str, more: &[&str]) -> Output {
    let mut curl = Command::new("curl");
    curl.args(["--silent", "--show-error", "--max-time", "20"]).args(more);
    curl.env_remove("https_proxy").env_remove("HTTPS_PROXY").env_remove("ALL_PROXY");
    curl.args(["--header", &format!("authorization: Bearer {TOKEN}")]);
    curl.arg(format!("https://{}{path}", address(server))).output().unwrap()
}

fn text(path: &Path) -> &str {
    path.to_str().expect("the files of the tests have plain names")
}

fn answer(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

fn refused(command: &mut Command) -> String {
    refusal_of(&command.output().unwrap())
}

#[test]
fn calls_go_over_tls_and_the_printed_line_works_when_pasted() {
    let dir = TestDir::new();
    fs::write(dir.root().join("a.txt"), "one\n").unwrap();
    let server = started(&dir, &with_tls());
    let (authority, call) = (data("ca.pem"), json!({"path": "."}).to_string());
    let body = ["--data", &call, "--header", "content-type: application/json"];
    let trusting = ["--cacert", text(&authority)];
    let listed = answer(&ask(&server, "/tools/ls", &[&trusting[..], &body[..]].concat()));
    assert_eq!((&listed["ok"], &listed["stdout"]), (&json!(true), &json!("a.txt\n")));
    // Several requests over one connection, and large answers.
    fs::write(dir.root().join("b.txt"), "x".repeat(5_000_000)).unwrap();
    let path = "/files?path=b.txt";
    let twice = format!("https://{}{path}", address(&server));
    let fetched = ask(&server, path, &[&trusting[..], &[&twice]].concat());
    assert_eq!(fetched.stdout.len(), 10_000_000, "{}", String::from_utf8_lossy(&fetched.stderr));
    let printed = server.stdout();
    let line = printed.lines().find(|line| line.starts_with("curl ")).expect("there is a line");
    assert!(line.contains("https://127.0.0.1:") && line.contains("--cacert"), "{line}");
    let mut shell = Command::new("sh");
    let pasted = shell.args(["-c", line]).env("AUTONOUS_TOOL_TOKEN", TOKEN).env_remove("https_proxy");
    assert_eq!(answer(&pasted.output().unwrap())["ok"], true);
    server.end(&dir);
}

#[test]
fn a_client_that_does_not_know_the_authority_sends_nothing() {
    let dir = TestDir::new();
    let server = started(&dir, &with_tls());
    // Another one, because a machine may have no file of those that it trusts.
    let output = ask(&server, "/readyz", &["--cacert", text(&data("stranger.pem"))]);
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(60), &b""[..]), "{output:?}");
    server.end(&dir);
}

#[test]
fn with_an_authority_of_clients_only_its_clients_connect() {
    let dir = TestDir::new();
    let files = [&with_tls()[..], &[("AUTONOUS_TOOL_TLS_CLIENT_CA", data("ca.pem"))]].concat();
    let server = started(&dir, &files);
    let authority = data("ca.pem");
    let ask_as = |client: Option<&str>| {
        let pair = client.map(|name| [data(&format!("{name}.pem")), data(&format!("{name}.key"))]);
        let own = pair.iter().flat_map(|[cert, key]| ["--cert", text(cert), "--key", text(key)]);
        let all: Vec<&str> = ["--cacert", text(&authority)].into_iter().chain(own).collect();
        ask(&server, "/readyz", &all)
    };
    assert_eq!(answer(&ask_as(Some("client")))["ready"], true);
    // The certificate of a server is none of a client, and that of another authority is none at all.
    for other in [None, Some("stranger"), Some("server")] {
        let output = ask_as(other);
        assert!(!output.status.success() && output.stdout.is_empty(), "{other:?}: {output:?}");
    }
    server.end(&dir);
}

/// A token must not go over the wire in the clear because somebody wrote `http`.
#[test]
fn without_tls_there_is_no_answer() {
    let dir = TestDir::new();
    let server = started(&dir, &with_tls());
    let mut stream = TcpStream::connect(address(&server)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    assert!(!answer.starts_with(b"HTTP/"), "{}", String::from_utf8_lossy(&answer));
    // One that says nothing at all keeps no place for ever, and no server from ending.
    let silent = TcpStream::connect(address(&server)).unwrap();
    server.end(&dir);
    drop(silent);
}

#[test]
fn files_that_cannot_be_used_stop_the_start() {
    let dir = TestDir::new();
    let [cert, key] = with_tls();
    let authority = ("AUTONOUS_TOOL_TLS_CLIENT_CA", data("ca.pem"));
    fs::copy(data("server.key"), dir.root().join("server.key")).unwrap();
    let beside = |name: &'static str, file: &str| (name, data(file));
    for (files, named) in [
        (vec![cert.clone()], ["AUTONOUS_TOOL_TLS_CERT", "AUTONOUS_TOOL_TLS_KEY as well"]),
        (vec![key.clone()], ["AUTONOUS_TOOL_TLS_KEY", "AUTONOUS_TOOL_TLS_CERT as well"]),
        (vec![authority.clone()], ["AUTONOUS_TOOL_TLS_CLIENT_CA", "AUTONOUS_TOOL_TLS_CERT as well"]),
        (vec![cert.clone(), beside(key.0, "missing.key")], ["AUTONOUS_TOOL_TLS_KEY", "missing.key"]),
        (vec![cert.clone(), beside(key.0, "client.key")], ["certificate and the key", "fit"]),
        (vec![cert.clone(), beside(key.0, "server.pem")], ["server.pem", "cannot be used"]),
        (vec![beside(cert.0, "server.key"), key.clone()], ["server.key", "no certificate"]),
        (
            vec![cert.clone(), key.clone(), beside(authority.0, "client.key")],
            ["client.key", "no certificate"],
        ),
        (vec![cert.clone(), (key.0, dir.root().join("server.key"))], ["AUTONOUS_TOOL_TLS_KEY", "in a root"]),
    ] {
        let error = refused(&mut program(&dir, &files));
        assert!(named.iter().all(|part| error.contains(part)), "{files:?}: {error}");
    }
}

/// The supervisor and its workers ask their own tool server without TLS. A setting that would be ignored in
/// silence is refused.
#[test]
fn a_supervisor_refuses_tls_for_its_own_tool_server() {
    let dir = TestDir::new();
    let mut supervisor = Command::new(binaries::path_of("supervisor"));
    supervisor.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").current_dir(dir.path());
    supervisor.arg("run").env("AUTONOUS_DATA_DIR", dir.data()).envs(with_tls()).stdin(Stdio::null());
    let error = refused(&mut supervisor);
    assert!(error.contains("AUTONOUS_TOOL_TLS_CERT") && error.contains("alone"), "{error}");
}
