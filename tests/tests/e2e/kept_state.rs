//! What a session's commands leave each other with `keep_state`: their directory and exported variables, seen
//! by rules and people as if the call had named them.

use std::fs;

use harness::corpus::Mode;
use harness::http::Request;
use harness::tool_server::ToolServer;
use protocol::{Envelope, ErrorCode};
use serde_json::{Value, json};

use crate::background::session;
use crate::given::assert_kept_out;

fn bash(server: &ToolServer, name: &str, mut arguments: Value) -> Envelope {
    arguments["keep_state"] = true.into();
    session(server, name).call("bash", &arguments)
}

fn keep(server: &ToolServer, cmd: &str) -> Envelope {
    bash(server, "one", json!({"cmd": cmd}))
}

fn holds(server: &ToolServer) {
    fs::create_dir_all(server.root().join("d/e")).unwrap();
    let root = server.root().display().to_string();
    let first = keep(server, "cd d; export A=\"it's\nodd\" B=2; own=3; echo out; echo err >&2; exit 3");
    assert_eq!((first.exit_code, first.stdout.as_str(), first.stderr.as_str()), (3, "out\n", "err\n"));
    assert!(first.meta.notices.is_empty(), "{first:?}");

    let say = "pwd; echo \"$A,$B,${own-none}\"";
    let kept = format!("{root}/d\nit's\nodd,2,none\n");
    assert_eq!(keep(server, say).stdout, kept, "an unsuccessful command keeps its state, too");
    let check = |found: Envelope, expected: &str| assert_eq!(found.stdout, expected, "{found:?}");
    let without = format!("{root}\n,,none\n");
    check(session(server, "one").call("bash", &json!({"cmd": say})), &without);
    check(bash(server, "two", json!({"cmd": say})), &without);
    check(keep(server, say), &kept);

    let own = json!({"cmd": "pwd; echo $B", "workdir": ".", "env": {"B": "own"}});
    check(bash(server, "one", own), &format!("{root}\nown\n"));
    check(keep(server, "cd d/e; unset B; echo $PWD"), &format!("{root}/d/e\n"));
    check(keep(server, "set -eu; pwd; echo ${B-none}; false; echo no"), &format!("{root}/d/e\nnone\n"));
    let yielding = json!({"cmd": "pwd; cd ..", "yield_after_seconds": 60});
    check(bash(server, "one", yielding), &format!("{root}/d/e\n"));
    check(keep(server, "pwd"), &format!("{root}/d/e\n"));
}

#[test]
fn a_command_begins_where_the_last_one_of_its_session_ended() {
    holds(&ToolServer::start());
}

#[test]
fn a_command_begins_where_the_last_one_of_its_session_ended_in_tier_b() {
    holds(&Mode::TierBAsOrdinaryUser.builder().start());
}

#[test]
fn what_is_not_kept_is_said_and_leaves_what_was_kept() {
    let server = ToolServer::start();
    fs::create_dir(server.root().join("d")).unwrap();
    let root = server.root().display().to_string();
    keep(&server, "cd d; export A=1");
    for (cmd, said) in [
        ("cd /; export A=2; exec true", "replaced its shell"),
        ("cd /; export A=2; trap true EXIT", "replaced its shell"),
        ("cd /; export A=2; kill -9 $$", "was killed"),
        ("export A=2; for n in {1..40}; do export V$n=x; done", "41 exported variables"),
        ("export A=2 BIG=$(printf %020000d 1)", "2 exported variables"),
        ("export A=2; for n in {1..10}; do export V$n=$(printf %09000d 1); done", "more than 65536 bytes"),
    ] {
        let ran = keep(&server, cmd);
        assert!(ran.meta.notices.iter().any(|notice| notice.contains(said)), "{cmd}: {ran:?}");
        assert_eq!(keep(&server, "echo $PWD $A").stdout, format!("{root}/d 1\n"), "{cmd}");
    }
    let outside = keep(&server, "cd /tmp; export A=2");
    assert!(outside.meta.notices[0].contains("/tmp is in no root"), "{outside:?}");
    assert_eq!(keep(&server, "echo $PWD $A").stdout, format!("{root}/d 2\n"));

    // What the sandbox and the shell set is not kept: it would be refused as `env`.
    keep(&server, "export HOME=/x TMPDIR=/x WORKSPACE=/x OLDPWD=/x PATH=/usr/bin:/bin:/x");
    let kept = keep(&server, "echo $HOME $WORKSPACE $PATH").stdout;
    assert_eq!(kept, format!("/var/home {root} /usr/bin:/bin:/x\n"));
    // A function would run before the line.
    keep(&server, "ls() { echo mine; }; export -f ls");
    assert_eq!(keep(&server, "ls").stdout, "");

    fs::remove_dir(server.root().join("d")).unwrap();
    assert_eq!(keep(&server, "true").error_code(), Some(ErrorCode::NotFound));
    assert_eq!(bash(&server, "one", json!({"cmd": "pwd", "workdir": "."})).stdout, format!("{root}\n"));
    assert!(keep(&server, "true").ok);
}

#[test]
fn rules_see_what_is_kept() {
    let rules = "[[rule]]\ntools = [\"bash\"]\ncommands = [\"touch secret\"]\ndecision = \"deny\"\n\
                 [[rule]]\ntools = [\"bash\"]\npaths = [\"never/**\"]\ndecision = \"deny\"\n";
    let open = ToolServer::start();
    let guarded = ToolServer::builder().policy(rules).start();
    for server in [&open, &guarded] {
        fs::create_dir(server.root().join("never")).unwrap();
        fs::write(server.root().join("code"), "touch secret\n").unwrap();
    }
    for (name, before, line) in [
        ("s0", "export X=touch", "$X secret"),
        ("s1", "export X='touch secret'", "eval $X"),
        ("s2", "export BASH_ENV=$PWD/code", "true"),
        ("s3", "cd never", "touch ../secret"),
    ] {
        for server in [&open, &guarded] {
            assert!(bash(server, name, json!({"cmd": before})).ok, "{before}");
        }
        assert!(bash(&open, name, json!({"cmd": line})).ok, "{line}");
        assert!(open.root().join("secret").exists(), "the attack works: {before}; {line}");
        fs::remove_file(open.root().join("secret")).unwrap();
        let refused = bash(&guarded, name, json!({"cmd": line}));
        assert_eq!(refused.error_code(), Some(ErrorCode::ToolNotAllowed), "{before}; {line}: {refused:?}");
        assert!(!guarded.root().join("secret").exists(), "{before}; {line}");
    }
}

#[test]
fn a_yes_holds_for_what_was_kept_when_it_was_asked_for() {
    let rules = "[[rule]]\ntools = [\"bash\"]\ncommands = [\"echo *\"]\ndecision = \"ask\"\n";
    let server = ToolServer::builder().token("FAKE-caller-token").approver().policy(rules).start();
    let line = json!({"cmd": "echo $A > out"});
    let ask = || bash(&server, "one", line.clone());
    assert!(keep(&server, "export A=shown").ok);
    let asked = ask();
    assert_eq!(asked.error_code(), Some(ErrorCode::ApprovalRequired), "{asked:?}");
    let id = asked.meta.data["approval_id"].as_str().unwrap().to_owned();
    let approval = server.approval(&id);
    assert_eq!(approval["arguments"]["env"], json!({"A": "shown"}), "{approval}");
    assert!(server.decide(&id, &json!({"decision": "grant", "scope": "call"})).status < 300);
    assert!(keep(&server, "export A=other").ok);
    assert_eq!(ask().error_code(), Some(ErrorCode::ApprovalRequired), "it is another call now");
    assert!(keep(&server, "export A=shown").ok);
    assert!(ask().ok);
    assert_eq!(fs::read_to_string(server.root().join("out")).unwrap(), "shown\n");
}

#[test]
fn a_secret_that_is_kept_stays_out_of_journal_and_answers() {
    let server = ToolServer::start();
    keep(&server, "export DB_PASSWORD=FAKE-tr0ub4dor$(echo -and-3)");
    let ran = keep(&server, "test ${#DB_PASSWORD} = 20");
    assert_kept_out("FAKE-tr0ub4dor-and-3", &server, &ran);
}

#[test]
fn a_repeated_key_gets_the_first_answer_whatever_is_kept() {
    let server = ToolServer::start();
    let call = || {
        let arguments = json!({"cmd": "echo ${A-none}; export A=1", "keep_state": true});
        let request = Request::call("bash", &arguments).of_session("one");
        server.send(request.header("Idempotency-Key", "k")).envelope()
    };
    assert_eq!(call().stdout, "none\n");
    assert_eq!(call().stdout, "none\n");
}
