//! Every command that shows something: at most 80 columns whatever it shows, and JSON on request.

use harness::System;
use serde_json::Value;

/// The commands; each also takes `--json`.
const SHOWING: &[&[&str]] = &[
    &["tasks"],
    &["tasks", "--state", "dead", "--state", "done"],
    &["tree"],
    &["tree", "--all"],
    &["audit", "--refused"],
    &["audit", "--file", "notes-日本語.txt"],
    &["check"],
    &["prune", "--older-than", "30d", "--dry-run"],
];

/// The columns of a line; every character beyond Latin counts as two.
fn columns_at_most(line: &str) -> usize {
    let wide =
        |c: char| matches!(u32::from(c), 0x1100..=0x115f | 0x2e80..=0xd7a3 | 0xff00..=0xff60 | 0x1_f000..);
    line.chars().map(|c| if wide(c) { 2 } else { 1 }).sum()
}

fn system_with_an_awkward_past() -> System {
    let system = System::start();
    let long = "日本語 🚀 and a very long text that goes on and on ".repeat(8);
    for call in [
        format!(r#"/write {{"path": "notes-日本語.txt", "content": "{long}"}}"#),
        r#"/edit {"path": "notes-日本語.txt", "find": "very", "replace": "not \u001b[2J so", "all": true}"#
            .to_owned(),
        format!(r#"/read {{"path": "../../{}"}}"#, "outside/".repeat(20)),
        format!(r#"/bash {{"cmd": "sudo echo {long}"}}"#),
        format!("{long}\u{9b}2J"),
    ] {
        system.run_task(&call);
    }
    system
}

#[test]
fn no_line_is_wider_than_80_columns_or_moves_the_cursor() {
    let system = system_with_an_awkward_past();
    for arguments in SHOWING {
        let shown = system.shown(arguments);
        assert!(!shown.trim().is_empty(), "{arguments:?}");
        for line in shown.lines() {
            assert!(columns_at_most(line) <= 80, "{arguments:?}: {} columns: {line}", columns_at_most(line));
            assert!(!line.contains(char::is_control), "{arguments:?}: {line:?}");
        }
    }
}

#[test]
fn every_command_that_shows_something_gives_json() {
    let system = system_with_an_awkward_past();
    for arguments in SHOWING {
        let shown = system.shown(&[*arguments, &["--json"]].concat());
        let parsed: Result<Value, _> = serde_json::from_str(&shown);
        assert!(parsed.is_ok_and(|value| value.is_object() || value.is_array()), "{arguments:?}: {shown}");
    }
    let said = system.shown_json(&["chat", "--json", "ls path=."]);
    assert_eq!(said["status"], "done", "{said}");
    let tokens = system.shown_json(&["token", "--json"]);
    assert_eq!(tokens["tool_token"], system.tokens().tool_token.as_str());
}

#[test]
fn every_command_has_a_help_text() {
    let system = System::start();
    let overview = system.shown(&["--help"]);
    let commands = overview.lines().skip_while(|line| *line != "Commands:").skip(1);
    let commands = commands.take_while(|line| !line.is_empty());
    // A text of more than a line continues below itself.
    let begins = commands.filter_map(|line| line.strip_prefix("  ")).filter(|line| !line.starts_with(' '));
    let names = begins.filter_map(|line| line.split_whitespace().next()).collect::<Vec<_>>();
    for expected in ["tasks", "audit", "check", "prune", "backup", "requeue", "cancel", "tree"] {
        assert!(names.contains(&expected), "{names:?}");
    }
    for name in names.into_iter().filter(|name| *name != "help") {
        let help = system.shown(&[name, "--help"]);
        assert!(help.lines().next().is_some_and(|line| line.len() > 15), "{name}: {help}");
    }
}
