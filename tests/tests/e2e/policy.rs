//! The operator's rules about calls, on a tool server alone: what they match, that they hold, and that no
//! tool can reach them.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use harness::http::Request;
use harness::{ToolServer, ToolServerBuilder};
use protocol::{Envelope, ErrorCode};
use serde_json::{Value, json};

fn with_rules(rules: &str) -> ToolServerBuilder {
    ToolServer::builder().policy(rules)
}

fn code(envelope: &Envelope) -> Option<ErrorCode> {
    envelope.meta.error.as_ref().map(|error| error.code)
}

const DENIED: Option<ErrorCode> = Some(ErrorCode::ToolNotAllowed);

#[test]
fn a_denied_command_does_not_run_however_it_is_written() {
    let rules = "[[rule]]\ntools = [\"bash\"]\ncommands = [\"touch secret\"]\ndecision = \"deny\"\n\
                 reason = \"no such file\"\n";
    let lines = [
        "touch secret",
        "A=1 touch secret",
        "(touch secret)",
        "true && /usr/bin/touch secret",
        "env -i PATH=/usr/bin:/bin touch secret",
        "sh -c 'touch secret'",
        "echo $(touch secret)",
        "X=touch; $X secret",
        "echo touch secret | sh",
        "printf 'secret' | xargs touch",
        "eval touch secret",
    ];
    let open = ToolServer::start();
    for line in lines {
        let envelope = open.call("bash", &json!({"cmd": line}));
        assert!(envelope.ok && open.root().join("secret").exists(), "the attack works: {line}: {envelope:?}");
        fs::remove_file(open.root().join("secret")).unwrap();
    }
    let server = with_rules(rules).start();
    for line in lines {
        let envelope = server.call("bash", &json!({"cmd": line}));
        assert_eq!(code(&envelope), DENIED, "{line}: {envelope:?}");
        assert!(envelope.meta.error.unwrap().message.contains("no such file"), "{line}");
        assert!(!server.root().join("secret").exists(), "{line}");
    }
    assert!(server.call("bash", &json!({"cmd": "touch other; echo touch secret"})).ok);
}

#[test]
fn a_denied_path_is_what_it_leads_to_and_not_how_it_is_written() {
    let rules = "[[rule]]\npaths = [\"deploy/**\"]\ndecision = \"deny\"\n";
    let server = with_rules(rules).start();
    let root = server.root();
    fs::create_dir_all(root.join("deploy/a")).unwrap();
    fs::write(root.join("deploy/a/x"), "x").unwrap();
    symlink("deploy/a", root.join("link")).unwrap();
    symlink("deploy/a/x", root.join("x")).unwrap();
    let absolute = root.join("deploy/a/new").display().to_string();
    for path in
        ["deploy/a/x", "./deploy/../deploy/a/x", "link/x", "x", "link/new", "deploy/new/dir/file", &absolute]
    {
        let write = server.call("write", &json!({"path": path, "content": "y", "dry_run": true}));
        assert_eq!(code(&write), DENIED, "{path}: {write:?}");
    }
    assert_eq!(code(&server.call("read", &json!({"path": "link/x"}))), DENIED);
    let upload = server.send(Request::put("/files?path=link/up", "y"));
    assert_eq!(code(&upload.envelope()), DENIED);
    assert!(!root.join("deploy/a/up").exists());
    assert!(server.call("write", &json!({"path": "deployed", "content": "y"})).ok);
}

#[test]
fn rules_tell_sessions_channels_and_tokens_apart_and_the_first_decides() {
    let rules = "[[rule]]\nsessions = [\"telegram:1\"]\ntools = [\"ls\"]\ndecision = \"allow\"\n\
                 [[rule]]\nchannels = [\"telegram\"]\ndecision = \"deny\"\nreason = \"not from telegram\"\n\
                 [[rule]]\ntokens = [\"none\"]\nrisk = [\"high\"]\ndecision = \"deny\"\n";
    let builder = with_rules(rules);
    let server = builder.start();
    let check = |session: &str, tool: &str, arguments: Value, allowed: bool| {
        let request = Request::call(tool, &arguments).header("X-Session-Id", session);
        let envelope = server.send(request).envelope();
        assert_eq!(code(&envelope) != DENIED, allowed, "{session} {tool}: {envelope:?}");
    };
    check("telegram:1", "ls", json!({}), true);
    check("telegram:1", "find", json!({}), false);
    check("telegram:2", "ls", json!({}), false);
    check("local:me", "ls", json!({}), true);
    check("default", "write", json!({"path": "a", "content": ""}), false);
    let builder = with_rules(rules).token("FAKE-caller-token");
    let server = builder.start();
    assert!(server.call("write", &json!({"path": "a", "content": ""})).ok);
}

#[test]
fn what_would_ask_is_refused_with_a_line_that_sends_it_again_where_nobody_can_be_asked() {
    let rules = "[[rule]]\ntools = [\"write\"]\ndecision = \"ask\"\nreason = \"writing\"\n";
    let server = with_rules(rules).token("FAKE-caller-token").start();
    let key = "0198c0de-0000-7000-8000-000000000001";
    let arguments = json!({"path": "it's", "content": "$HOME `id`\n"});
    let send = || server.send(Request::call("write", &arguments).header("Idempotency-Key", key));
    let answer = send();
    assert_eq!(answer.status, 403);
    let envelope = answer.envelope();
    assert_eq!(code(&envelope), Some(ErrorCode::ApprovalRequired), "{envelope:?}");
    assert!(!server.root().join("it's").exists());
    let data = &envelope.meta.data;
    assert_eq!((&data["reason"], &data["rule"]), (&json!("writing"), &json!("policy.toml, line 1")));
    assert_eq!(data["replay"]["request"]["path"], "/tools/write");
    assert_eq!(data["replay"]["request"]["body"], arguments);
    let curl = data["replay"]["curl"].as_str().unwrap();
    let mut shell = Command::new("sh");
    let output = shell.args(["-c", curl]).env("AUTONOUS_TOOL_TOKEN", "FAKE-caller-token").output().unwrap();
    let again: Envelope = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(code(&again), Some(ErrorCode::ApprovalRequired));
    assert_eq!(again.meta.data["replay"], data["replay"], "the line sent the same call");
    // The refusal was not kept as the key's answer.
    let second = send().envelope();
    assert_ne!(second.meta.call_id, envelope.meta.call_id);
}

#[test]
fn no_tool_reaches_the_rules() {
    let builder = with_rules("[[rule]]\ntools = [\"delete\"]\ndecision = \"deny\"\n");
    let config = builder.dir().path().join("config");
    for forbidden in ["config", "", "config/inner"] {
        let builder = with_rules("");
        let root = builder.dir().path().join(forbidden);
        fs::create_dir_all(&root).unwrap();
        let refusal = builder.roots(&[root]).start_refused();
        assert_eq!(refusal.status.code(), Some(78), "{forbidden}: {}", refusal.stderr);
        assert!(
            forbidden.is_empty() || refusal.stderr.contains("configuration directory"),
            "{}",
            refusal.stderr
        );
    }
    let server = builder.start();
    symlink(config.join("policy.toml"), server.root().join("rules")).unwrap();
    let file = config.join("policy.toml").display().to_string();
    let before = fs::read_to_string(config.join("policy.toml")).unwrap();
    for path in [file.as_str(), "rules", "../config/policy.toml"] {
        for (tool, arguments) in [
            ("write", json!({"path": path, "content": ""})),
            ("read", json!({"path": path})),
            ("edit", json!({"path": path, "find": "deny", "replace": "allow"})),
        ] {
            assert!(!server.call(tool, &arguments).ok, "{tool} {path}");
        }
        server.call("bash", &json!({"cmd": format!("echo > {path}; rm -f {path}")}));
        assert_eq!(fs::read_to_string(config.join("policy.toml")).unwrap(), before, "{path}");
    }
    let seen = server.call("bash", &json!({"cmd": format!("cat {file} 2>&1; true")}));
    assert!(!seen.stdout.contains("[[rule]]"), "{seen:?}");
}

#[test]
fn a_bad_rule_stops_the_start_with_its_line_and_the_command_line_says_which_rule_decides() {
    let refusal = with_rules("[[rule]]\ntools = [\"ls\", \"sl\"]\ndecision = \"deny\"\n").start_refused();
    assert_eq!(refusal.status.code(), Some(78), "{}", refusal.stderr);
    for word in ["policy.toml, line 1", "\"sl\"", "run_script"] {
        assert!(refusal.stderr.contains(word), "{word}: {}", refusal.stderr);
    }
    let rules = "[[rule]]\ncommands = [\"git push\"]\ndecision = \"deny\"\nreason = \"people push\"\n";
    let server = with_rules(rules).start();
    let check = |arguments: &[&str], expected: &str| {
        let output = server.run_command(arguments);
        let text = format!("{:?} {:?}", output.stdout, output.stderr);
        let text = text + &String::from_utf8_lossy(&output.stdout) + &String::from_utf8_lossy(&output.stderr);
        assert!(text.contains(expected), "{arguments:?}: {text}");
    };
    let test = |tool, json| ["policy", "test", tool, json];
    check(&test("bash", r#"{"cmd": "git -C . push"}"#), "policy.toml, line 1: deny (people push)");
    check(&test("bash", r#"{"cmd": "git pull"}"#), "allow (no rule is about this call)");
    check(&test("bsh", "{}"), "No such tool: `bsh`");
    check(&test("bash", "{}"), "cmd");
    check(&["policy", "list"], "policy.toml, line 1: deny (people push)");
}
