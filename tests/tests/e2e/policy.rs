//! The operator's rules about calls, on a tool server alone: what they match, that they hold, and that no
//! tool can reach them.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use harness::http::Request;
use harness::tool_server::APPROVER;
use harness::{ToolServer, ToolServerBuilder};
use protocol::{Envelope, ErrorCode};
use serde_json::{Value, json};

pub(crate) fn with_rules(rules: &str) -> ToolServerBuilder {
    ToolServer::builder().policy(rules)
}

/// The same where an address of this machine may be asked.
fn with_a_listed_host(rules: &str) -> ToolServerBuilder {
    with_rules(rules)
        .variable("AUTONOUS_FETCH_ALLOWED_HOSTS", "127.0.0.1")
        .variable("AUTONOUS_FETCH_ALLOW_PRIVATE", "true")
}

const CALLER: &str = "FAKE-caller-token";

pub(crate) const DENIED: Option<ErrorCode> = Some(ErrorCode::ToolNotAllowed);
pub(crate) const REQUIRED: Option<ErrorCode> = Some(ErrorCode::ApprovalRequired);

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
        assert_eq!(envelope.error_code(), DENIED, "{line}: {envelope:?}");
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
        assert_eq!(write.error_code(), DENIED, "{path}: {write:?}");
    }
    assert_eq!(server.call("read", &json!({"path": "link/x"})).error_code(), DENIED);
    let upload = server.send(Request::put("/files?path=link/up", "y"));
    assert_eq!(upload.envelope().error_code(), DENIED);
    assert!(!root.join("deploy/a/up").exists());
    assert!(server.call("write", &json!({"path": "deployed", "content": "y"})).ok);
}

#[test]
fn rules_tell_sessions_channels_and_tokens_apart_and_the_first_decides() {
    let rules = "[[rule]]\nsessions = [\"telegram:1\"]\ntools = [\"ls\"]\ndecision = \"allow\"\n\
                 [[rule]]\nchannels = [\"telegram\"]\ndecision = \"deny\"\nreason = \"not from telegram\"\n\
                 [[rule]]\ntokens = [\"none\"]\nrisk = [\"high\"]\nannotations = [\"destructive\"]\n\
                 decision = \"deny\"\n";
    let builder = with_rules(rules);
    let server = builder.start();
    let check = |session: &str, tool: &str, arguments: Value, allowed: bool| {
        let request = Request::call(tool, &arguments).of_session(session);
        let envelope = server.send(request).envelope();
        assert_eq!(envelope.error_code() != DENIED, allowed, "{session} {tool}: {envelope:?}");
    };
    check("telegram:1", "ls", json!({}), true);
    check("telegram:1", "find", json!({}), false);
    check("telegram:2", "ls", json!({}), false);
    check("local:me", "ls", json!({}), true);
    check("default", "write", json!({"path": "a", "content": ""}), false);
    check("default", "bash", json!({"cmd": "true"}), true);
    let builder = with_rules(rules).token(CALLER);
    let server = builder.start();
    assert!(server.call("write", &json!({"path": "a", "content": ""})).ok);
}

#[test]
fn what_would_ask_is_refused_with_a_line_that_sends_it_again_where_nobody_can_be_asked() {
    let rules = "[[rule]]\ntools = [\"write\"]\ndecision = \"ask\"\nreason = \"writing\"\n";
    let server = with_rules(rules).token(CALLER).start();
    let key = "0198c0de-0000-7000-8000-000000000001";
    let arguments = json!({"path": "it's", "content": "$HOME `id`\n"});
    let send = || server.send(Request::call("write", &arguments).header("Idempotency-Key", key));
    let answer = send();
    assert_eq!(answer.status, 403);
    let envelope = answer.envelope();
    assert_eq!(envelope.error_code(), REQUIRED, "{envelope:?}");
    assert!(!server.root().join("it's").exists());
    let data = &envelope.meta.data;
    assert_eq!((&data["reason"], &data["rule"]), (&json!("writing"), &json!("policy.toml, line 1")));
    assert_eq!(data["replay"]["request"]["path"], "/tools/write");
    assert_eq!(data["replay"]["request"]["body"], arguments);
    let curl = data["replay"]["curl"].as_str().unwrap();
    let mut shell = Command::new("sh");
    let output = shell.args(["-c", curl]).env("AUTONOUS_TOOL_TOKEN", CALLER).output().unwrap();
    let again: Envelope = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(again.error_code(), REQUIRED);
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

#[test]
fn the_default_rules_ask_about_these_calls_and_no_others() {
    let server = with_a_listed_host("").start();
    fs::write(server.root().join("file"), "x").unwrap();
    fs::create_dir(server.root().join("empty")).unwrap();
    let fetch = |method: &str, host: &str| json!({"url": format!("https://{host}:8443/"), "method": method});
    let script = json!({"skill": "none", "relative_path": "a.sh"});
    let rows = [
        ("deleting a file", "delete", json!({"path": "file"}), true),
        ("deleting a directory", "delete", json!({"path": "empty"}), true),
        ("a dry run of it", "delete", json!({"path": "file", "dry_run": true}), false),
        ("a script of a skill", "run_script", script, true),
        ("a command", "bash", json!({"cmd": "true"}), false),
        ("one that may leave hooks", "bash", json!({"cmd": "true", "allow_control_files": true}), true),
        ("one that says it may not", "bash", json!({"cmd": "true", "allow_control_files": false}), false),
        ("a new file", "write", json!({"path": "new", "content": "x"}), false),
        ("reading", "read", json!({"path": "file"}), false),
        ("a page of a listed host", "url_fetch", fetch("GET", "127.0.0.1"), false),
        ("a page of another host", "url_fetch", json!({"url": "https://example.com/"}), true),
        ("sending to a listed host", "url_fetch", fetch("POST", "127.0.0.1"), true),
        ("a search at a host that is not listed", "web_search", json!({"q": "x"}), true),
    ];
    for (name, tool, arguments, asks) in rows {
        let found = server.call(tool, &arguments);
        assert_eq!(found.error_code() == REQUIRED, asks, "{name}: {found:?}");
    }
}

#[test]
fn a_skill_and_the_rules_must_both_allow_a_call() {
    let rules = "[[rule]]\ntools = [\"find\"]\ndecision = \"allow\"\n\
                 [[rule]]\ntools = [\"ls\"]\ndecision = \"deny\"\n\
                 [[rule]]\ntools = [\"write\"]\ndecision = \"ask\"\n";
    let builder = with_rules(rules).token(CALLER).approver();
    builder.dir().write_skill("narrow", "description: few tools\nallowed-tools: [ls, read, write, grep]");
    let server = builder.start();
    fs::write(server.root().join("file"), "x").unwrap();
    let task = "0198c0de-0000-7000-8000-00000000000a";
    let within = |tool: &str, arguments: Value| {
        server.send(Request::call(tool, &arguments).header("X-Task-Id", task)).envelope()
    };
    let change = json!({"path": "edited", "content": "x"});
    // A yes for the task, and then the skill that has no `edit` and no `find`.
    assert_eq!(within("find", json!({})).error_code(), None, "before the skill");
    assert!(within("skill", json!({"name": "narrow"})).ok);
    let rows = [
        ("the rule allows, the skill does not", "find", json!({}), DENIED),
        ("the skill allows, a rule does not", "ls", json!({}), DENIED),
        ("neither is about it", "bash", json!({"cmd": "true"}), DENIED),
        ("both allow", "read", json!({"path": "file"}), None),
        ("the skill allows, a rule asks", "write", change.clone(), REQUIRED),
    ];
    for (name, tool, arguments, expected) in rows {
        assert_eq!(within(tool, arguments).error_code(), expected, "{name}");
    }
    let pending = server.as_approver(Request::get("/approvals?state=pending")).json();
    let [asked] = pending["approvals"].as_array().unwrap().as_slice() else { panic!("{pending}") };
    let yes = json!({"decision": "grant", "scope": "task"});
    assert_eq!(server.decide(asked["id"].as_str().unwrap(), &yes).status, 200);
    assert!(within("write", change).ok, "both allow it now");
    let other = within("delete", json!({"path": "edited"}));
    assert_eq!(other.error_code(), DENIED, "a yes for `write` is for it alone");
}

/// The rules let it send what it likes, also to this machine: only the token is out of its reach.
#[test]
fn a_model_neither_approves_its_own_calls_nor_changes_what_was_decided() {
    let rules = "[[rule]]\ntools = [\"write\"]\ndecision = \"ask\"\n[[rule]]\ndecision = \"allow\"\n";
    let builder = with_a_listed_host(rules).token(CALLER).approver();
    let server = builder.variable("AUTONOUS_TOOL_BASH_NETWORK", "all").start();
    let wanted = || server.call("write", &json!({"path": "mine", "content": "x"}));
    let asked = wanted();
    let id = asked.meta.data["approval_id"].as_str().unwrap().to_owned();
    let url = format!("http://{}/approvals/{id}", server.address());
    let yes = json!({"decision": "grant", "scope": "chat"}).to_string();
    let config = server.dir().path().join("config/policy.toml");
    let rules_before = fs::read_to_string(&config).unwrap();
    for (name, (tool, arguments)) in attempts(&server, &url, &yes) {
        let answer = server.call(tool, &arguments);
        assert_ne!(
            answer.error_code(),
            REQUIRED.filter(|_| tool != "write"),
            "{name}: the rules let it try: {answer:?}"
        );
        let text = serde_json::to_string(&answer).unwrap();
        if text.contains(&url) && tool == "bash" || name == "a request of a tool" {
            assert!(text.contains("UNAUTHORIZED"), "{name}: it reached the route: {text}");
        }
        assert!(!text.contains(APPROVER), "{name}: {text}");
        assert_eq!(server.approval(&id)["state"], "pending", "{name}: {answer:?}");
        assert_eq!(fs::read_to_string(&config).unwrap(), rules_before, "{name}");
        assert_eq!(wanted().error_code(), REQUIRED, "{name}");
        assert!(!server.root().join("mine").exists(), "{name}");
    }
    // The same request with the approver's token would have done it.
    let granted = server.as_approver(Request::post(&format!("/approvals/{id}"), yes));
    assert_eq!(granted.status, 200, "{}", granted.text());
    assert!(wanted().ok);
}

/// What a model may try: to send `yes` to `url`, to find the token, and to change the store or the rules.
fn attempts(server: &ToolServer, url: &str, yes: &str) -> Vec<(&'static str, (&'static str, Value))> {
    let store = server.dir().data().join("journal/approvals");
    assert_eq!(fs::read_dir(&store).unwrap().count(), 1, "that is where it is kept");
    let config = server.dir().path().join("config/policy.toml");
    let [store, config] = [&store, &config].map(|path| path.display().to_string());
    let post = |headers: Value| json!({"url": url, "method": "POST", "body": yes, "headers": headers});
    let bash = |cmd: String| ("bash", json!({"cmd": cmd, "timeout_seconds": 10}));
    let curl = format!("curl -sS -m 5 -X POST {url} -H 'Content-Type: application/json' -d '{yes}'");
    vec![
        ("a request of a tool", ("url_fetch", post(json!({})))),
        ("one with a header of its own", ("url_fetch", post(json!({"Authorization": "Bearer guessed"})))),
        ("a command without a token", bash(curl.clone())),
        ("a command with the caller's token", bash(format!("{curl} -H 'Authorization: Bearer {CALLER}'"))),
        ("a search for the token", bash("cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline; env".to_owned())),
        (
            "a look at the store",
            bash(format!("cat {store}/*.json; echo '{{}}' > {store}/x.json; rm -f {store}/*")),
        ),
        ("a file tool in the store", ("write", json!({"path": format!("{store}/x.json"), "content": "{}"}))),
        ("a link to the rules", bash(format!("ln -s {config} rules; echo > rules; echo > {config}"))),
        ("a file tool on the rules", ("edit", json!({"path": config, "find": "ask", "replace": "allow"}))),
    ]
}
