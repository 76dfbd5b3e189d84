//! A task interrupted during a call: the next attempt reads of it, and decides for itself.

use std::fs;

use harness::{FakeModel, ModelReply, System, wait};
use serde_json::json;

use crate::assert_says;
use crate::incoming::asked;

/// A command that leaves a mark and then runs for longer than the test.
const COMMAND: &str = "echo begun >> mark.txt; sleep 300";

/// Asks for the command, unless it reads that the command was interrupted.
fn careful_model() -> FakeModel {
    FakeModel::start(|request| {
        let told = asked(request);
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
    system.restart();
}

/// Kills something while a task leaves its mark, and returns the reply.
fn reply_after(system: &mut System, task: &str, kill: impl FnOnce(&mut System)) -> String {
    let mark = system.workspace().join("mark.txt");
    let read = || fs::read_to_string(&mark).unwrap_or_default();
    wait::until_true("the command has left its mark", || read() == "begun\n");
    kill(system);
    let reply = system.reply(task);
    assert_eq!(read(), "begun\n", "it ran once");
    reply
}

fn cut_off(kill: impl FnOnce(&mut System)) {
    let model = careful_model();
    let mut system = System::builder().model(&model).workers(1).start();
    let task = system.say("leave a mark");
    assert_eq!(reply_after(&mut system, &task, kill), "I know that it was interrupted.");
    let states = "select status from tool_calls where tool_name = 'bash'";
    wait::until_true("the call is marked", || system.database().texts(states) == ["interrupted"]);
}

#[test]
fn without_a_model_an_interrupted_call_is_told_and_not_made_again() {
    let mut system = System::builder().start();
    let task = system.say(&format!("bash {}", json!({"cmd": COMMAND, "timeout_seconds": 300})));
    let reply = reply_after(&mut system, &task, kill_all);
    let told =
        ["`bash` was interrupted", "outcome is unknown", "send the message again", "begun >> mark.txt"];
    assert_says(&reply, &told);
}

#[test]
fn the_next_attempt_is_told_of_the_call_that_the_supervisor_died_in() {
    cut_off(kill_all);
}

#[test]
fn the_next_attempt_is_told_of_the_call_that_both_children_died_in() {
    cut_off(|system| {
        system.kill_child("tool-server");
        system.kill_child("agent-worker");
    });
}
