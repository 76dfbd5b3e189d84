//! The server on a kernel that refuses namespaces, by really refusing them.
//!
//! It runs in a user namespace that allows no further one, so tier A is not possible; and it is root there,
//! so it must not use tier B either.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use harness::Request;
use harness::binaries::path_of;
use harness::http::address_of;
use harness::test_dir::TestDir;
use protocol::ErrorCode;
use serde_json::json;

use crate::assert_says;

/// The server in a namespace that allows no further ones.
fn without_namespaces(dir: &TestDir, sandbox: &str) -> Command {
    let mut command = Command::new("unshare");
    let script = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$0\" serve";
    command.args(["--user", "--map-root-user", "sh", "-c", script]).arg(path_of("tool-server"));
    command.env_clear().env("PATH", std::env::var("PATH").unwrap());
    command.env("AUTONOUS_DATA_DIR", dir.data()).env("AUTONOUS_TOOL_ALLOWED_ROOTS", dir.root());
    command.env("AUTONOUS_TOOL_LISTEN", "127.0.0.1:0").env("AUTONOUS_TOOL_SANDBOX", sandbox);
    command.stderr(Stdio::piped()).stdin(Stdio::null());
    command
}

struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[test]
fn full_refuses_the_start_where_namespaces_are_forbidden() {
    let dir = TestDir::new();
    let refused = without_namespaces(&dir, "full").output().unwrap();
    assert!(!refused.status.success());
    assert_says(&String::from_utf8_lossy(&refused.stderr), &["AUTONOUS_TOOL_SANDBOX", "namespaces"]);
}

#[test]
fn auto_serves_the_file_tools_and_says_why_no_command_runs() {
    let dir = TestDir::new();
    let mut server = Ended(dir.spawn(&mut without_namespaces(&dir, "auto")).unwrap());
    let lines = BufReader::new(server.0.stderr.take().unwrap()).lines();
    let line = lines.map(Result::unwrap).find(|line| line.contains("listening on")).unwrap();
    let url = line.split_whitespace().find(|word| word.starts_with("http://")).unwrap();
    let address = address_of(url);
    let call = |tool: &str, arguments| Request::call(tool, &arguments).send(address).envelope();
    let refused = call("bash", json!({"cmd": "true"})).meta.error.unwrap();
    assert_eq!(refused.code, ErrorCode::ToolNotAllowed);
    assert_says(&refused.message, &["cannot be sandboxed"]);
    assert!(call("ls", json!({})).ok);
    for (route, part) in [("/readyz", "no commands run"), ("/capabilities", "AppArmor")] {
        assert_says(&Request::get(route).send(address).text(), &[part]);
    }
}
