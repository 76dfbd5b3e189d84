//! `supervisor audit`: what changed this file, what did this task run, which calls were refused.

use std::fs;

use harness::{System, wait};
use serde_json::Value;

use crate::{ASKS_ABOUT_WRITE, assert_says, short};

fn json(system: &System, arguments: &[&str]) -> Vec<Value> {
    let output = system.shown_json(&[&["audit", "--json"], arguments].concat());
    output.as_array().expect("--json prints an array").clone()
}

/// A file is made, read, changed and, with a dry run, not changed; three calls are refused.
struct Done {
    system: System,
    made: String,
    changed: String,
    refused: String,
}

fn system_with_a_past() -> Done {
    let system = System::start();
    let made = system.run_task(r#"/write {"path": "notes/todo.txt", "content": "one\ntwo\n"}"#);
    system.run_task("read path=notes/todo.txt");
    let changed = system.run_task(r#"/edit {"path": "notes/todo.txt", "find": "two", "replace": "three"}"#);
    system.run_task(r#"/edit {"path": "notes/todo.txt", "find": "one", "replace": "1", "dry_run": true}"#);
    system.run_task(r#"/write {"path": "other.txt", "content": "x"}"#);
    let refused = system.run_task("read path=../../tokens");
    system.run_task(r#"/bash {"cmd": "sudo id"}"#);
    system.run_task("read path=missing.txt");
    Done { system, made, changed, refused }
}

#[test]
fn a_file_is_traced_to_the_calls_and_tasks_that_changed_it() {
    let Done { mut system, made, changed, .. } = system_with_a_past();
    let path = fs::canonicalize(system.workspace().join("notes/todo.txt")).unwrap();
    let calls = json(&system, &["--file", &path.display().to_string()]);
    let told =
        |call: &Value| ["/task_id", "/tool_name", "/end/operation"].map(|at| call.pointer(at).cloned());
    let expected = |words: [&str; 3]| words.map(|word| Some(Value::from(word)));
    assert_eq!(told(&calls[0]), expected([&made, "write", "create"]));
    assert_eq!(told(&calls[1]), expected([&changed, "edit", "update"]));
    assert_eq!(calls.len(), 2, "{calls:?}");
    assert_eq!(calls[0]["end"]["sha256_after"], calls[1]["end"]["sha256_before"], "the hashes form a chain");
    system.stop();
    // By the end of its path alone, while no call runs, and for people.
    let table = system.shown(&["audit", "--file", "notes/todo.txt"]);
    assert_says(&table, &["create", "update", "-two", "+three", short(&changed)]);
    assert!(!table.contains("other.txt"), "{table}");
    assert!(system.shown(&["audit", "--file", "never.txt"]).contains("No matching calls"));
}

#[test]
fn all_calls_are_told_and_narrowed_by_time_tool_and_chat() {
    let Done { system, .. } = system_with_a_past();
    let tools = |arguments: &[&str]| -> Vec<String> {
        let calls = json(&system, arguments);
        calls.iter().map(|call| call["tool_name"].as_str().unwrap().to_owned()).collect()
    };
    let all = ["write", "read", "edit", "edit", "write", "read", "bash", "read"];
    assert_eq!(tools(&["--since", "7d"]), all);
    assert_eq!(tools(&[]), all);
    assert_eq!(tools(&["--tool", "edit"]), ["edit", "edit"]);
    assert_eq!(tools(&["--tool", "read", "--refused"]), ["read"]);
    let session = json(&system, &[])[0]["session_id"].as_str().unwrap().to_owned();
    let (_, chat) = session.split_once(':').unwrap();
    for given in [session.as_str(), chat] {
        assert_eq!(tools(&["--chat", given]), all, "{given}");
    }
    assert_eq!(tools(&["--chat", "telegram:7"]), [""; 0]);
    assert_says(&system.shown(&["audit", "--since", "7d"]), &["write", "create", "PATH_OUTSIDE_ROOTS"]);
    let told = |since: &str| system.shown_json(&["tasks", "--since", since, "--json"])["tasks"].clone();
    assert_eq!(told("1h").as_array().unwrap().len(), 8);
    let both = system.run_command(&["audit", "--file", "a", "--refused"]);
    assert!(String::from_utf8_lossy(&both.stderr).contains("cannot be used with"), "{both:?}");
}

#[test]
fn refused_calls_are_told_with_their_reason_and_failures_are_not() {
    let Done { system, refused, .. } = system_with_a_past();
    let codes: Vec<Value> =
        json(&system, &["--refused"]).iter().map(|call| call["end"]["error_code"].clone()).collect();
    assert_eq!(codes, ["PATH_OUTSIDE_ROOTS", "COMMAND_DENIED"]);
    let table = system.shown(&["audit", "--refused", "--since", "1h"]);
    assert_says(&table, &[short(&refused), "PATH_OUTSIDE_ROOTS", "sudo"]);
}

#[test]
fn a_task_is_told_by_all_that_it_ran() {
    let Done { system, changed, .. } = system_with_a_past();
    let calls = json(&system, &["--task", short(&changed)]);
    assert_eq!(calls.len(), 1, "{calls:?}");
    assert_eq!((&calls[0]["status"], &calls[0]["arguments"]["find"]), (&"done".into(), &"two".into()));
}

/// Waits until a call waits for a person; returns the end of its approval's ID.
pub(crate) fn asked(system: &System) -> String {
    let id = wait::until("a person is asked", || {
        let listed = system.shown_json(&["approvals", "--json"]);
        listed["approvals"][0]["id"].as_str().map(str::to_owned)
    });
    short(&id).to_owned()
}

#[test]
fn a_call_that_waited_for_a_yes_is_told_with_who_decided_and_is_not_refused() {
    let system = System::builder().policy(ASKS_ABOUT_WRITE).start();
    let write = |path: &str| system.say(&format!(r#"/write {{"path": "{path}", "content": "x"}}"#));
    let granted = write("a.txt");
    let id = asked(&system);
    assert_says(&system.shown(&["audit", "--decision", "waits"]), &["a.txt", "waits"]);
    system.shown(&["approve", &id]);
    system.reply(&granted);
    let denied = write("b.txt");
    system.shown(&["deny", &asked(&system), "--reason", "we need it"]);
    system.reply(&denied);

    let codes = |arguments: &[&str]| -> Vec<(Value, Value)> {
        let calls = json(&system, arguments);
        calls.iter().map(|call| (call["task_id"].clone(), call["approval"]["decision"].clone())).collect()
    };
    let of = |task: &str, decision: &str| (Value::from(task), Value::from(decision));
    // What waited, and what ran then.
    let yes = [of(&granted, "granted"), of(&granted, "granted")];
    assert_eq!(codes(&["--decision", "granted"]), yes);
    assert!(codes(&["--decision", "denied"]).iter().all(|call| *call == of(&denied, "denied")));
    assert!(!codes(&["--decision", "denied"]).is_empty() && codes(&["--decision", "waits"]).is_empty());
    let refused = codes(&["--refused"]);
    assert!(!refused.is_empty() && refused.iter().all(|call| *call == of(&denied, "denied")), "{refused:?}");
    let told = ["waited: granted", "granted by the command line at 20", "denied by the command line at 20"];
    assert_says(&system.shown(&["audit"]), &told);
    let decided = system.shown(&["approvals", "--decided"]);
    let told = ["write", "granted by the command line at 20", " UTC: we need it", "denied by"];
    assert_says(&decided, &told);
    assert!(!decided.contains("Decide with"), "{decided}");
    write("c.txt");
    let waiting = asked(&system);
    assert!(!system.shown(&["approvals", "--decided"]).contains(&waiting));
    assert_says(&system.shown(&["approvals", "--all"]), &[&waiting, "granted by the command line"]);
}
