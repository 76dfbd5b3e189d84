//! What the server does where the kernel refuses namespaces, by really refusing them.
//!
//! A user namespace of its own allows no further one, so tier A cannot be had in it; and the server is root
//! there, so tier B must not be taken either.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use e2e::Request;
use e2e::binaries::path_of;
use e2e::http::address_of;
use e2e::place::Place;
use protocol::{Envelope, ErrorCode};
use serde_json::json;

/// The server in a namespace that allows no further ones.
fn without_namespaces(place: &Place, sandbox: &str) -> Command {
    let mut command = Command::new("unshare");
    let script = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$0\" serve";
    command.args(["--user", "--map-root-user", "sh", "-c", script]).arg(path_of("tool-server"));
    command.env_clear().env("PATH", std::env::var("PATH").unwrap());
    command.env("AUTONOUS_DATA_DIR", place.data()).env("AUTONOUS_TOOL_ALLOWED_ROOTS", place.root());
    command.env("AUTONOUS_TOOL_LISTEN", "127.0.0.1:0").env("AUTONOUS_TOOL_SANDBOX", sandbox);
    command.stderr(Stdio::piped()).stdin(Stdio::null());
    command
}

/// Ends the server with its test.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[test]
fn full_refuses_the_start_where_namespaces_are_forbidden() {
    let place = Place::new();
    let refused = without_namespaces(&place, "full").output().unwrap();
    let error = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success());
    assert!(error.contains("AUTONOUS_TOOL_SANDBOX") && error.contains("namespaces"), "{error}");
}

#[test]
fn auto_serves_the_file_tools_and_says_why_no_command_runs() {
    let place = Place::new();
    let mut server = Ended(without_namespaces(&place, "auto").spawn().unwrap());
    let lines = BufReader::new(server.0.stderr.take().unwrap()).lines();
    let line = lines.map(Result::unwrap).find(|line| line.contains("listening on")).unwrap();
    let url = line.split_whitespace().find(|word| word.starts_with("http://")).unwrap();
    let address = address_of(url);
    let call = |tool: &str, arguments| -> Envelope {
        let answer = Request::post_json(&format!("/tools/{tool}"), &arguments).send(address);
        serde_json::from_slice(&answer.body).unwrap()
    };
    let refused = call("bash", json!({"cmd": "true"})).meta.error.unwrap();
    assert_eq!(refused.code, ErrorCode::ToolNotAllowed);
    assert!(refused.message.contains("cannot be held"), "{}", refused.message);
    assert!(call("ls", json!({})).ok);
    for (route, part) in [("/readyz", "no commands run"), ("/capabilities", "AppArmor")] {
        let body = String::from_utf8(Request::get(route).send(address).body).unwrap();
        assert!(body.contains(part), "{route}: {body}");
    }
}
