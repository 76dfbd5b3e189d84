//! Several tasks at once: no chat waits for another, and a worker that dies or hangs costs its own task
//! alone.

use std::fs;

use harness::system::direct_ls;
use harness::{FakeModel, ModelReply, Request, System, wait};
use rustix::process::Signal;
use serde_json::json;

/// A command that runs until the file `go` is in the workspace.
const HELD: &str =
    r#"/bash {"cmd": "mktemp ./held-XXXXXXXX; until [ -e go ]; do sleep 0.02; done", "timeout_seconds": 60}"#;

fn wait_until_held(system: &System, count: usize) {
    wait::until_true(&format!("{count} commands run"), || held(system) == count);
}

fn held(system: &System) -> usize {
    let files = fs::read_dir(system.workspace()).unwrap().flatten();
    files.filter(|file| file.file_name().to_string_lossy().starts_with("held-")).count()
}

fn release(system: &System) {
    fs::write(system.workspace().join("go"), "").unwrap();
}

fn state_of(system: &System, task: &str) -> Vec<String> {
    system.database().texts(&format!("select state from inbox where id = '{task}'"))
}

#[test]
fn no_chat_waits_for_anothers_command_or_backlog() {
    let system = System::builder().workers(2).start();
    let first = system.say_in("a", HELD);
    let backlog: Vec<String> = (0..20).map(|_| system.say_in("a", &direct_ls("."))).collect();
    wait_until_held(&system, 1);
    let other = system.say_in("b", &direct_ls("."));
    system.reply(&other);
    assert_eq!(state_of(&system, &first), ["in_progress"]);
    release(&system);
    backlog.iter().for_each(|task| drop(system.reply(task)));
    let in_order = "select id from inbox where chat_id = 'a' order by
                    (select seq from events where task_id = inbox.id and type = 'task.done')";
    let all: Vec<String> = std::iter::once(first).chain(backlog).collect();
    assert_eq!(system.database().texts(in_order), all);
}

#[test]
fn a_model_that_is_silent_in_one_chat_delays_no_other() {
    let model = FakeModel::start(|request| {
        let asked = request["messages"].to_string();
        if asked.contains("be silent") { ModelReply::Silent } else { ModelReply::text("Hello.") }
    });
    let system = System::builder().workers(2).model(&model).start();
    let silent = system.say_in("a", "be silent");
    wait::until_true("the model is silent", || !model.requests().is_empty());
    for _ in 0..3 {
        let other = system.say_in("b", "hello");
        assert_eq!(system.reply(&other), "Hello.");
    }
    assert_eq!(state_of(&system, &silent), ["in_progress"]);
}

#[test]
fn a_cancel_reaches_its_own_task_alone() {
    let system = System::builder().workers(3).start();
    let tasks = ["a", "b", "c"].map(|chat| system.say_in(chat, HELD));
    wait_until_held(&system, 3);
    assert_eq!(system.control(Request::post(&format!("/tasks/{}/cancel", tasks[1]), "")).status, 202);
    system.reply(&tasks[1]);
    let states = |of: [usize; 3]| of.map(|at| state_of(&system, &tasks[at]).concat());
    assert_eq!(states([0, 1, 2]), ["in_progress", "cancelled", "in_progress"]);
    release(&system);
    tasks.iter().for_each(|task| drop(system.reply(task)));
    assert_eq!(states([0, 1, 2]), ["done", "cancelled", "done"]);
}

/// A worker that answers with its text in capitals. It works on `hold` until it may go on; at its first
/// `die`, `hang` or `stall` it exits, falls silent, or only says that it lives. A line is one write, since
/// signs of life come in between.
const WORKER: &str = r#"
field() { printf '%s' "$line" | sed 's/.*"'$1'":"\{0,1\}\([^",]*\).*/\1/'; }
event() {
    n=$((n + 1))
    printf '{"type":"event","event":{"id":"%s","parent_id":null,"task_id":"%s",%s}}\n' "$n" \
        "$(field task_id)" '"type":"turn.started","time_ms":1,"payload":{}'
}
while kill -0 $$ 2>/dev/null; do echo '{"type":"heartbeat"}'; sleep 0.2; done &
signs=$!
while read -r line; do
    text=$(field text)
    case "$text" in
    hold)
        touch "$0.holds"
        until [ -e "$0.go" ]; do event; sleep 0.2; done ;;
    die | hang | stall)
        if [ ! -e "$0.$text" ]; then
            touch "$0.$text"
            [ "$text" = stall ] && exec sleep 600
            kill $signs
            [ "$text" = die ] && kill -9 $$
            exec sleep 600
        fi ;;
    esac
    printf '{"type":"result","task_id":"%s","attempt":%s,"outcome":{"status":"done","reply":"%s"}}\n' \
        "$(field task_id)" "$(field attempt)" "$(printf %s "$text" | tr a-z A-Z)"
done
kill $signs
"#;

#[test]
fn a_worker_that_dies_hangs_or_stalls_costs_its_own_task_alone() {
    let system = System::builder()
        .scripted_children(WORKER, "cat >/dev/null")
        .workers(4)
        .variable("AUTONOUS_CONTROL_MAX_WALL_TIME_SECONDS", "1")
        .start();
    let holds = system.dir().programs().join("agent-worker.holds");
    let held = system.say_in("a", "hold");
    wait::until_true("one holds", || holds.exists());
    let broken = ["die", "hang", "stall"].map(|text| system.say_in(text, text));
    let replies = broken.clone().map(|task| system.reply(&task));
    assert_eq!(replies, ["DIE", "HANG", "STALL"]);
    assert_eq!(state_of(&system, &held), ["in_progress"]);
    fs::write(system.dir().programs().join("agent-worker.go"), "").unwrap();
    assert_eq!(system.reply(&held), "HOLD");
    let attempts = system.database().texts("select text || ' ' || attempt from inbox order by seq");
    assert_eq!(attempts, ["hold 1", "die 2", "hang 2", "stall 2"]);
    let log = system.log();
    for reason in ["it was silent for 15 s", "it recorded no event for 16 s"] {
        assert!(log.contains(reason), "{reason}: {log}");
    }
}

#[test]
fn every_worker_can_be_killed_while_it_works_and_every_chat_is_answered() {
    let model = FakeModel::start(|request| {
        let messages = request["messages"].as_array().cloned().unwrap_or_default();
        if messages.iter().any(|message| message["role"] == "tool" || told_of_a_call(message)) {
            return ModelReply::text("It is done.");
        }
        let held = "mktemp ./held-XXXXXXXX; until [ -e go ]; do sleep 0.02; done";
        ModelReply::call("bash", &json!({"cmd": held, "timeout_seconds": 60}))
    });
    let system = System::builder().workers(3).model(&model).start();
    let tasks = ["a", "b", "c"].map(|chat| system.say_in(chat, "hold"));
    wait_until_held(&system, 3);
    for worker in system.children().iter().filter(|child| child.is("agent-worker")) {
        harness::signals::send(worker.pid, Signal::KILL);
    }
    for task in &tasks {
        assert_eq!(system.reply(task), "It is done.");
    }
    assert_eq!(system.database().texts("select cast(attempt as text) from inbox"), ["2", "2", "2"]);
}

/// A message in which the worker tells of the calls of an earlier attempt.
fn told_of_a_call(message: &serde_json::Value) -> bool {
    message["content"].as_str().is_some_and(|text| text.contains("[An earlier attempt"))
}
