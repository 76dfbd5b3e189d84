//! A task interrupted during a call: the next attempt reads of it, and decides for itself.

use std::fs;

use harness::{FakeModel, ModelReply, System, wait};
use serde_json::{Value, json};

/// A command that leaves a mark and then runs for longer than the test.
const COMMAND: &str = "echo begun >> mark.txt; sleep 300";

fn last_user_text(request: &Value) -> String {
    let messages = request["messages"].as_array().cloned().unwrap_or_default();
    let is_user = |message: &&Value| message["role"] == "user";
    messages.iter().filter(is_user).map(|message| message["content"].to_string()).collect()
}

/// Asks for the command, unless it reads that the command was interrupted.
fn careful_model() -> FakeModel {
    FakeModel::start(|request| {
        let told = last_user_text(request);
        if told.contains("outcome is unknown") && told.contains("begun >> mark.txt") {
            ModelReply::Text("I know that it was interrupted.".to_owned())
        } else {
            ModelReply::call("bash", &json!({"cmd": COMMAND, "timeout_seconds": 300}))
        }
    })
}

/// Kills the tool server first: if the worker died sooner, it would still record that its caller has left.
fn kill_all(system: &mut System) {
    system.kill_child("tool-server");
    system.kill();
}

fn cut_off(kill: impl FnOnce(&mut System)) {
    let model = careful_model();
    let mut system = System::builder().model(&model).workers(1).start();
    let task = system.say("leave a mark");
    let mark = system.workspace().join("mark.txt");
    let read = || fs::read_to_string(&mark).unwrap_or_default();
    wait::until_true("the command has left its mark", || read() == "begun\n");
    kill(&mut system);
    assert_eq!(system.reply(&task), "I know that it was interrupted.");
    assert_eq!(read(), "begun\n", "it ran once");
    let states = "select status from tool_calls where tool_name = 'bash'";
    wait::until_true("the call is marked", || system.database().texts(states) == ["interrupted"]);
}

#[test]
fn without_a_model_an_interrupted_call_is_told_and_not_made_again() {
    let mut system = System::builder().start();
    let task = system.say(&format!("bash {}", json!({"cmd": COMMAND, "timeout_seconds": 300})));
    let mark = system.workspace().join("mark.txt");
    let read = || fs::read_to_string(&mark).unwrap_or_default();
    wait::until_true("the command has left its mark", || read() == "begun\n");
    kill_all(&mut system);
    system.restart();
    let reply = system.reply(&task);
    for part in
        ["`bash` was interrupted", "outcome is unknown", "send the message again", "begun >> mark.txt"]
    {
        assert!(reply.contains(part), "{part}: {reply}");
    }
    assert_eq!(read(), "begun\n", "it ran once");
}

#[test]
fn the_next_attempt_is_told_of_the_call_that_the_supervisor_died_in() {
    cut_off(|system| {
        kill_all(system);
        system.restart();
    });
}

#[test]
fn the_next_attempt_is_told_of_the_call_that_both_children_died_in() {
    cut_off(|system| {
        system.kill_child("tool-server");
        system.kill_child("agent-worker");
    });
}
