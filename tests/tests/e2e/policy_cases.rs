//! Rules and approvals case by case: each row is a rule, a call, and what becomes of it.

use std::fs;
use std::net::TcpListener;

use harness::http::{Answer, Request};
use harness::{ToolServer, ToolServerBuilder};
use protocol::{Envelope, ErrorCode};
use serde_json::{Value, json};

const CALLER: &str = "FAKE-caller-token";
const APPROVER: &str = "FAKE-approver-token";

const DENIED: Option<ErrorCode> = Some(ErrorCode::ToolNotAllowed);
const REQUIRED: Option<ErrorCode> = Some(ErrorCode::ApprovalRequired);

/// Two addresses of this machine are listed, so that rules about hosts have some.
fn builder() -> ToolServerBuilder {
    ToolServer::builder()
        .variable("AUTONOUS_FETCH_ALLOWED_HOSTS", "127.0.0.1,127.0.0.2")
        .variable("AUTONOUS_FETCH_ALLOW_PRIVATE", "true")
}

fn code(envelope: &Envelope) -> Option<ErrorCode> {
    envelope.meta.error.as_ref().map(|error| error.code)
}

fn call(server: &ToolServer, (tool, arguments): (&str, Value), session: &str) -> Option<ErrorCode> {
    code(&server.send(Request::call(tool, &arguments).header("X-Session-Id", session)).envelope())
}

/// A port of this machine without a listener.
fn silent_url(host: &str) -> String {
    let port = TcpListener::bind((host, 0)).unwrap().local_addr().unwrap().port();
    format!("http://{host}:{port}/")
}

struct Kind {
    name: &'static str,
    /// Everything of the rule but its decision.
    rule: &'static str,
    matching: (&'static str, Value),
    other: (&'static str, Value),
}

fn kind(
    name: &'static str,
    rule: &'static str,
    matching: (&'static str, Value),
    other: (&'static str, Value),
) -> Kind {
    Kind { name, rule, matching, other }
}

fn kinds() -> Vec<Kind> {
    let bash = |cmd: &str| ("bash", json!({"cmd": cmd}));
    let write = |path: &str| ("write", json!({"path": path, "content": "x"}));
    let fetch = |host: &str| ("url_fetch", json!({"url": silent_url(host), "timeout_seconds": 5}));
    vec![
        kind("a tool", "tools = [\"ls\"]", ("ls", json!({})), ("find", json!({}))),
        kind("one of several tools", "tools = [\"grep\", \"ls\"]", ("ls", json!({})), ("find", json!({}))),
        kind("a risk", "risk = [\"high\"]", write("a"), ("ls", json!({}))),
        kind("an annotation", "annotations = [\"read_only\"]", ("ls", json!({})), write("b")),
        kind(
            "an argument",
            "arguments = { mode = \"append\" }",
            ("write", json!({"path": "c", "content": "x", "mode": "append"})),
            write("d"),
        ),
        kind("one value of an argument", "arguments = { path = [\"e\", \"f\"] }", write("e"), write("g")),
        kind("a path", "paths = [\"deploy/**\"]", write("deploy/a/b"), write("deployed")),
        kind("a path with one star", "paths = [\"src/*\"]", write("src/a"), write("src/a/b")),
        kind("a command", "commands = [\"git push\"]", bash("git -C . push"), bash("git --version")),
        kind(
            "a command behind others",
            "commands = [\"sort\"]",
            bash("true && ls | sort"),
            bash("ls sort; true"),
        ),
        kind(
            "a line beyond the parser",
            "commands = [\"sort\"]",
            bash("X=so; ${X}rt /dev/null"),
            bash("true"),
        ),
        kind("a host", "hosts = [\"127.0.0.1\"]", fetch("127.0.0.1"), fetch("127.0.0.2")),
        kind("hosts by a glob", "hosts = [\"127.*.*.2\"]", fetch("127.0.0.2"), fetch("127.0.0.1")),
        kind(
            "a new host",
            "circumstances = [\"new_host\"]",
            ("url_fetch", json!({"url": "https://example.com/"})),
            fetch("127.0.0.1"),
        ),
        kind(
            "sending data",
            "circumstances = [\"sends_data\"]",
            ("url_fetch", json!({"url": silent_url("127.0.0.1"), "method": "PUT", "body": "x"})),
            fetch("127.0.0.1"),
        ),
        kind("two conditions", "tools = [\"write\"]\nrisk = [\"high\"]", write("h"), ("find", json!({}))),
    ]
}

#[test]
fn each_kind_of_rule_decides_what_it_matches_and_nothing_else() {
    for Kind { name, rule, matching, other } in kinds() {
        for (decision, expected) in [("deny", DENIED), ("ask", REQUIRED)] {
            let rules =
                format!("[[rule]]\n{rule}\ndecision = \"{decision}\"\n[[rule]]\ndecision = \"allow\"\n");
            let server = builder().policy(&rules).start();
            assert_eq!(call(&server, matching.clone(), "default"), expected, "{name}: {decision}");
            let passed = call(&server, other.clone(), "default");
            assert!(passed != DENIED && passed != REQUIRED, "{name}: {decision}: {passed:?}");
        }
    }
}

#[test]
fn rules_about_who_calls_decide_by_session_channel_and_token() {
    let rows = [
        ("a session", "sessions = [\"telegram:4711\"]", "telegram:4711", "telegram:4712"),
        ("sessions by a glob", "sessions = [\"telegram:4711:*\"]", "telegram:4711:12", "telegram:4711"),
        ("telegram", "channels = [\"telegram\"]", "telegram:1", "local:me"),
        ("local", "channels = [\"local\"]", "local:me", "default"),
        ("http", "channels = [\"http\"]", "someone", "telegram:1"),
    ];
    for (name, rule, matching, other) in rows {
        let server =
            ToolServer::builder().policy(&format!("[[rule]]\n{rule}\ndecision = \"deny\"\n")).start();
        assert_eq!(call(&server, ("ls", json!({})), matching), DENIED, "{name}");
        assert_eq!(call(&server, ("ls", json!({})), other), None, "{name}");
    }
    for (token, expected) in [("caller", [None, DENIED]), ("none", [DENIED, None])] {
        let rules = format!("[[rule]]\ntokens = [\"{token}\"]\ndecision = \"deny\"\n");
        let open = ToolServer::builder().policy(&rules).start();
        let closed = ToolServer::builder().policy(&rules).token(CALLER).start();
        let found = [&open, &closed].map(|server| call(server, ("ls", json!({})), "default"));
        assert_eq!(found, expected, "{token}");
    }
}

#[test]
fn the_order_of_rules_decides() {
    let allow = "[[rule]]\ntools = [\"ls\"]\ndecision = \"allow\"\n";
    let deny = "[[rule]]\ntools = [\"ls\"]\ndecision = \"deny\"\n";
    let ask = "[[rule]]\ntools = [\"ls\"]\ndecision = \"ask\"\n";
    let rows = [
        ("allow before deny", [allow, deny].concat(), None),
        ("deny before allow", [deny, allow].concat(), DENIED),
        ("ask before allow", [ask, allow].concat(), REQUIRED),
        ("deny before ask", [deny, ask].concat(), DENIED),
        ("nothing", String::new(), None),
        ("all, before the defaults", "[[rule]]\ndecision = \"deny\"\n".to_owned(), DENIED),
    ];
    for (name, rules, expected) in rows {
        let server = ToolServer::builder().policy(&rules).start();
        assert_eq!(call(&server, ("ls", json!({})), "default"), expected, "{name}");
    }
}

#[test]
fn the_defaults_ask_about_these_calls_and_no_others() {
    let server = builder().start();
    fs::write(server.root().join("file"), "x").unwrap();
    fs::create_dir(server.root().join("empty")).unwrap();
    let fetch = |more: Value| {
        let mut arguments = json!({"url": silent_url("127.0.0.1"), "timeout_seconds": 5});
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        ("url_fetch", arguments)
    };
    let script = json!({"skill": "none", "relative_path": "a.sh"});
    let rows = [
        ("deleting a file", ("delete", json!({"path": "file"})), true),
        ("deleting a directory", ("delete", json!({"path": "empty"})), true),
        ("a dry run of it", ("delete", json!({"path": "file", "dry_run": true})), false),
        ("a script of a skill", ("run_script", script), true),
        ("a command", ("bash", json!({"cmd": "true"})), false),
        ("one that may leave hooks", ("bash", json!({"cmd": "true", "allow_control_files": true})), true),
        ("one that says it may not", ("bash", json!({"cmd": "true", "allow_control_files": false})), false),
        ("a new file", ("write", json!({"path": "new", "content": "x"})), false),
        ("reading", ("read", json!({"path": "file"})), false),
        ("a page of a listed host", fetch(json!({})), false),
        ("a page of another host", ("url_fetch", json!({"url": "https://example.com/"})), true),
        ("sending with POST", fetch(json!({"method": "POST"})), true),
        ("sending a body", fetch(json!({"method": "PUT", "body": "x"})), true),
        ("deleting over there", fetch(json!({"method": "DELETE"})), true),
        ("a long header", fetch(json!({"headers": {"X-Note": "x".repeat(1001)}})), true),
        ("a search at a host that is not listed", ("web_search", json!({"q": "x"})), true),
    ];
    for (name, (tool, arguments), asks) in rows {
        let found = call(&server, (tool, arguments), "default");
        assert_eq!(found == REQUIRED, asks, "{name}: {found:?}");
    }
}

#[test]
fn a_skill_and_the_rules_must_both_allow_a_call() {
    let rules = "[[rule]]\ntools = [\"find\"]\ndecision = \"allow\"\n\
                 [[rule]]\ntools = [\"ls\"]\ndecision = \"deny\"\n\
                 [[rule]]\ntools = [\"write\"]\ndecision = \"ask\"\n";
    let builder =
        ToolServer::builder().policy(rules).token(CALLER).variable("AUTONOUS_TOOL_APPROVER_TOKEN", APPROVER);
    let skill = builder.dir().data().join("skills/narrow");
    fs::create_dir_all(&skill).unwrap();
    let text =
        "---\nname: narrow\ndescription: few tools\nallowed-tools: [ls, read, write, grep]\n---\nGo.\n";
    fs::write(skill.join("SKILL.md"), text).unwrap();
    let server = builder.start();
    fs::write(server.root().join("file"), "x").unwrap();
    let task = "0198c0de-0000-7000-8000-00000000000a";
    let within = |tool: &str, arguments: Value| {
        server.send(Request::call(tool, &arguments).header("X-Task-Id", task)).envelope()
    };
    let change = json!({"path": "edited", "content": "x"});
    // A yes for the task, and then the skill that has no `edit` and no `find`.
    assert_eq!(code(&within("find", json!({}))), None, "before the skill");
    assert!(within("skill", json!({"name": "narrow"})).ok);
    let rows = [
        ("the rule allows, the skill does not", "find", json!({}), DENIED),
        ("the skill allows, a rule does not", "ls", json!({}), DENIED),
        ("neither is about it", "bash", json!({"cmd": "true"}), DENIED),
        ("both allow", "read", json!({"path": "file"}), None),
        ("the skill allows, a rule asks", "write", change.clone(), REQUIRED),
    ];
    for (name, tool, arguments, expected) in rows {
        assert_eq!(code(&within(tool, arguments)), expected, "{name}");
    }
    let pending = as_approver(&server, Request::get("/approvals?state=pending")).json();
    assert_eq!(
        pending["approvals"].as_array().unwrap().len(),
        1,
        "nobody is asked about what a skill forbids"
    );
    let path = format!("/approvals/{}", pending["approvals"][0]["id"].as_str().unwrap());
    let yes = Request::post_json(&path, &json!({"decision": "grant", "scope": "task"}));
    assert_eq!(as_approver(&server, yes).status, 200);
    assert!(within("write", change).ok, "both allow it now");
    assert_eq!(
        code(&within("delete", json!({"path": "edited"}))),
        DENIED,
        "a yes for `write` is for it alone"
    );
}

fn as_approver(server: &ToolServer, request: Request) -> Answer {
    server.send(request.header("Authorization", &format!("Bearer {APPROVER}")))
}

/// The rules let it send what it likes, also to this machine: only the token is out of its reach.
#[test]
fn a_model_neither_approves_its_own_calls_nor_changes_what_was_decided() {
    let rules = "[[rule]]\ntools = [\"write\"]\ndecision = \"ask\"\n[[rule]]\ndecision = \"allow\"\n";
    let server = builder()
        .policy(rules)
        .token(CALLER)
        .variable("AUTONOUS_TOOL_APPROVER_TOKEN", APPROVER)
        .variable("AUTONOUS_TOOL_BASH_NETWORK", "all")
        .start();
    let wanted = ("write", json!({"path": "mine", "content": "x"}));
    let asked = server.call(wanted.0, &wanted.1);
    let id = asked.meta.data["approval_id"].as_str().unwrap().to_owned();
    let url = format!("http://{}/approvals/{id}", server.address());
    let yes = json!({"decision": "grant", "scope": "chat"}).to_string();
    let config = server.dir().path().join("config/policy.toml");
    let rules_before = fs::read_to_string(&config).unwrap();
    for (name, (tool, arguments)) in attempts(&server, &url, &yes) {
        let answer = server.call(tool, &arguments);
        assert_ne!(
            code(&answer),
            REQUIRED.filter(|_| tool != "write"),
            "{name}: the rules let it try: {answer:?}"
        );
        let text = serde_json::to_string(&answer).unwrap();
        if text.contains(&url) && tool == "bash" || name == "a request of a tool" {
            assert!(text.contains("UNAUTHORIZED"), "{name}: it reached the route: {text}");
        }
        assert!(!text.contains(APPROVER), "{name}: {text}");
        let state = as_approver(&server, Request::get(&format!("/approvals/{id}"))).json()["state"].clone();
        assert_eq!(state, "pending", "{name}: {answer:?}");
        assert_eq!(fs::read_to_string(&config).unwrap(), rules_before, "{name}");
        assert_eq!(call(&server, wanted.clone(), "default"), REQUIRED, "{name}");
        assert!(!server.root().join("mine").exists(), "{name}");
    }
    // The same request with the approver's token would have done it.
    let granted = as_approver(&server, Request::post(&format!("/approvals/{id}"), yes));
    assert_eq!(granted.status, 200, "{}", granted.text());
    assert_eq!(call(&server, wanted, "default"), None);
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
