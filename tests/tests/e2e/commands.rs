//! `bash`, `skill` and `run_script` as callers see them, with the real server and sandbox.

use std::fs;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::time::{Duration, Instant};

use harness::http::Request;
use harness::leftovers::processes_with;
use harness::tool_server::ToolServer;
use harness::wait::until_true;
use protocol::{Envelope, ErrorCode, Status};
use serde_json::{Value, json};

use crate::assert_says;
use crate::background::{code, word};

/// A server with every tool switched on and one skill.
fn server() -> ToolServer {
    let builder = ToolServer::builder().allowing_all();
    builder.dir().write_skill("example", "description: shows how\nallowed-tools: [read, run_script]");
    let scripts = builder.dir().data().join("skills/example/scripts");
    fs::create_dir(&scripts).unwrap();
    let script = "#!/bin/sh\nprintf '%s|' \"$@\"\npwd\nls\nprintf %s \"$GIVEN\"\ncat\n";
    fs::write(scripts.join("hello.sh"), script).unwrap();
    builder.start()
}

/// Runs a command that ends within a minute.
pub(crate) fn bash(server: &ToolServer, cmd: &str) -> Envelope {
    server.call("bash", &json!({"cmd": cmd, "timeout_seconds": 60}))
}

/// Sends a call of `bash` and does not wait for its answer.
fn begin(server: &ToolServer, arguments: &Value) -> TcpStream {
    Request::call("bash", arguments).send_without_the_last(0, server.address())
}

/// Whether a process has this word in its command.
pub(crate) fn runs(word: &str) -> bool {
    !processes_with(word).is_empty()
}

#[test]
fn a_command_answers_with_its_output_its_code_and_what_it_cost() {
    let server = server();
    let ran = bash(&server, "echo out; echo err >&2; exit 3");
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str(), ran.exit_code), ("out\n", "err\n", 3));
    assert_eq!((ran.ok, code(&ran)), (false, ErrorCode::ExitNonzero));
    assert_eq!(ran.meta.data["timed_out"], false);
    assert!(ran.meta.data["peak_memory_bytes"].as_u64() > Some(0), "{}", ran.meta.data);
    assert!(ran.meta.data["sandbox_tier"].is_string(), "{}", ran.meta.data);
    assert!(bash(&server, "true").ok);
    let killed = bash(&server, "kill -TERM $$");
    assert_eq!((killed.exit_code, &killed.meta.data["signal"]), (143, &json!(15)));
}

#[test]
fn a_command_without_a_limit_of_its_own_has_that_of_the_server() {
    let server = ToolServer::builder().variable("AUTONOUS_TOOL_TIMEOUT_SECONDS", "1").start();
    let ran = server.call("bash", &json!({"cmd": "echo begun; sleep 60"}));
    assert_eq!((code(&ran), ran.stdout.as_str()), (ErrorCode::Timeout, "begun\n"));
    let longer = server.call("bash", &json!({"cmd": "sleep 1.5; echo ended", "timeout_seconds": 20}));
    assert!(longer.ok, "{}", longer.stderr);
}

#[test]
fn no_more_commands_run_at_once_than_the_setting_allows() {
    let server = ToolServer::builder().variable("AUTONOUS_TOOL_MAX_COMMANDS", "1").start();
    let word = word("only-one");
    let running = begin(&server, &json!({"cmd": format!("exec -a {word} sleep 300")}));
    until_true("the first command runs", || runs(&word));
    assert_eq!(code(&bash(&server, "true")), ErrorCode::Overloaded);
    drop(running);
    until_true("the first command is ended", || !runs(&word));
    assert!(bash(&server, "true").ok);
}

#[test]
fn a_command_that_runs_too_long_is_killed_with_its_daemons_and_its_output_is_kept() {
    let server = server();
    let word = word("linger");
    let cmd = format!(
        "echo begun; trap '' TERM; (setsid bash -c 'trap \"\" TERM; (exec -a {word} sleep 300) & exec -a \
         {word} sleep 300' &); sleep 300"
    );
    let since = Instant::now();
    let ran = server.call("bash", &json!({"cmd": cmd, "timeout_seconds": 1}));
    let took = since.elapsed();
    assert_eq!((ran.exit_code, code(&ran), ran.stdout.as_str()), (124, ErrorCode::Timeout, "begun\n"));
    assert_eq!((ran.meta.status, &ran.meta.data["timed_out"]), (Status::Error, &json!(true)));
    assert!(took < Duration::from_secs(4), "{took:?}");
    assert!(!runs(&word));
    let request = Request::call("bash", &json!({"cmd": "sleep 9", "timeout_seconds": 1}));
    assert_eq!(server.send(request).status, 200, "a command that was ended at its deadline did run");
}

#[test]
fn a_long_output_is_cut_in_the_middle_and_kept_whole() {
    let server = server();
    let ran = bash(&server, "seq 1 100000");
    assert!(ran.ok && ran.truncated_lines && ran.meta.status == Status::Partial);
    assert!(ran.stdout.starts_with("1\n2\n") && ran.stdout.ends_with("\n99999\n100000\n"));
    let whole = ran.meta.full_output.unwrap();
    assert_eq!((whole.lines, whole.bytes), (100_000, 588_895));
    let read = server.call("read", &json!({"path": whole.path, "start_line": 50_000, "limit": 1}));
    assert_eq!(read.stdout, "50000\t50000\n");
    let grep = server.call("grep", &json!({"path": whole.path, "pattern": "^77777$", "output": "count"}));
    assert!(grep.ok && grep.stdout.contains('1'), "{}", grep.stderr);
    let mode = fs::metadata(&whole.path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
    let seen = bash(&server, &format!("cat {} || true", whole.path)).stdout;
    assert!(!seen.contains("77777"), "commands never see it");
}

#[test]
fn the_environment_is_an_allowlist_and_there_is_no_input() {
    let server = ToolServer::builder()
        .token("token-that-nobody-sees")
        .variable("AUTONOUS_TOOL_ENV", "GREETING=hello,RUST_LOG")
        .variable("SECRET_CANARY", "canary-value")
        .start();
    let show = "env; cat; tr '\\0' '\\n' < /proc/1/environ; cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n'";
    let ran = bash(&server, show);
    assert_says(&ran.stdout, &["GREETING=hello", "PAGER=cat"]);
    for secret in ["token-that-nobody-sees", "canary-value", "AUTONOUS_SECRETS_FD"] {
        assert!(!ran.stdout.contains(secret), "{secret}");
    }
}

#[test]
fn a_command_ends_when_its_caller_disconnects() {
    let server = server();
    let word = word("forsaken");
    let arguments = json!({"cmd": format!("exec -a {word} sleep 300"), "timeout_seconds": 600});
    let stream = begin(&server, &arguments);
    until_true("the command runs", || runs(&word));
    drop(stream);
    until_true("the command is gone", || !runs(&word));
    let journal = server.dir().journal();
    until_true("its end is recorded", || fs::read_to_string(&journal).unwrap().contains("CANCELLED"));
}

#[test]
fn a_command_that_takes_too_much_memory_is_killed_and_told_why() {
    let server = ToolServer::builder().variable("AUTONOUS_TOOL_MAX_MEMORY_MB", "200").start();
    let hoard = "python3 -c 'import mmap, time; m = mmap.mmap(-1, 300 << 20); m.write(bytes(300 << 20)); \
                 time.sleep(10)'";
    let ran = bash(&server, &format!("echo begun; {hoard}; echo held"));
    assert_says(&ran.meta.error.as_ref().unwrap().message, &["AUTONOUS_TOOL_MAX_MEMORY_MB"]);
    assert_eq!((ran.exit_code, ran.stdout.as_str()), (137, "begun\n"));
    assert!(bash(&server, "python3 -c 'x = bytearray(100 << 20)'").ok);
}

#[test]
fn a_task_that_has_read_a_skill_can_call_only_what_it_allows() {
    let mut server = server();
    let call = |server: &ToolServer, tool: &str, arguments: &Value| -> Envelope {
        server.send(Request::call(tool, arguments).header("x-task-id", "task-1")).envelope()
    };
    assert!(call(&server, "bash", &json!({"cmd": "true"})).ok);
    let skill = call(&server, "skill", &json!({"name": "example"}));
    assert!(skill.stdout.ends_with("Go.\n"), "{}", skill.stdout);
    let arguments = json!({
        "skill": "example", "relative_path": "hello.sh", "args": ["a b", "$HOME", ";id"],
        "env": {"GIVEN": "own "}, "stdin": "input",
    });
    let ran = call(&server, "run_script", &arguments);
    assert!(ran.stdout.starts_with("a b|$HOME|;id|"), "no shell reads the arguments: {}", ran.stdout);
    assert!(ran.stdout.ends_with("\nown input"), "{}", ran.stdout);
    assert_eq!(ran.stdout.lines().count(), 2, "it starts in an empty directory: {}", ran.stdout);
    assert_eq!(code(&call(&server, "bash", &json!({"cmd": "true"}))), ErrorCode::ToolNotAllowed);
    server.crash(|_| ());
    let refused = call(&server, "bash", &json!({"cmd": "true"}));
    assert_eq!(code(&refused), ErrorCode::ToolNotAllowed, "after a restart too");
    assert!(bash(&server, "true").ok, "another task is not bound");
}

#[test]
fn scripts_come_from_their_skill_alone() {
    let server = server();
    let skills = server.dir().data().join("skills/example");
    fs::write(server.dir().outside().join("x.sh"), "#!/bin/sh\necho OUTSIDE\n").unwrap();
    std::os::unix::fs::symlink(server.dir().outside().join("x.sh"), skills.join("scripts/link.sh")).unwrap();
    fs::write(skills.join("scripts/none"), "echo\n").unwrap();
    for (path, expected) in [
        ("../SKILL.md", ErrorCode::PathOutsideRoots),
        ("../../../../outside/x.sh", ErrorCode::PathOutsideRoots),
        ("link.sh", ErrorCode::PathOutsideRoots),
        ("absent.sh", ErrorCode::NotFound),
        ("none", ErrorCode::InvalidArgument),
    ] {
        let arguments = json!({"skill": "example", "relative_path": path});
        assert_eq!(code(&server.call("run_script", &arguments)), expected, "{path}");
    }
    let unknown = server.call("skill", &json!({"name": "nope"}));
    assert_eq!(code(&unknown), ErrorCode::NotFound);
    assert_eq!(unknown.meta.error.unwrap().hint, "The skills are: example.");
    assert_eq!(code(&server.call("skill", &json!({"name": "../x"}))), ErrorCode::InvalidArgument);
}

#[test]
fn without_commands_the_file_tools_work_and_bash_says_why() {
    let server = ToolServer::builder().variable("AUTONOUS_TOOL_DISABLE_EXEC", "true").start();
    let refused = bash(&server, "true");
    assert_eq!(code(&refused), ErrorCode::ToolNotAllowed);
    assert_says(&refused.stderr, &["AUTONOUS_TOOL_DISABLE_EXEC"]);
    assert!(server.call("ls", &json!({})).ok);
}

#[test]
fn a_command_that_another_tool_does_better_is_refused_with_that_tool() {
    let server = ToolServer::builder().variable("AUTONOUS_TOOL_BASH_DENYLIST", "forbidden").start();
    for (cmd, hint) in [("ls -a", "`ls`"), ("cat notes.txt", "`read`"), ("grep -rn x .", "`grep`")] {
        let refused = bash(&server, cmd);
        assert_eq!(code(&refused), ErrorCode::CommandDenied, "{cmd}");
        assert!(refused.meta.error.unwrap().hint.contains(hint), "{cmd}");
    }
    for cmd in ["sudo id", "vim a", "curl https://example.com", "true | forbidden"] {
        assert_eq!(code(&bash(&server, cmd)), ErrorCode::CommandDenied, "{cmd}");
    }
    assert!(bash(&server, "printf 'a\\nb\\n' | grep a | head -1 > found; cat found | tail -1").ok);
}

#[test]
fn a_socket_of_the_machine_that_lies_in_a_root_is_out_of_reach() {
    const CONNECT: &str = "python3 -c \"import socket, sys; s = socket.socket(socket.AF_UNIX); \
         s.connect(sys.argv[1]); print('connected')\" ";
    let server = server();
    let root = server.root();
    let early = UnixListener::bind(root.join("early.sock")).unwrap();
    assert!(!bash(&server, &format!("{CONNECT} early.sock")).stdout.contains("connected"));
    fs::create_dir(root.join("deep")).unwrap();
    let later = UnixListener::bind(root.join("deep/later.sock")).unwrap();
    let datagrams = UnixDatagram::bind(root.join("datagrams.sock")).unwrap();
    assert!(!bash(&server, &format!("{CONNECT} deep/later.sock")).stdout.contains("connected"));
    let renamed = format!("mv deep other && {CONNECT} other/later.sock; ln early.sock x && {CONNECT} x");
    assert!(!bash(&server, &renamed).stdout.contains("connected"));
    let send = "python3 -c \"import socket; s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); \
         s.sendto(b'x', 'datagrams.sock')\"";
    bash(&server, send);
    datagrams.set_nonblocking(true).unwrap();
    assert!(datagrams.recv(&mut [0; 8]).is_err(), "a datagram arrived");
    // A socket that the command makes itself works, and one without a listener can be removed.
    let own = "python3 -c \"import socket; s = socket.socket(socket.AF_UNIX); s.bind('own.sock'); \
         s.listen(); c = socket.socket(socket.AF_UNIX); c.connect('own.sock'); print('own')\"";
    assert_eq!(bash(&server, own).stdout, "own\n");
    drop((early, later));
    let removed = bash(&server, "rm -rf own.sock early.sock deep other && ls *.sock");
    assert_eq!(removed.stdout, "datagrams.sock\n", "{}", removed.stderr);
}
