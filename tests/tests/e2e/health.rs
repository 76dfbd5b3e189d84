//! What the system knows of its own health: a part that fails is named, with what to do, and one that hangs
//! is replaced.

use std::fs;

use harness::system::direct_ls;
use harness::{FakeModel, FakeTelegram, ModelReply, Request, System, http, signals, wait};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::{assert_says, with_telegram};

fn wait_for_state(system: &System, name: &str, state: &str) -> Value {
    wait::until(&format!("{name} is {state}"), || {
        Some(system.part(name)).filter(|part| part["state"] == state)
    })
}

pub(crate) fn wait_for_detail(system: &System, name: &str, words: &str) {
    let detail = || system.part(name)["detail"].to_string();
    wait::until_true(&format!("{name} says {words}"), || detail().contains(words));
}

/// A part that failed says since when and what to do, and the system is not ready.
fn assert_failed(system: &System, name: &str, words: &str) {
    let part = wait_for_state(system, name, "failed");
    assert_says(&part["detail"].to_string(), &[words]);
    assert!(part["since_ms"].as_i64().is_some_and(|since| since > 0), "{part}");
    assert!(part["remedy"].is_string(), "{part}");
    assert_eq!(system.readyz().status, 503, "{part}");
}

#[test]
fn every_part_of_a_healthy_system_is_told() {
    let (_telegram, system) = with_telegram();
    system.run_task(&direct_ls("."));
    wait_for_detail(&system, "telegram", "answers as");
    for (name, words) in [
        ("database", "takes changes"),
        ("journal", "read"),
        ("tool_server", "answers"),
        ("commands", "tier"),
        ("workers", "4 of 4"),
        ("telegram", "1 chats allowed"),
        ("model", "answered"),
        ("disk", "MiB free"),
    ] {
        assert_says(&system.part(name)["detail"].to_string(), &[words]);
    }
    assert_eq!(system.readyz().status, 200);
}

#[test]
fn a_tool_server_that_hangs_is_replaced_and_its_calls_are_told_as_interrupted() {
    let model = FakeModel::start(|request| {
        let messages = request["messages"].to_string();
        if messages.contains("\"tool\"") || messages.contains("interrupted") {
            return ModelReply::Text("It is done.".to_owned());
        }
        ModelReply::call("bash", &json!({"cmd": "mktemp ./begun-XXXXXXXX; sleep 40", "timeout_seconds": 60}))
    });
    let system = System::builder().workers(2).model(&model).start();
    let tasks = ["a", "b"].map(|chat| system.say_in(chat, "go"));
    wait::until_true("both commands run", || fs::read_dir(system.workspace()).unwrap().count() == 2);
    let hung = system.child("tool-server").pid;
    signals::send(hung, Signal::STOP);
    wait::until_true("it is replaced", || system.child("tool-server").pid != hung);
    for task in &tasks {
        assert_eq!(system.reply(task), "It is done.");
    }
    let interrupted = "select count(*) from tool_calls where status = 'interrupted'";
    assert_eq!(system.database().count(interrupted), 2);
    system.until_logged("gave no answer for 15 s");
}

#[test]
fn a_database_that_was_taken_away_is_noticed() {
    let mut system = System::start();
    let file = system.dir().data().join("db/autonous.db");
    let kept = system.dir().data().join("db/kept.db");
    fs::rename(&file, &kept).unwrap();
    assert_failed(&system, "database", "was removed or replaced");
    fs::rename(&kept, &file).unwrap();
    wait_for_state(&system, "database", "ok");
    system.stop();
}

#[test]
fn a_token_that_telegram_rejects_makes_it_unready() {
    let telegram = FakeTelegram::start();
    let builder = System::builder().telegram(&telegram, "4711");
    let system = builder.variable("AUTONOUS_TELEGRAM_TOKEN", "999:wrong").start_unready();
    assert_failed(&system, "telegram", "401");
}

#[test]
fn a_model_that_fails_makes_it_unready_until_it_answers() {
    let model = FakeModel::answering(vec![ModelReply::Broken, ModelReply::Text("Hello.".to_owned())]);
    let builder = System::builder().model(&model).variable("AUTONOUS_CONTROL_MAX_RETRIES", "0");
    let system = builder.variable("AUTONOUS_TASK_MAX_ATTEMPTS", "1").start();
    assert_says(&system.part("model")["detail"].to_string(), &["not asked yet"]);
    system.run_task("hello");
    assert_failed(&system, "model", "the last request failed");
    system.run_task("hello");
    wait_for_state(&system, "model", "ok");
    assert_eq!(system.readyz().status, 200);
}

#[test]
fn no_worker_that_works_makes_it_unready() {
    let system = System::builder().scripted_children("exit 3", "cat >/dev/null").workers(2).start();
    assert_failed(&system, "workers", "0 of 2 ready");
}

#[test]
fn the_status_has_settings_and_counts_but_no_secret_and_needs_the_token() {
    let model = FakeModel::answering(vec![ModelReply::Text("Hello.".to_owned())]);
    let system = System::builder()
        .model(&model)
        .workers(2)
        .variable("AUTONOUS_TOOL_ENV", "PASSED=private,NAMED")
        .variable("NAMED", "private")
        .start();
    let status = system.control(Request::get("/status"));
    let body = status.json();
    assert_eq!(body["settings"]["AUTONOUS_WORKERS"], "2", "{body}");
    assert_eq!(body["settings"]["AUTONOUS_TOOL_ENV"], "PASSED,NAMED", "{body}");
    assert_eq!(body["counts"]["tasks"], json!({"queued": 0, "in_progress": 0, "dead": 0}), "{body}");
    for secret in ["private", harness::fake_model::KEY, &system.tokens().control_token] {
        assert!(!status.text().contains(secret), "{}", status.text());
    }
    let address = http::address_of(&system.tokens().control_url);
    assert_eq!(Request::get("/status").send(address).status, 401);
}
