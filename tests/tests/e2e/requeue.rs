//! A task that has ended can be requeued, and is answered once more.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use harness::fake_telegram::update::{ADA, now_seconds};
use harness::{Answer, FakeModel, FakeTelegram, ModelReply, Request, System, wait};
use serde_json::{Value, json};

fn requeue(system: &System, task: &str, query: &str) -> Answer {
    system.control(Request::post(&format!("/tasks/{task}/requeue{query}"), ""))
}

fn code(answer: &Answer) -> (u16, Value) {
    (answer.status, answer.json()["error"]["code"].clone())
}

fn only_task(system: &System) -> String {
    system.database().texts("select id from inbox").remove(0)
}

/// A model that fails until it is repaired.
fn broken_model() -> (FakeModel, Arc<AtomicBool>) {
    let repaired = Arc::new(AtomicBool::new(false));
    let is_repaired = Arc::clone(&repaired);
    let model = FakeModel::start(move |_| {
        if is_repaired.load(Ordering::Relaxed) { ModelReply::text("It is done.") } else { ModelReply::Broken }
    });
    (model, repaired)
}

#[test]
fn a_requeued_dead_task_gets_exactly_one_more_reply() {
    let telegram = FakeTelegram::start();
    let (model, repaired) = broken_model();
    let builder = System::builder().telegram(&telegram, "4711").model(&model);
    let system = builder
        .variable("AUTONOUS_TASK_MAX_ATTEMPTS", "1")
        .variable("AUTONOUS_CONTROL_MAX_RETRIES", "0")
        .start();
    telegram.push(ADA.text("do it"));
    assert!(telegram.wait_for_sent(1)[0].text.contains("could not"), "{:?}", telegram.sent());
    repaired.store(true, Ordering::Relaxed);
    let answer = requeue(&system, &only_task(&system), "");
    assert_eq!((answer.status, &answer.json()["state"]), (200, &"queued".into()), "{}", answer.text());
    assert_eq!(telegram.wait_for_sent(2)[1].text, "It is done.");
    telegram.push(ADA.text("and that"));
    assert_eq!(telegram.wait_for_sent(3).len(), 3, "nothing came between");
    assert_eq!(system.database().task_states(), ["done", "done"]);
    assert_eq!(system.database().count("select attempt from inbox order by seq"), 2);
}

#[test]
fn a_done_task_is_done_twice_only_by_force() {
    let system = System::start();
    let task = system.say("ls path=.");
    system.reply(&task);
    assert_eq!(code(&requeue(&system, &task, "")), (409, "TASK_DONE".into()));
    assert_eq!(code(&requeue(&system, "no-such-task", "")), (404, "NOT_FOUND".into()));
    assert_eq!(code(&requeue(&system, &task, "?force=perhaps")), (400, "INVALID_ARGUMENT".into()));
    assert_eq!(requeue(&system, &task, "?force=true").status, 200);
    wait::until_true("it is done again", || {
        system.database().count("select attempt from inbox where state = 'done'") == 2
    });
    assert_eq!(system.database().count("select count(*) from outbox"), 2);
}

#[test]
fn a_task_that_has_not_ended_is_not_put_back() {
    let system = System::start();
    let task = system.say(r#"/bash {"cmd": "sleep 300", "timeout_seconds": 300}"#);
    assert_eq!(code(&requeue(&system, &task, "?force=true")), (409, "TASK_OPEN".into()));
    system.control(Request::post(&format!("/tasks/{task}/cancel"), ""));
    system.reply(&task);
}

#[test]
fn messages_that_were_skipped_for_their_age_can_be_run_after_all() {
    let telegram = FakeTelegram::start();
    telegram.push(ADA.text_at("ls path=old-1", now_seconds() - 3600));
    telegram.push(ADA.text_at("ls path=old-2", now_seconds() - 3600));
    let system = System::builder().telegram(&telegram, "4711").start();
    wait::until_true("both are skipped", || system.database().task_states() == ["skipped", "skipped"]);
    let many = |filter: Value| system.control(Request::post_json("/tasks/requeue", &filter));
    assert_eq!(code(&many(json!({"state": "done"}))), (409, "TASK_DONE".into()));
    assert_eq!(code(&many(json!({"state": "queued"}))), (400, "INVALID_ARGUMENT".into()));
    let none = many(json!({"state": "skipped", "chat_id": "1"})).json();
    assert_eq!(none, json!({"task_ids": [], "more": false}));
    let both = many(json!({"state": "skipped", "since_ms": 0, "chat_id": "4711"})).json();
    assert!(both["task_ids"].as_array().is_some_and(|ids| ids.len() == 2) && both["more"] == false, "{both}");
    let sent = telegram.wait_for_sent(3);
    assert!(sent[0].text.contains("2 messages came"), "{sent:?}");
    assert!(sent[1].text.contains("old-1") && sent[2].text.contains("old-2"), "{sent:?}");
}
