//! A task that waited for a person continues with its whole conversation: what it had read, wrote and was
//! shown before is there unchanged, however long the wait was and whatever was killed meanwhile.

use std::fs;

use harness::http::Request;
use harness::{FakeModel, ModelReply, System, wait};
use serde_json::{Value, json};

const RULES: &str = "[[rule]]\ntools = [\"write\", \"delete\"]\ndecision = \"ask\"\n";

/// Makes one call after the other, and then says that it is done.
fn model_that_calls(calls: Vec<(&'static str, Value)>) -> FakeModel {
    FakeModel::start(move |request| {
        let messages = request["messages"].as_array().cloned().unwrap_or_default();
        let results = messages.iter().filter(|message| message["role"] == "tool").count();
        match calls.get(results) {
            Some((tool, arguments)) => {
                let (note, call) = (format!("step {results}"), (tool.to_string(), arguments.to_string()));
                ModelReply::TextAndCalls(note, vec![call])
            }
            None => ModelReply::Text("done".to_owned()),
        }
    })
}

fn system(model: &FakeModel, more: &[(&str, &str)]) -> System {
    let builder = System::builder().model(model).workers(1);
    let config = builder.dir().write_policy(RULES);
    let builder = builder.variable("AUTONOUS_CONFIG_DIR", &config);
    more.iter().fold(builder, |builder, (name, value)| builder.variable(name, value)).start()
}

/// Waits until the only task waits without a worker, and returns what it waits for.
fn parked(system: &System, times: i64) -> String {
    let sql = "select count(*) from events where type = 'task.parked'";
    wait::until_true("the task gives its worker free", || system.database().count(sql) == times);
    wait::until_true("it is queued", || system.database().task_states() == ["queued"]);
    let all = system.ask_as_approver(Request::get("/approvals?state=pending")).json();
    all["approvals"][0]["id"].as_str().unwrap_or_else(|| panic!("nothing waits: {all}")).to_owned()
}

fn grant(system: &System, id: &str) {
    let path = format!("/approvals/{id}");
    let decided = system.ask_as_approver(Request::post_json(&path, &json!({"decision": "grant"}))).json();
    assert_eq!(decided["id"], id, "{decided}");
}

/// Each request of a task begins with the whole of the one before.
fn assert_only_grew(model: &FakeModel, expected: usize) {
    let requests = model.requests();
    assert_eq!(requests.len(), expected, "requests of the model");
    for (number, pair) in requests.windows(2).enumerate() {
        let [before, after] = [&pair[0], &pair[1]].map(|request| request["messages"].as_array().unwrap());
        assert!(after.starts_with(before), "request {}:\n{before:#?}\nbecame\n{after:#?}", number + 2);
    }
}

fn long_file(system: &System) -> String {
    let lines: String = (0..300).map(|number| format!("the line {number} of what was read\n")).collect();
    fs::write(system.workspace().join("long.txt"), &lines).unwrap();
    lines
}

fn add(path: &str) -> Value {
    json!({"path": path, "content": "x\n", "mode": "append"})
}

#[test]
fn what_was_read_before_is_still_there_after_two_waits_and_a_restart() {
    let read = ("read", json!({"path": "long.txt"}));
    let list = ("ls", json!({"path": "."}));
    let calls = vec![read, list.clone(), ("write", add("a")), list, ("write", add("b"))];
    let model = model_that_calls(calls);
    let mut system = system(&model, &[]);
    let lines = long_file(&system);
    let task = system.say("go");
    let first = parked(&system, 1);
    system.kill();
    system.restart();
    grant(&system, &first);
    let second = parked(&system, 2);
    system.kill_child("agent-worker");
    system.wait_until_ready();
    grant(&system, &second);
    assert_eq!(system.reply(&task), "done");
    assert_only_grew(&model, 6);
    let last = model.requests().last().unwrap().to_string();
    assert!(lines.lines().all(|line| last.contains(line)), "{last}");
    assert!(!last.contains("An earlier attempt"), "{last}");
    for file in ["a", "b"] {
        assert_eq!(fs::read_to_string(system.workspace().join(file)).unwrap(), "x\n", "{file}");
    }
}

#[test]
fn a_file_is_deleted_once_and_the_model_is_shown_that_it_is_gone() {
    let read = ("read", json!({"path": "long.txt"}));
    let model = model_that_calls(vec![read, ("delete", json!({"path": "long.txt"}))]);
    let system = system(&model, &[]);
    long_file(&system);
    let task = system.say("delete it");
    grant(&system, &parked(&system, 1));
    assert_eq!(system.reply(&task), "done");
    assert_only_grew(&model, 3);
    let deletes = "select count(*) from events where type = 'tool_call.completed'
                       and payload ->> 'tool_name' = 'delete'";
    assert_eq!(system.database().count(deletes), 1);
}

#[test]
fn more_calls_than_an_earlier_attempt_tells_are_there_with_their_results() {
    let read = || ("read", json!({"path": "long.txt"}));
    let mut calls: Vec<_> = std::iter::repeat_with(read).take(45).collect();
    for (number, (_, arguments)) in calls.iter_mut().enumerate() {
        arguments["start_line"] = json!(number + 1);
        arguments["limit"] = json!(20);
    }
    calls.push(("write", add("a")));
    let model = model_that_calls(calls.clone());
    let whole = system(&model, &[("AUTONOUS_CONTROL_MAX_TURNS", "60")]);
    long_file(&whole);
    let task = whole.say("go");
    grant(&whole, &parked(&whole, 1));
    assert_eq!(whole.reply(&task), "done");
    assert_only_grew(&model, 47);
}

#[test]
fn an_attempt_that_is_killed_after_the_wait_tells_what_it_did_to_the_next() {
    let calls = vec![
        ("read", json!({"path": "long.txt"})),
        ("write", add("a")),
        ("ls", json!({"path": "."})),
        ("bash", json!({"cmd": "touch begun; sleep 30"})),
    ];
    let model = model_that_calls(calls);
    let system = system(&model, &[]);
    long_file(&system);
    system.say("go");
    grant(&system, &parked(&system, 1));
    wait::until_true("the command runs", || system.workspace().join("begun").exists());
    system.kill_child("agent-worker");
    let asked = |count| wait::until_true("the model is asked", || model.requests().len() >= count);
    // The read, the write, the list, the command, and then the first request of the next attempt.
    asked(5);
    let requests = model.requests();
    let [waited, again] = [&requests[1], &requests[4]].map(|request| request["messages"].as_array().unwrap());
    assert!(again.starts_with(waited), "{again:#?}");
    let last = again.last().unwrap().to_string();
    assert!(last.contains("ls ") && last.contains("touch begun"), "{last}");
    assert!(!last.contains("- write") && !last.contains("- read"), "told twice: {last}");
    assert_eq!(fs::read_to_string(system.workspace().join("a")).unwrap(), "x\n");
}
