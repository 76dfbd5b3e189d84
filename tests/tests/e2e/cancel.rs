//! Cancelling: running work stops, waiting work is dropped, and a repeated request changes nothing.

use harness::fake_telegram::texts;
use harness::fake_telegram::update::ADA;
use harness::{Answer, Request, System, leftovers, wait};

use crate::with_telegram;

const LONG: &str = r#"/bash {"cmd": "sleep 300", "timeout_seconds": 300}"#;

fn cancel(system: &System, task: &str) -> Answer {
    system.control(Request::post(&format!("/tasks/{task}/cancel"), ""))
}

fn is_sleeping(system: &System) -> bool {
    leftovers::processes_of(system.dir()).iter().any(|process| process.command.contains("sleep 300"))
}

fn wait_until_sleeping(system: &System) {
    wait::until_true("the command runs", || is_sleeping(system));
}

#[test]
fn a_running_command_is_stopped_and_the_reply_says_what_was_done() {
    let system = System::start();
    let task = system.say(LONG);
    wait_until_sleeping(&system);
    let answer = cancel(&system, &task);
    assert_eq!((answer.status, &answer.json()["state"]), (202, &"cancelling".into()), "{}", answer.text());
    let reply = system.reply(&task);
    assert!(reply.contains("bash"), "{reply}");
    assert_eq!(system.database().task_states(), ["cancelled"]);
    let by = "select payload ->> 'by' from events where type = 'task.cancelled'";
    assert_eq!(system.database().texts(by), ["control"]);
    wait::until_true("the command is gone", || !is_sleeping(&system));
    assert!(system.reply(&system.say("ls path=.")).contains("exit 0"), "the next task runs");
}

#[test]
fn a_task_that_waits_is_cancelled_at_once_and_an_ended_one_cannot_be() {
    let system = System::start();
    let first = system.say(LONG);
    let second = system.say("ls path=.");
    wait_until_sleeping(&system);
    let answer = cancel(&system, &second);
    assert_eq!((answer.status, &answer.json()["state"]), (200, &"cancelled".into()), "{}", answer.text());
    assert!(system.reply(&second).contains("before anything was done"));
    let again = cancel(&system, &second);
    assert_eq!((again.status, &again.json()["error"]["code"]), (409, &"TASK_ENDED".into()));
    let unknown = cancel(&system, "no-such-task");
    assert_eq!((unknown.status, &unknown.json()["error"]["code"]), (404, &"NOT_FOUND".into()));
    cancel(&system, &first);
    system.reply(&first);
    assert_eq!(system.database().task_states(), ["cancelled", "cancelled"]);
}

#[test]
fn a_cancel_in_the_chat_overtakes_waiting_messages() {
    let (telegram, system) = with_telegram();
    telegram.push(ADA.text(LONG));
    telegram.push(ADA.text("ls path=second"));
    wait_until_sleeping(&system);
    telegram.push(ADA.text("/cancel"));
    let sent = telegram.wait_for_sent(3);
    let texts = texts(&sent);
    assert!(texts[0].contains("stopping"), "{texts:?}");
    assert!(texts[1].contains("bash"), "{texts:?}");
    assert!(texts[2].contains("second"), "{texts:?}");
    assert_eq!(system.database().task_states(), ["cancelled", "done", "skipped"]);
}

#[test]
fn a_cancel_that_telegram_delivers_twice_stops_nothing_else() {
    let (telegram, system) = with_telegram();
    let command = telegram.push(ADA.text("/cancel"));
    assert!(telegram.wait_for_sent(1)[0].text.contains("nothing to cancel"));
    telegram.push(ADA.text(LONG));
    wait_until_sleeping(&system);
    telegram.redeliver(command, ADA.text("/cancel"));
    telegram.push(ADA.text("ls path=waits"));
    wait::until_true("the next message is stored", || system.database().task_states().len() == 3);
    assert_eq!(system.database().task_states(), ["skipped", "in_progress", "queued"]);
    let asked = "select count(*) from inbox where cancel_requested_by is not null";
    assert_eq!(system.database().count(asked), 0);
    telegram.push(ADA.text("/cancel all"));
    let sent = telegram.wait_for_sent(3);
    assert!(sent[1].text.contains("1 waiting message"), "{:?}", texts(&sent));
    wait::until_true("everything has ended", || {
        system.database().task_states() == ["skipped", "cancelled", "cancelled", "skipped"]
    });
    assert_eq!(telegram.sent().len(), 3, "{:?}", texts(&telegram.sent()));
}

#[test]
fn a_request_to_cancel_survives_a_crash_of_the_supervisor() {
    let mut system = System::builder().workers(1).start();
    let task = system.say(LONG);
    wait_until_sleeping(&system);
    let worker = system.child("agent-worker");
    harness::signals::stop(worker.pid);
    assert_eq!(cancel(&system, &task).status, 202);
    system.kill();
    system.restart();
    assert!(system.reply(&task).contains("bash"));
    assert_eq!(system.database().task_states(), ["cancelled"]);
    assert_eq!(system.database().count("select attempt from inbox"), 1);
}
