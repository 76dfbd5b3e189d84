//! Worker and tool server without a supervisor, as run by hand.

use std::fs;
use std::process::{Command, Output};

use harness::{ToolServer, binaries};

fn once(server: &ToolServer, message: &str) -> Output {
    let mut command = Command::new(binaries::path_of("agent-worker"));
    command.args(["once", message]).env_clear().envs(server.dir().variables());
    command.env("AUTONOUS_TOOL_URL", format!("http://{}", server.address()));
    command.output().expect("the worker's binary starts")
}

#[test]
fn once_prints_what_the_tool_says_and_explains_a_mistake() {
    let server = ToolServer::start();
    fs::write(server.root().join("hello.txt"), "x").unwrap();
    let cases = [
        ("ls path=.", "hello.txt"),
        ("lss path=.", "ls"),
        ("ls pth=.", "path"),
        ("hello?", "ls"),
        ("/ls {\"path\":", "INVALID_ARGUMENT"),
        ("ls path=missing", "NOT_FOUND"),
    ];
    for (message, word) in cases {
        let output = once(&server, message);
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.contains(word), "{message}: {output:?}");
    }
}
