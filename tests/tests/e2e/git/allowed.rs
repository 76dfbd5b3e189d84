//! Commands that may leave what other programs execute: a person or a rule allows each, and it stays.

use std::fs;
use std::thread;

use harness::corpus::Mode;
use harness::{Request, ToolServerBuilder, wait};
use protocol::{Envelope, ErrorCode};
use serde_json::{Value, json};

use super::operator::Operator;
use crate::assert_says;

const HOOK: &str = "printf '#!/bin/sh\\ntouch ../hooked\\n' > r/.git/hooks/pre-commit && \
                    chmod +x r/.git/hooks/pre-commit";

fn operator(mode: Mode, more: impl FnOnce(ToolServerBuilder) -> ToolServerBuilder) -> Operator {
    let operator = Operator::beside(more(mode.builder()).start(), mode);
    operator.shell(&operator.server.root(), "git init -q r && cd r && git commit -q --allow-empty -m m");
    operator
}

fn arguments(line: &str) -> Value {
    json!({"cmd": line, "allow_control_files": true})
}

/// Asks, says yes, and calls again.
fn approved(operator: &Operator, line: &str) -> Envelope {
    let asked = operator.server.call("bash", &arguments(line));
    assert_eq!(asked.error_code(), Some(ErrorCode::ApprovalRequired), "{asked:?}");
    let id = asked.meta.data["approval_id"].as_str().unwrap();
    let shown = operator.server.approval(id);
    assert_eq!(shown["reason"], "it may leave files that other programs execute");
    let first = format!("runs `{}`", line.split(' ').next().unwrap());
    let parts = ["may leave or change what other programs execute", &first];
    assert_says(shown["preview"].as_str().unwrap(), &parts);
    let yes = operator.server.decide(id, &json!({"decision": "grant"}));
    assert_eq!(yes.status, 200, "{}", yes.text());
    operator.server.call("bash", &arguments(line))
}

#[test]
fn after_a_yes_what_the_command_left_stays_and_is_listed() {
    for mode in [Mode::TierA, Mode::TierBAsOrdinaryUser] {
        let operator = operator(mode, ToolServerBuilder::approver);
        let root = operator.server.root();
        let hook = root.join("r/.git/hooks/pre-commit");
        // Without the argument it is taken back.
        assert!(operator.command(&root, HOOK).ok);
        assert!(!hook.exists());
        let ran = approved(&operator, HOOK);
        assert!(ran.ok, "{ran:?}");
        let left = ran.meta.data["created_control_files"].as_array().unwrap();
        assert_eq!((&left[0]["path"], &left[0]["taken_back"]), (&json!(hook), &json!(false)), "{left:?}");
        assert!(ran.meta.notices.join("\n").contains("Left for other programs to execute"), "{ran:?}");
        // It is the operator's now: later commands leave it alone, and git runs it.
        assert!(operator.command(&root, "true").meta.data["created_control_files"] == json!([]));
        operator.shell(&root, "cd r && git commit -q --allow-empty -m two");
        assert!(root.join("hooked").exists());
        // An ordinary command cannot change it and have that stay (in tier B, the whole hook is taken back);
        // one that may, can.
        if mode == Mode::TierA {
            operator.command(&root, "echo 'touch ../other' >> r/.git/hooks/pre-commit");
        }
        let ran = approved(&operator, "sed -i s/hooked/changed/ r/.git/hooks/pre-commit");
        assert!(ran.ok, "{ran:?}");
        operator.shell(&root, "cd r && git commit -q --allow-empty -m three");
        assert!(root.join("changed").exists() && !root.join("other").exists());
        // A yes is for one call.
        let again = operator.server.call("bash", &arguments(HOOK));
        assert_eq!(again.error_code(), Some(ErrorCode::ApprovalRequired));
    }
}

#[test]
fn what_may_stay_outlives_a_killed_server() {
    let mut operator = operator(Mode::TierA, ToolServerBuilder::approver);
    let root = operator.server.root();
    let hook = root.join("r/.git/hooks/pre-commit");
    assert!(approved(&operator, HOOK).ok);
    let (address, body) = (operator.server.address(), json!({"cmd": "touch begun && sleep 60"}));
    let call = thread::spawn(move || Request::call("bash", &body).try_send(address).is_ok());
    wait::until_true("the next command runs", || root.join("begun").exists());
    operator.server.crash(|_| ());
    let _ = call.join();
    assert!(operator.command(&root, "true").ok);
    assert!(hook.exists());
}

#[test]
fn without_a_yes_nothing_runs_and_rules_can_say_yes_or_no() {
    let rule = |decision: &str| {
        format!(
            "[[rule]]\ntools = [\"bash\"]\narguments = {{ allow_control_files = true }}\n\
             commands = [\"chmod\", \"printf\"]\ndecision = \"{decision}\"\nreason = \"hooks\"\n"
        )
    };
    for (rules, approver, expected) in [
        (String::new(), false, Some(ErrorCode::ApprovalRequired)),
        (String::new(), true, Some(ErrorCode::ApprovalRequired)),
        (rule("deny"), true, Some(ErrorCode::ToolNotAllowed)),
        // It writes a file by a redirection, which no list of commands can judge.
        (rule("allow"), true, Some(ErrorCode::ApprovalRequired)),
    ] {
        let more = |builder: ToolServerBuilder| {
            let builder = if approver { builder.approver() } else { builder };
            builder.policy(&rules)
        };
        let operator = operator(Mode::TierA, more);
        let refused = operator.server.call("bash", &arguments(HOOK));
        assert_eq!(refused.error_code(), expected, "{rules}");
        let data = &refused.meta.data;
        assert_eq!(data["approval_id"].is_string(), approver && data["replay"].is_object());
        assert!(!operator.server.root().join("r/.git/hooks/pre-commit").exists());
    }
    let operator = operator(Mode::TierA, |builder| builder.policy(&rule("allow")));
    let root = operator.server.root();
    operator.shell(&root, "printf '#!/bin/sh\\n' > r/.git/hooks/pre-push");
    let ran = operator.server.call("bash", &arguments("chmod +x r/.git/hooks/pre-push"));
    assert!(ran.ok, "{ran:?}");
    assert!(ran.meta.data["created_control_files"].to_string().contains("pre-push"), "{ran:?}");
}

#[test]
fn it_runs_alone_so_that_nothing_of_another_command_stays() {
    let operator = operator(Mode::TierA, |builder| builder.policy("[[rule]]\ndecision = \"allow\"\n"));
    let root = operator.server.root();
    let address = operator.server.address();
    let line = "touch begun; git -C r config core.pager evil; until test -e go; do sleep 0.05; done; \
                sleep 0.5; test ! -e alone";
    let begin = |body: Value| thread::spawn(move || Request::call("bash", &body).send(address).envelope());
    let other = begin(json!({"cmd": line}));
    wait::until_true("the other command runs", || root.join("begun").exists());
    let allowed = begin(arguments("touch alone; git -C r config core.editor mine"));
    let journal = operator.server.dir().journal();
    wait::until_true("the call is there", || fs::read_to_string(&journal).unwrap().contains("touch alone"));
    // It waits: the other one does not see it while it runs.
    fs::write(root.join("go"), "").unwrap();
    let (other, allowed) = (other.join().unwrap(), allowed.join().unwrap());
    assert!(other.ok && allowed.ok, "{other:?} {allowed:?}");
    assert!(other.meta.data["created_control_files"].to_string().contains("core.pager"));
    let config = fs::read_to_string(root.join("r/.git/config")).unwrap();
    assert!(config.contains("editor = mine") && !config.contains("pager"), "{config}");
    // One that cannot be alone within its time is not run.
    fs::remove_file(root.join("go")).unwrap();
    fs::remove_file(root.join("begun")).unwrap();
    let other = begin(json!({"cmd": "touch begun; until test -e go; do sleep 0.05; done"}));
    wait::until_true("the other command runs", || root.join("begun").exists());
    let body = json!({"cmd": "touch late", "allow_control_files": true, "timeout_seconds": 1});
    let busy = operator.server.call("bash", &body);
    fs::write(root.join("go"), "").unwrap();
    assert!(other.join().unwrap().ok);
    assert!(!busy.ok && !root.join("late").exists(), "{busy:?}");
}
