//! Processes are killed between a message and its reply: the reply still arrives, once.

use std::fs;
use std::sync::mpsc;

use harness::fake_model::results;
use harness::fake_telegram::update::ADA;
use harness::signals;
use harness::{FakeModel, FakeTelegram, Fault, ModelReply, System, wait};
use rustix::process::Signal;
use serde_json::json;

/// A model that lists the workspace and then answers; its first reply waits until it is released.
fn thinking_model() -> (FakeModel, mpsc::Sender<()>) {
    let (release, held) = mpsc::channel::<()>();
    let mut has_thought = false;
    let model = FakeModel::start(move |request| {
        if !std::mem::replace(&mut has_thought, true) {
            let _ = held.recv_timeout(wait::SOON);
        }
        match results(request).is_empty() {
            true => ModelReply::call("ls", &json!({"path": "."})),
            false => ModelReply::Text("It is done.".to_owned()),
        }
    });
    (model, release)
}

/// A system with such a model.
fn thinking_system() -> (FakeTelegram, FakeModel, mpsc::Sender<()>, System) {
    let telegram = FakeTelegram::start();
    let (model, release) = thinking_model();
    let system = System::builder().telegram(&telegram, "4711").model(&model).start();
    (telegram, model, release, system)
}

/// Sends another message and waits for its reply. A duplicate of an earlier reply would have arrived by then,
/// because replies to a chat keep their order.
fn assert_answered_once(telegram: &FakeTelegram, replies: usize) {
    telegram.wait_for_sent(replies);
    telegram.push(ADA.text("and now?"));
    telegram.wait_for_sent(replies + 1);
    let sent = telegram.sent();
    assert_eq!(sent.len(), replies + 1, "{sent:?}");
    assert!(sent.iter().all(|message| message.text == "It is done."), "{sent:?}");
}

fn killed_while_the_model_thinks(kill: impl FnOnce(&mut System)) {
    let telegram = FakeTelegram::start();
    let (model, release) = thinking_model();
    let mut system = System::builder().telegram(&telegram, "4711").model(&model).workers(1).start();
    telegram.push(ADA.text("what is here?"));
    wait::until_true("the model thinks", || !model.requests().is_empty());
    kill(&mut system);
    let _ = release.send(());
    assert_answered_once(&telegram, 1);
}

#[test]
fn a_process_is_killed_or_stopped_while_the_model_thinks() {
    killed_while_the_model_thinks(|system| {
        system.kill();
        system.restart();
    });
    killed_while_the_model_thinks(|system| {
        assert!(system.stop().success());
        system.restart();
    });
    killed_while_the_model_thinks(|system| system.kill_child("tool-server"));
    killed_while_the_model_thinks(|system| {
        system.kill_child("agent-worker");
        wait::until_true("its end is an event", || system.database().has_event("worker.exited"));
    });
}

/// Three messages, a kill before any reply is sent, and three replies.
fn killed_before_a_reply(moment: &str, mut is_reached: impl FnMut(&System, &FakeTelegram) -> bool) {
    let (telegram, _model, release, mut system) = thinking_system();
    (0..3).for_each(|_| {
        // Each is a task of its own, whatever runs when it comes.
        telegram.push(ADA.text("/queue what is here?"));
    });
    wait::until_true(moment, || is_reached(&system, &telegram));
    system.kill();
    system.restart();
    let _ = release.send(());
    assert_answered_once(&telegram, 3);
}

#[test]
fn the_supervisor_is_killed_at_each_moment_before_a_reply() {
    killed_before_a_reply("the messages were served", |_, telegram| telegram.served() > 0);
    killed_before_a_reply("a message is stored", |system, _| !system.database().task_states().is_empty());
    killed_before_a_reply("a task is claimed", |system, _| system.database().has_event("task.claimed"));
    killed_before_a_reply("a turn has begun", |system, _| system.database().has_event("turn.started"));
}

#[test]
fn the_supervisor_is_killed_while_the_reply_waits_to_be_sent() {
    let (telegram, _model, release, mut system) = thinking_system();
    let _ = release.send(());
    telegram.fail("sendMessage", Fault::RetryAfter(1));
    telegram.push(ADA.text("what is here?"));
    wait::until_true("the reply was refused once", || telegram.faults_left() == 0);
    system.kill();
    system.restart();
    assert_answered_once(&telegram, 1);
}

/// Telegram sent the message but its response was lost, so the bot cannot know and may send it again.
#[test]
fn a_lost_answer_of_telegram_repeats_a_reply_at_most_once() {
    let (telegram, _model, release, _system) = thinking_system();
    let _ = release.send(());
    telegram.fail("sendMessage", Fault::Dropped);
    telegram.push(ADA.text("what is here?"));
    assert_answered_once(&telegram, 2);
}

#[test]
fn the_tool_server_is_killed_in_the_middle_of_a_call() {
    let (telegram, model, release, system) = thinking_system();
    telegram.push(ADA.text("what is here?"));
    wait::until_true("the model thinks", || !model.requests().is_empty());
    let server = system.child("tool-server");
    signals::stop(server.pid);
    let _ = release.send(());
    let address = harness::http::address_of(&system.tokens().tool_url);
    wait::until_true("the call is on its way", || has_unread_bytes(address.port()));
    signals::send(server.pid, Signal::KILL);
    assert_answered_once(&telegram, 1);
    let database = system.database();
    let done = "select count(*) from tool_calls where status = 'done'";
    wait::until_true("both calls are recorded", || database.count(done) >= 2);
}

/// Whether a connection to this local port has bytes that its owner has not read: field 5 of
/// `/proc/net/tcp` is `tx_queue:rx_queue` in hex.
fn has_unread_bytes(port: u16) -> bool {
    let table = fs::read_to_string("/proc/net/tcp").unwrap_or_default();
    let local = format!(":{port:04X}");
    table.lines().any(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let is_server_side = fields.get(1).is_some_and(|address| address.ends_with(&local));
        let is_established = fields.get(3) == Some(&"01");
        let unread =
            fields.get(4).and_then(|queues| queues.split_once(':')).is_some_and(|(_, rx)| rx != "00000000");
        is_server_side && is_established && unread
    })
}
