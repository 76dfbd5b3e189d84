//! A task that waits for a person: its time stands still, its conversation continues unchanged, and whatever
//! is killed meanwhile, the decision holds.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use harness::fake_model::results;
use harness::http::Request;
use harness::program::stdout_of;
use harness::{FakeModel, FakeTelegram, ModelReply, System, binaries, wait};
use serde_json::{Value, json};

use crate::assert_says;

const RULES: &str = "[[rule]]\ntools = [\"write\", \"delete\"]\ndecision = \"ask\"\nreason = \"it writes\"\n";

fn add(path: &str) -> Value {
    json!({"path": path, "content": "x\n", "mode": "append"})
}

/// A model that writes a file and then repeats the result.
fn writing_model() -> FakeModel {
    FakeModel::start(|request| {
        let last = request["messages"].as_array().and_then(|messages| messages.last());
        if last.is_some_and(|last| last["content"].to_string().contains("just answer")) {
            return ModelReply::text("here I am");
        }
        match results(request).pop() {
            Some(result) => ModelReply::Text(format!("I was told: {result}")),
            None => ModelReply::call("write", &add("a")),
        }
    })
}

/// Makes one call after the other, and then says that it is done.
fn model_that_calls(calls: Vec<(&'static str, Value)>) -> FakeModel {
    FakeModel::start(move |request| {
        let done = results(request).len();
        let Some((tool, arguments)) = calls.get(done) else { return ModelReply::text("done") };
        let call = (tool.to_string(), arguments.to_string());
        ModelReply::TextAndCalls(format!("step {done}"), vec![call])
    })
}

fn system(model: &FakeModel, more: &[(&str, &str)]) -> System {
    System::builder().model(model).workers(1).policy(RULES).variables(more).start()
}

/// The only call that waits, once the only task has given its worker free for the `times`th time.
fn parked(system: &System, times: usize) -> String {
    let is_parked = || system.database().events_of("task.parked") == times;
    wait::until_true("the task gives its worker free", is_parked);
    wait::until_true("it is queued", || system.database().task_states() == ["queued"]);
    system.pending_approval()
}

fn grant(system: &System, id: &str) {
    system.decide(id, &json!({"decision": "grant"}));
}

fn written(system: &System) -> String {
    fs::read_to_string(system.workspace().join("a")).unwrap_or_default()
}

fn kill(system: &mut System, victim: &str) {
    system.kill_and_continue(victim);
    system.wait_until_ready();
}

#[test]
fn a_persons_time_is_not_the_tasks_and_a_no_reaches_the_model_with_its_reason() {
    let model = writing_model();
    let system = system(&model, &[("AUTONOUS_CONTROL_MAX_WALL_TIME_SECONDS", "2")]);
    let task = system.say("write it");
    let id = system.pending_approval();
    // Far longer than the task may take: the person is slow, not the task.
    wait::out(Duration::from_secs(4));
    system.decide(&id, &json!({"decision": "grant", "by": "Ada"}));
    let reply = system.reply(&task);
    assert!(reply.contains("I was told: \\\"exit 0") || reply.contains("exit 0"), "{reply}");
    assert_eq!(written(&system), "x\n");
    let task = system.say("write it again");
    system.decide(&system.pending_approval(), &json!({"decision": "deny", "reason": "once is enough"}));
    let reply = system.reply(&task);
    assert!(reply.contains("APPROVAL_DENIED") && reply.contains("once is enough"), "{reply}");
    assert_eq!(written(&system), "x\n");
    let tree = system.shown(&["tree", "--all"]);
    for event in ["approval.requested", "approval.granted", "approval.used", "approval.denied"] {
        assert!(tree.contains(event), "{event} is not in\n{tree}");
    }
}

/// `supervisor chat` with a message, where nothing is a terminal.
fn unattended_chat(system: &System) -> Command {
    let mut chat = Command::new(binaries::path_of("supervisor"));
    chat.arg("--data-dir").arg(system.dir().data()).args(["chat", "write it", "--wait", "60"]);
    chat.env_clear().envs(system.dir().variables());
    chat.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    chat
}

#[test]
fn with_nobody_to_ask_a_call_is_refused_at_once_with_the_line_that_replays_it() {
    let model = writing_model();
    let system = system(&model, &[]);
    let output = unattended_chat(&system).output().unwrap();
    let [reply, said] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    assert_says(&said, &["`write` needs the approval of a person (it writes)", "policy.toml"]);
    assert_says(&said, &["nobody can be asked"]);
    assert_says(&reply, &["APPROVAL_REQUIRED", "curl -sS -X POST", "/tools/write"]);
    assert_eq!(written(&system), "");
    let all = system.ask_as_approver(Request::get("/approvals")).json();
    assert_eq!(all["approvals"], json!([]), "no question is open");
    // A message of a program that decides itself waits, and so does one where a chat has an approver.
    let task = system.say("write it");
    grant(&system, &system.pending_approval());
    assert!(system.reply(&task).contains("exit 0"));
}

#[test]
fn a_message_from_a_terminal_says_at_once_that_nobody_was_asked_and_how_to_decide() {
    let model = writing_model();
    let system = system(&model, &[]);
    let chat = system.terminal(&["chat", "write it"], 200);
    let said = chat.wait_for("or refuse it with", 0);
    assert_says(&said, &["`write` waits for a person's decision", "it writes", "Nobody was asked"]);
    system.shown(&["approve", approved_by(&said)]);
    chat.wait_for("I was told", 0);
    assert_eq!(chat.shown().matches("Nobody was asked").count(), 1, "it is said once");
    assert_eq!(written(&system), "x\n");
}

#[test]
fn where_a_chat_has_an_approver_an_unattended_message_waits_for_that_persons_decision() {
    let (model, telegram) = (writing_model(), FakeTelegram::start());
    let system = System::builder().model(&model).telegram(&telegram, "7").policy(RULES).start();
    let mut chat = unattended_chat(&system).spawn().unwrap();
    let mut said = BufReader::new(chat.stderr.take().unwrap()).lines().map(Result::unwrap);
    let first = said.next().unwrap();
    assert_says(&first, &["`write` waits for a person's decision", "were asked in their chats"]);
    system.shown(&["approve", approved_by(&said.next().unwrap())]);
    assert_says(&stdout_of(&chat.wait_with_output().unwrap()), &["I was told"]);
    assert_eq!((said.next(), written(&system).as_str()), (None, "x\n"));
}

/// The ID in the line that says how to allow a call.
fn approved_by(said: &str) -> &str {
    said.split("`supervisor approve ").nth(1).and_then(|rest| rest.split('`').next()).expect("a command")
}

#[test]
fn what_is_killed_while_a_task_waits_changes_nothing() {
    for victim in ["agent-worker", "tool-server", "supervisor"] {
        for with_worker in [true, false] {
            let model = writing_model();
            let mut system = system(&model, &[]);
            let task = system.say("write it");
            let id = if with_worker { system.pending_approval() } else { parked(&system, 1) };
            kill(&mut system, victim);
            assert_eq!(system.pending_approval(), id, "{victim}: the request is still the same one");
            grant(&system, &id);
            let reply = system.reply(&task);
            assert!(reply.contains("exit 0"), "{victim}: {reply}");
            assert_eq!(written(&system), "x\n", "{victim}");
        }
    }
}

#[test]
fn a_task_that_waits_for_a_person_holds_no_worker_of_another_chat() {
    let model = writing_model();
    let system = system(&model, &[]);
    let first = system.say_in("first", "write it");
    let id = system.pending_approval();
    let other = system.say_in("second", "just answer");
    assert_eq!(system.reply(&other), "here I am");
    // A later message of its own chat waits behind it.
    let behind = system.say_in("first", "/queue just answer");
    assert_says(&system.shown(&["tasks"]), &["waits for a person"]);
    let waits = |task: &Value| task["waits_for_person"].as_bool().unwrap();
    let tasks = system.shown_json(&["tasks", "--json"])["tasks"].as_array().unwrap().clone();
    assert_eq!(tasks.iter().map(waits).collect::<Vec<_>>(), [true, false, false]);
    assert_eq!(system.database().task_states(), ["queued", "done", "queued"]);
    system.decide(&id, &json!({"decision": "grant", "by": "Ada"}));
    let reply = system.reply(&first);
    assert!(reply.contains("exit 0"), "{reply}");
    assert_eq!(written(&system), "x\n");
    assert_eq!(system.reply(&behind), "here I am");
    // The model was asked once for the call and once with its result.
    let is_of_first = |request: &&Value| !request.to_string().contains("just answer");
    assert_eq!(model.requests().iter().filter(is_of_first).count(), 2);
    let claimed = "select cast(payload ->> 'attempt' as text) from events where type = 'task.claimed'";
    let claimed = format!("{claimed} and task_id = '{first}' order by seq");
    assert_eq!(system.database().texts(&claimed), ["1", "2"]);
    assert_eq!(system.database().texts("select task_id from parked"), [] as [&str; 0]);
}

#[test]
fn a_supervisor_that_ends_between_the_decision_and_the_next_attempt_finds_the_decision() {
    let model = writing_model();
    let mut system = system(&model, &[]);
    let task = system.say("write it");
    grant(&system, &parked(&system, 1));
    kill(&mut system, "supervisor");
    let reply = system.reply(&task);
    assert!(reply.contains("exit 0"), "{reply}");
    assert_eq!(written(&system), "x\n");
}

#[test]
fn a_time_that_ran_out_reaches_a_task_without_a_worker() {
    let model = writing_model();
    let system = system(&model, &[("AUTONOUS_APPROVAL_TIMEOUT_SECONDS", "5")]);
    let task = system.say("write it");
    parked(&system, 1);
    let reply = system.reply(&task);
    assert!(reply.contains("nobody decided in time"), "{reply}");
    let requests = system.database().events_of("approval.requested");
    assert_eq!(requests, 1, "the expired call is not asked for again");
    assert_eq!(written(&system), "");
}

#[test]
fn a_task_that_waits_without_a_worker_is_cancelled_and_its_question_with_it() {
    let model = writing_model();
    let system = system(&model, &[]);
    let task = system.say("write it");
    let id = parked(&system, 1);
    system.shown(&["cancel", &task]);
    assert_eq!(system.database().task_states(), ["cancelled"]);
    wait::until_true("nobody is asked any more", || {
        let asked = system.ask_as_approver(Request::get(&format!("/approvals/{id}"))).json();
        asked["state"] == "denied"
    });
    assert_eq!(system.reply(&system.say("just answer")), "here I am");
    assert_eq!(written(&system), "");
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
    kill(&mut system, "supervisor");
    grant(&system, &first);
    let second = parked(&system, 2);
    kill(&mut system, "agent-worker");
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
