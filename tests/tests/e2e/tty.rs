//! Commands in a terminal: what they see of it, what keys do, and that no other terminal is within reach.

use harness::corpus::Mode;
use harness::tool_server::ToolServer;
use harness::wait::until_true;
use protocol::ErrorCode;
use serde_json::{Value, json};

use crate::background::{Session, session};

fn in_terminal(session: &Session<'_>, cmd: &str) -> String {
    let started = session.call("bash", &json!({"cmd": cmd, "tty": true, "background": true}));
    assert!(started.ok, "{started:?}");
    started.meta.data["process_id"].as_str().unwrap().to_owned()
}

fn press(session: &Session<'_>, id: &str, mut written: Value) {
    written["process_id"] = id.into();
    let written = session.call("process_write", &written);
    assert!(written.ok, "{written:?}");
}

fn converses(server: &ToolServer) {
    let own = session(server, "one");
    let ran = own.call("bash", &json!({
        "cmd": "for n in 0 1 2; do test -t $n || exit 9; done; stty size; read x || echo end; echo err >&2",
        "tty": true,
    }));
    assert_eq!((ran.exit_code, ran.stdout.as_str(), ran.stderr.as_str()), (0, "40 120\nend\nerr\n", ""));

    let id = in_terminal(&own, "read -p 'name? ' n; read -s -p 'word? ' w < /dev/tty; echo \"<$n,$w>\"; cat");
    own.wait_for(&id, "name? ");
    press(&own, &id, json!({"text": "Adx\u{7f}", "keys": ["enter"]}));
    own.wait_for(&id, "word? ");
    press(&own, &id, json!({"text": "hidden", "keys": ["enter"]}));
    let shown = own.wait_for(&id, "<Ad,hidden>").stdout;
    assert_eq!(shown.matches("hidden").count(), 1, "what is typed without an echo is not shown: {shown}");
    press(&own, &id, json!({"text": "line", "keys": ["enter", "ctrl-d"]}));
    assert_eq!(own.wait_for_end(&id).meta.data["exit_code"], 0);

    let id = in_terminal(&own, "trap 'echo caught; exit 5' INT; echo ready; while :; do sleep 0.05; done");
    own.wait_for(&id, "ready");
    press(&own, &id, json!({"keys": ["ctrl-c"]}));
    assert_eq!(own.wait_for_end(&id).meta.data["exit_code"], 5);

    let id = in_terminal(&own, "cat; echo end");
    press(&own, &id, json!({"eof": true}));
    own.wait_for(&id, "end");
}

#[test]
fn a_program_in_a_terminal_asks_and_is_answered() {
    converses(&ToolServer::start());
}

#[test]
fn a_program_in_a_terminal_asks_and_is_answered_in_tier_b() {
    converses(&Mode::TierBAsOrdinaryUser.builder().start());
}

#[test]
fn a_terminal_is_in_its_own_sandbox_alone() {
    let server = ToolServer::start();
    let own = session(&server, "one");
    let id = in_terminal(&own, "tty; ls /dev/pts; echo ready; read x");
    let shown = own.wait_for(&id, "ready").stdout;
    assert_eq!(shown.split_whitespace().collect::<Vec<_>>(), ["/dev/pts/0", "0", "ptmx", "ready"]);
    let other = own.call("bash", &json!({"cmd": "ls /dev/pts", "tty": true}));
    assert_eq!(other.stdout.split_whitespace().collect::<Vec<_>>(), ["0", "ptmx"], "it has its own");
    let without = own.call("bash", &json!({"cmd": "ls /dev/pts; echo x > /dev/tty; echo $?"}));
    assert_eq!(without.stdout, "1\n", "{without:?}");

    // What a program types into its terminal would reach the shell that reads there after it.
    let typing = "import fcntl, termios\nfcntl.ioctl(0, termios.TIOCSTI, b'x')";
    let typed = own.call("bash", &json!({"cmd": format!("python3 -c \"{typing}\""), "tty": true}));
    assert!(typed.exit_code != 0 && typed.stdout.contains("Error"), "{typed:?}");
    // Programs may make terminals in there, within a bound.
    let many = "import os\nn = 0\ntry:\n  while True: os.openpty(); n += 1\nexcept OSError: print(n)";
    let made = own.call("bash", &json!({"cmd": format!("python3 -c \"{many}\""), "tty": true}));
    assert_eq!(made.stdout, "15\n", "{made:?}");
    press(&own, &id, json!({"keys": ["enter"]}));
    own.wait_for_end(&id);
}

#[test]
fn a_terminal_ends_with_its_process_and_takes_no_given_input() {
    let server = ToolServer::start();
    let own = session(&server, "one");
    let both = own.call("bash", &json!({"cmd": "cat", "tty": true, "stdin": "x"}));
    assert_eq!(both.error_code(), Some(ErrorCode::InvalidArgument), "{both:?}");
    let id = in_terminal(&own, "trap '' INT HUP TERM; echo ready; sleep 1000");
    own.wait_for(&id, "ready");
    own.kill(&id);
    until_true("the process is killed", || own.wait_for_end(&id).meta.data["state"] == "killed");
    let id = in_terminal(&own, "yes | head -c 3000000; echo end");
    let ended = own.wait_for_end(&id);
    assert_eq!(ended.meta.data["exit_code"], 0, "{ended:?}");
}
