//! A task that waits for a person: its time stands still, and whatever is killed meanwhile, the decision
//! holds.

use std::fs;
use std::time::Duration;

use harness::http::Request;
use harness::{FakeModel, ModelReply, System, wait};
use serde_json::{Value, json};

const RULES: &str = "[[rule]]\ntools = [\"write\"]\ndecision = \"ask\"\nreason = \"it writes\"\n";

/// A model that writes a file and then repeats what it was told.
fn writing_model() -> FakeModel {
    FakeModel::start(|request| {
        let messages = request["messages"].as_array().cloned().unwrap_or_default();
        match messages.iter().rev().find(|message| message["role"] == "tool") {
            Some(result) => ModelReply::Text(format!("I was told: {}", result["content"])),
            None => ModelReply::call("write", &json!({"path": "a", "content": "x\n", "mode": "append"})),
        }
    })
}

fn system(model: &FakeModel, more: &[(&str, &str)]) -> System {
    let builder = System::builder().model(model).workers(1);
    let config = builder.dir().write_policy(RULES);
    let builder = builder.variable("AUTONOUS_CONFIG_DIR", &config);
    more.iter().fold(builder, |builder, (name, value)| builder.variable(name, value)).start()
}

/// The only request that waits, once there is one.
fn pending(system: &System) -> String {
    let found = wait::within(wait::SOON, || {
        let all = system.ask_as_approver(Request::get("/approvals?state=pending")).json();
        Some(all["approvals"].get(0)?["id"].as_str()?.to_owned())
    });
    found.unwrap_or_else(|| panic!("nothing waits:\n{}", system.log_tail()))
}

fn decide(system: &System, id: &str, decision: &Value) {
    let decided = system.ask_as_approver(Request::post_json(&format!("/approvals/{id}"), decision)).json();
    assert_eq!(decided["id"], id, "{decided}");
}

fn written(system: &System) -> String {
    fs::read_to_string(system.workspace().join("a")).unwrap_or_default()
}

#[test]
fn a_persons_time_is_not_the_tasks_and_a_no_reaches_the_model_with_its_reason() {
    let model = writing_model();
    let system = system(&model, &[("AUTONOUS_CONTROL_MAX_WALL_TIME_SECONDS", "2")]);
    let task = system.say("write it");
    let id = pending(&system);
    // Far longer than the task may take: the person is slow, not the task.
    wait::out(Duration::from_secs(4));
    decide(&system, &id, &json!({"decision": "grant", "by": "Ada"}));
    let reply = system.reply(&task);
    assert!(reply.contains("I was told: \\\"exit 0") || reply.contains("exit 0"), "{reply}");
    assert_eq!(written(&system), "x\n");
    let task = system.say("write it again");
    decide(&system, &pending(&system), &json!({"decision": "deny", "reason": "once is enough"}));
    let reply = system.reply(&task);
    assert!(reply.contains("APPROVAL_DENIED") && reply.contains("once is enough"), "{reply}");
    assert_eq!(written(&system), "x\n");
    let tree = system.shown(&["tree", "--all"]);
    for event in ["approval.requested", "approval.granted", "approval.used", "approval.denied"] {
        assert!(tree.contains(event), "{event} is not in\n{tree}");
    }
}

/// Kills something while a task waits; then there is a yes, and the file is written once.
fn killed_while_it_waits(kill: impl FnOnce(&mut System)) {
    let model = writing_model();
    let mut system = system(&model, &[]);
    let task = system.say("write it");
    let id = pending(&system);
    kill(&mut system);
    assert_eq!(pending(&system), id, "the request is still the same one");
    decide(&system, &id, &json!({"decision": "grant"}));
    let reply = system.reply(&task);
    assert!(reply.contains("exit 0"), "{reply}");
    assert_eq!(written(&system), "x\n");
}

#[test]
fn a_worker_that_is_killed_while_it_waits_finds_the_decision_in_its_next_attempt() {
    killed_while_it_waits(|system| system.kill_child("agent-worker"));
}

#[test]
fn a_tool_server_that_is_killed_while_a_task_waits_goes_on() {
    killed_while_it_waits(|system| {
        system.kill_child("tool-server");
        system.wait_until_ready();
    });
}

#[test]
fn a_supervisor_that_is_killed_while_a_task_waits_goes_on() {
    killed_while_it_waits(|system| {
        system.kill();
        system.restart();
    });
}
