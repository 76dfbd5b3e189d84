//! Commands that become background processes when they take longer than their call waits.

use std::fs;
use std::io::Write as _;
use std::net::TcpStream;

use harness::tool_server::ToolServer;
use harness::wait::until_true;
use protocol::{Envelope, ErrorCode};
use serde_json::{Value, json};

use crate::background::{code, ended, runs, session, word};

/// What an answer says, but for what differs from call to call.
fn said(envelope: &Envelope) -> Value {
    let (data, error) = (&envelope.meta.data, envelope.meta.error.as_ref());
    let whole = envelope.meta.full_output.as_ref().map(|file| (&file.sha256, file.bytes, file.lines));
    json!({
        "exit_code": envelope.exit_code,
        "status": envelope.http_status(),
        "stdout": envelope.stdout,
        "stderr": envelope.stderr,
        "truncated": [envelope.truncated_lines, envelope.truncated_bytes],
        "whole": whole,
        "error": error.map(|error| (error.code, &error.message)),
        "ended": [data["signal"], data["timed_out"], data["sandbox_tier"], data["process_id"]],
        "left": data["created_control_files"],
        "notices": envelope.meta.notices.len(),
        "redacted": envelope.meta.redacted,
    })
}

#[test]
fn a_command_that_ends_in_time_answers_as_any_other_and_leaves_no_process() {
    let server = ToolServer::start();
    let own = session(&server, "one");
    let token = concat!("ghp_", "FAKE567890abcdefghijklmnopqrstuvwxyz12");
    for cmd in [
        "echo out; echo err >&2; printf rest",
        "exit 3",
        "kill -9 $$",
        "seq 1 20000",
        "echo > .envrc",
        &format!("echo {token}; printf '\\033[1mbold\\r'"),
    ] {
        let usual = own.call("bash", &json!({"cmd": cmd}));
        let patient = own.call("bash", &json!({"cmd": cmd, "yield_after_seconds": 60}));
        assert_eq!(said(&patient), said(&usual), "{cmd}");
    }
    let usual = own.call("bash", &json!({"cmd": "echo so far; sleep 300", "timeout_seconds": 1}));
    let timed = json!({"cmd": "echo so far; sleep 300", "timeout_seconds": 1, "yield_after_seconds": 60});
    assert_eq!(said(&own.call("bash", &timed)), said(&usual));
    assert_eq!((own.call("process_list", &json!({})).stdout.as_str(), ended(&server)), ("", vec![]));
    let kept = fs::read_dir(server.dir().data().join("output")).unwrap().filter_map(Result::ok);
    let kept = kept.filter(|entry| entry.path().extension().is_some_and(|end| end == "txt")).count();
    assert_eq!(kept, 4, "of both calls, what the answer has cut is kept, and what printed to stderr");
}

#[test]
fn a_command_that_takes_longer_runs_on_and_is_read_from_where_the_answer_ends() {
    let server = ToolServer::start();
    let own = session(&server, "one");
    let cmd = "echo one; echo err >&2; printf 'Name: '; read name; echo \"hello $name\"; sleep 300";
    let answer = own.call("bash", &json!({"cmd": cmd, "yield_after_seconds": 1}));
    let data = &answer.meta.data;
    assert_eq!((answer.ok, &data["state"]), (true, &json!("running")), "{answer:?}");
    assert_eq!((answer.stdout.as_str(), answer.stderr.as_str()), ("one\nName: ", "err\n"));
    let id = data["process_id"].as_str().unwrap();
    let told = answer.meta.notices.join("\n");
    for tool in [id, "process_read", "process_write", "process_kill"] {
        assert!(told.contains(tool), "{told}");
    }
    own.call("process_write", &json!({"process_id": id, "text": "Ada", "keys": ["enter"]}));
    let rest = json!({"process_id": id, "after_seq": data["next_seq"], "wait_seconds": 30});
    assert_eq!(own.read(&rest).stdout, "hello Ada\n");
    assert_eq!(own.wait_for(id, "hello").stdout, "one\nerr\nName: hello Ada\n", "nothing is lost or doubled");
    own.kill(id);
    assert_eq!(ended(&server)[0]["process_id"], *id);
    // `timeout_seconds` is the time of the process.
    let timed = json!({"cmd": "sleep 300", "yield_after_seconds": 0, "timeout_seconds": 1});
    let id = own.call("bash", &timed).meta.data["process_id"].clone();
    assert_eq!(own.wait_for_end(id.as_str().unwrap()).meta.data["state"], "timed_out");
}

#[test]
fn what_is_shown_of_a_flood_is_bounded_and_a_secret_is_not_cut_in_two() {
    let server = ToolServer::start();
    let own = session(&server, "one");
    let flood =
        json!({"cmd": "echo first; yes | head -c 20M; echo last; sleep 300", "yield_after_seconds": 4});
    let answer = own.call("bash", &flood);
    assert!(answer.truncated_bytes && answer.stdout.len() < 60_000, "{}", answer.stdout.len());
    assert!(answer.stdout.starts_with("first\n") && answer.stdout.ends_with("last\n"));
    let id = answer.meta.data["process_id"].as_str().unwrap();
    let rest = json!({"process_id": id, "after_seq": answer.meta.data["next_seq"]});
    assert_eq!(own.read(&rest).stdout, "");
    let path = own.read(&json!({"process_id": id})).meta.data["output_path"].as_str().unwrap().to_owned();
    assert!(answer.meta.notices.iter().any(|notice| notice.contains(&path)), "{:?}", answer.meta.notices);
    own.kill(id);

    // The answer comes while a token is being written.
    let token = concat!("ghp_", "FAKE567890abcdefghijklmnopqrstuvwxyz12");
    let cmd =
        format!("for c in $(echo {token} | grep -o .); do printf $c; sleep 0.05; done; echo; sleep 300");
    let answer = own.call("bash", &json!({"cmd": cmd, "yield_after_seconds": 1}));
    assert!(!answer.stdout.contains("ghp_"), "{}", answer.stdout);
    let id = answer.meta.data["process_id"].as_str().unwrap();
    let rest = own.wait_for(id, "***REDACTED***");
    assert!(!rest.stdout.contains("FAKE5"), "{}", rest.stdout);
}

#[test]
fn what_cannot_run_on_is_refused_before_it_starts() {
    let server = ToolServer::builder().allowing_all().start();
    let own = session(&server, "one");
    for (with, way_on) in [
        (json!({"background": true}), "Leave out `background`"),
        (json!({"allow_control_files": true}), "`timeout_seconds`"),
        (json!({"yield_after_seconds": 601}), "600"),
    ] {
        let mut arguments = json!({"cmd": "touch ran", "yield_after_seconds": 1});
        arguments.as_object_mut().unwrap().extend(with.as_object().unwrap().clone());
        let refused = own.call("bash", &arguments);
        assert_eq!(code(&refused), ErrorCode::InvalidArgument, "{with}");
        assert!(refused.stderr.contains(way_on), "{}", refused.stderr);
    }
    for _ in 0..8 {
        assert!(own.call("bash", &json!({"cmd": "sleep 300", "yield_after_seconds": 0})).ok);
    }
    let refused = own.call("bash", &json!({"cmd": "touch ran", "yield_after_seconds": 1}));
    assert_eq!(code(&refused), ErrorCode::QuotaExceeded);
    assert!(refused.stderr.contains("yield_after_seconds"), "{}", refused.stderr);
    assert!(!server.root().join("ran").exists());

    let server = ToolServer::builder().variable("AUTONOUS_TOOL_MAX_PROCESSES", "0").start();
    let refused =
        session(&server, "one").call("bash", &json!({"cmd": "touch ran", "yield_after_seconds": 1}));
    assert_eq!(code(&refused), ErrorCode::ToolNotAllowed);
    assert!(refused.stderr.contains("yield_after_seconds") && !server.root().join("ran").exists());
}

#[test]
fn a_caller_that_goes_away_while_it_waits_ends_the_command() {
    let server = ToolServer::start();
    let (own, word) = (session(&server, "default"), word("left"));
    let body = json!({"cmd": format!("exec -a {word} sleep 300"), "yield_after_seconds": 60}).to_string();
    let mut stream = TcpStream::connect(server.address()).unwrap();
    let head =
        format!("POST /tools/bash HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json", server.address());
    write!(stream, "{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).unwrap();
    until_true("the command runs", || runs(&word) == 1);
    assert_eq!(own.call("process_list", &json!({})).stdout, "", "it is no background process yet");
    drop(stream);
    until_true("it was killed", || runs(&word) == 0);
}

#[test]
fn a_person_who_is_asked_reads_that_it_may_run_on() {
    let rules = "[[rule]]\ntools = [\"bash\"]\ndecision = \"ask\"\n";
    let server = ToolServer::builder().policy(rules).approver().start();
    let asked = session(&server, "one").call("bash", &json!({"cmd": "true", "yield_after_seconds": 5}));
    let id = asked.meta.data["approval_id"].as_str().unwrap();
    let shown = server.approval(id).to_string();
    assert!(shown.contains("runs on in the background when it takes longer than 5 s"), "{shown}");
}
