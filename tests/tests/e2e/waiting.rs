//! A task that waits for a person: its time stands still, and whatever is killed meanwhile, the decision
//! holds.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use harness::http::Request;
use harness::{FakeModel, ModelReply, System, binaries, wait};
use serde_json::{Value, json};

use crate::assert_says;

const RULES: &str = "[[rule]]\ntools = [\"write\"]\ndecision = \"ask\"\nreason = \"it writes\"\n";

/// A model that writes a file and then repeats the result.
fn writing_model() -> FakeModel {
    FakeModel::start(|request| {
        let messages = request["messages"].as_array().cloned().unwrap_or_default();
        let said = |message: &Value| message["content"].to_string().contains("just answer");
        if messages.last().is_some_and(said) {
            return ModelReply::Text("here I am".to_owned());
        }
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

#[test]
fn a_message_from_the_command_line_says_at_once_that_nobody_was_asked_and_how_to_decide() {
    let model = writing_model();
    let system = system(&model, &[]);
    let mut chat = Command::new(binaries::path_of("supervisor"))
        .arg("--data-dir")
        .arg(system.dir().data())
        .args(["chat", "write it", "--wait", "60"])
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(chat.stderr.take().unwrap()).lines().map(Result::unwrap);
    let first = said.next().unwrap();
    assert_says(&first, &["`write` waits for a person's decision", "it writes", "Nobody was asked"]);
    let how = said.next().unwrap();
    let words: Vec<&str> = how.split('`').nth(1).expect("a command").split(' ').skip(1).collect();
    assert_eq!(words[0], "approve", "{how}");
    system.shown(&words);
    let output = chat.wait_with_output().unwrap();
    assert!(output.status.success() && String::from_utf8(output.stdout).unwrap().contains("I was told"));
    assert_eq!(said.next(), None, "it is said once");
    assert_eq!(written(&system), "x\n");
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

/// Waits until the only task waits without a worker.
fn parked(system: &System) {
    let is_parked = || system.database().has_event("task.parked");
    wait::until_true("the task gives its worker free", is_parked);
    wait::until_true("it is queued", || system.database().task_states() == ["queued"]);
}

#[test]
fn a_task_that_waits_for_a_person_holds_no_worker_of_another_chat() {
    let model = writing_model();
    let system = system(&model, &[]);
    let first = system.say_in("first", "write it");
    let id = pending(&system);
    let other = system.say_in("second", "just answer");
    assert_eq!(system.reply(&other), "here I am");
    // A later message of its own chat waits behind it.
    let behind = system.say_in("first", "just answer");
    assert_says(&system.shown(&["tasks"]), &["waits for a person"]);
    let waits = |task: &Value| task["waits_for_person"].as_bool().unwrap();
    let tasks = system.shown_json(&["tasks", "--json"])["tasks"].as_array().unwrap().clone();
    assert_eq!(tasks.iter().map(waits).collect::<Vec<_>>(), [true, false, false]);
    assert_eq!(system.database().task_states(), ["queued", "done", "queued"]);
    decide(&system, &id, &json!({"decision": "grant", "by": "Ada"}));
    let reply = system.reply(&first);
    assert!(reply.contains("exit 0"), "{reply}");
    assert_eq!(written(&system), "x\n");
    assert_eq!(system.reply(&behind), "here I am");
    // The model was asked once for the call and once with its result.
    let is_of_first = |request: &&Value| !request.to_string().contains("just answer");
    assert_eq!(model.requests().iter().filter(is_of_first).count(), 2);
    let claimed = format!(
        "select cast(payload ->> 'attempt' as text) from events where type = 'task.claimed'
                           and task_id = '{first}' order by seq"
    );
    assert_eq!(system.database().texts(&claimed), ["1", "2"]);
    assert_eq!(system.database().texts("select task_id from parked"), [] as [&str; 0]);
}

#[test]
fn what_is_killed_while_a_task_waits_without_a_worker_changes_nothing() {
    for victim in ["agent-worker", "tool-server", "supervisor"] {
        let model = writing_model();
        let mut system = system(&model, &[]);
        let task = system.say("write it");
        let id = pending(&system);
        parked(&system);
        match victim {
            "supervisor" => {
                system.kill();
                system.restart();
            }
            child => {
                system.kill_child(child);
                system.wait_until_ready();
            }
        }
        assert_eq!(pending(&system), id, "{victim}");
        decide(&system, &id, &json!({"decision": "grant"}));
        let reply = system.reply(&task);
        assert!(reply.contains("exit 0"), "{victim}: {reply}");
        assert_eq!(written(&system), "x\n", "{victim}");
    }
}

#[test]
fn a_supervisor_that_ends_between_the_decision_and_the_next_attempt_finds_the_decision() {
    let model = writing_model();
    let mut system = system(&model, &[]);
    let task = system.say("write it");
    let id = pending(&system);
    parked(&system);
    decide(&system, &id, &json!({"decision": "grant"}));
    system.kill();
    system.restart();
    let reply = system.reply(&task);
    assert!(reply.contains("exit 0"), "{reply}");
    assert_eq!(written(&system), "x\n");
}

#[test]
fn a_no_and_a_time_that_ran_out_reach_a_task_without_a_worker() {
    let model = writing_model();
    let denied = system(&model, &[]);
    let task = denied.say("write it");
    let id = pending(&denied);
    parked(&denied);
    decide(&denied, &id, &json!({"decision": "deny", "reason": "not today"}));
    let reply = denied.reply(&task);
    assert!(reply.contains("APPROVAL_DENIED") && reply.contains("not today"), "{reply}");

    let expired = system(&model, &[("AUTONOUS_APPROVAL_TIMEOUT_SECONDS", "5")]);
    let task = expired.say("write it");
    parked(&expired);
    let reply = expired.reply(&task);
    assert!(reply.contains("nobody decided in time"), "{reply}");
    let requests = "select count(*) from events where type = 'approval.requested'";
    assert_eq!(expired.database().count(requests), 1, "the expired call is not asked for again");
    assert_eq!([written(&denied), written(&expired)], ["", ""]);
}

#[test]
fn a_task_that_waits_without_a_worker_is_cancelled_and_its_question_with_it() {
    let model = writing_model();
    let system = system(&model, &[]);
    let task = system.say("write it");
    let id = pending(&system);
    parked(&system);
    assert!(system.run_command(&["cancel", &task]).status.success());
    assert_eq!(system.database().task_states(), ["cancelled"]);
    wait::until_true("nobody is asked any more", || {
        let asked = system.ask_as_approver(Request::get(&format!("/approvals/{id}"))).json();
        asked["state"] == "denied"
    });
    assert_eq!(system.reply(&system.say("just answer")), "here I am");
    assert_eq!(written(&system), "");
}
