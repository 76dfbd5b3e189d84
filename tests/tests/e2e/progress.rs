//! Signs of life: typing, a progress message with a button, and what becomes of it.

use std::time::{Duration, Instant};

use harness::fake_model::results;
use harness::fake_telegram::Sent;
use harness::fake_telegram::update::{ADA, Chat, listed};
use harness::{FakeModel, FakeTelegram, Fault, ModelReply, System, wait};
use serde_json::json;

/// A model that runs a command for so many seconds, and then answers.
fn busy_model(seconds: u32) -> FakeModel {
    FakeModel::start(move |request| match results(request).len() {
        0 => ModelReply::call("bash", &json!({"cmd": format!("sleep {seconds}")})),
        _ => ModelReply::text("It is done."),
    })
}

/// A system that works for Ada for so many seconds.
fn busy_system(telegram: &FakeTelegram, chats: &str, seconds: u32) -> (FakeModel, System) {
    let model = busy_model(seconds);
    let system = System::builder().telegram(telegram, chats).model(&model).start();
    telegram.push(ADA.text("work"));
    (model, system)
}

/// Waits until a chat has no progress message.
fn wait_until_gone(telegram: &FakeTelegram, chat: Chat) {
    wait::until_true("no message is left", || telegram.visible_progress(chat.id).is_empty());
}

/// The newest progress message of a chat, once there is one.
fn shown(telegram: &FakeTelegram, chat: i64) -> Sent {
    wait::until("progress is shown", || telegram.progress().into_iter().rfind(|sent| sent.chat_id == chat))
}

fn stop_button(progress: &Sent) -> String {
    progress.buttons().into_iter().next().expect("a button").1
}

#[test]
fn a_task_shows_typing_then_one_message_that_is_edited_and_goes_with_the_answer() {
    let telegram = FakeTelegram::start();
    let (_model, _system) = busy_system(&telegram, "4711", 8);
    assert_eq!(telegram.wait_for_sent(1)[0].text, "It is done.");
    let progress = telegram.progress();
    assert!(progress.len() >= 2, "{progress:?}");
    assert!(progress[0].text.starts_with("Working · ") && progress[0].text.contains(" · turn "));
    assert!(progress.iter().any(|sent| sent.text.ends_with("\nbash sleep 8")), "{progress:?}");
    let is_first = |sent: &Sent| sent.method == "sendmessage";
    assert_eq!(progress.iter().filter(|sent| is_first(sent)).count(), 1, "{progress:?}");
    // It leaves every three seconds, and arrives less evenly.
    let least = Duration::from_millis(2800);
    assert!(progress.windows(2).all(|two| two[1].at - two[0].at >= least), "{progress:?}");
    let typing = telegram.typing(ADA.id);
    assert!(typing.len() >= 2 && typing[0] < progress[0].at, "{typing:?}");
    wait_until_gone(&telegram, ADA);
}

#[test]
fn a_press_stops_the_task_and_is_answered_however_often_and_late_it_comes() {
    let telegram = FakeTelegram::start();
    let (_model, mut system) = busy_system(&telegram, "4711", 60);
    let progress = shown(&telegram, ADA.id);
    let data = stop_button(&progress);
    assert_eq!(telegram.press_answered(ADA, ADA.id, progress.number, &data), "Stopping.");
    let reply = telegram.wait_for_sent(1).remove(0);
    assert!(reply.text.starts_with("Cancelled."), "{}", reply.text);
    assert_eq!(system.database().task_states()[0], "cancelled");
    wait_until_gone(&telegram, ADA);
    for is_restarted in [false, true] {
        if is_restarted {
            assert!(system.stop().success());
            system.restart();
        }
        let again = telegram.press_answered(ADA, ADA.id, progress.number, &data);
        assert_eq!(again, "This has already ended.", "after a restart: {is_restarted}");
    }
    assert_eq!(telegram.sent().len(), 1);
}

#[test]
fn nobody_stops_what_is_not_theirs_and_made_up_buttons_do_nothing() {
    let telegram = FakeTelegram::start();
    let (_model, system) = busy_system(&telegram, "4711,4712", 6);
    let progress = shown(&telegram, ADA.id);
    let data = stop_button(&progress);
    let (other, stranger) = (Chat { id: 4712 }, Chat { id: 666 });
    for (chat, data, expected) in [
        (other, data.as_str(), "This has already ended."),
        (stranger, data.as_str(), "Only people this bot works for can stop it."),
        (ADA, "stop:nothing of ours!", "This button does nothing any more."),
        (ADA, "start", "This button does nothing any more."),
        (ADA, "stop:0197-not-a-task", "This has already ended."),
    ] {
        let told = telegram.press_answered(chat, chat.id, 99, data);
        assert_eq!(told, expected, "{data} in {}", chat.id);
    }
    assert_eq!(telegram.wait_for_sent(1)[0].text, "It is done.");
    assert_eq!(system.database().task_states()[0], "done");
}

#[test]
fn a_message_of_a_supervisor_that_was_killed_is_taken_away_and_no_answer_comes_twice() {
    let telegram = FakeTelegram::start();
    let (_model, mut system) = busy_system(&telegram, "4711", 5);
    let progress = shown(&telegram, ADA.id);
    let is_noted = "select count(*) from kv where key like '%progress.telegram.%'";
    wait::until_true("its number is stored", || system.database().count(is_noted) == 1);
    system.kill();
    system.restart();
    telegram.wait_for_sent(1);
    wait_until_gone(&telegram, ADA);
    wait::until_true("nothing is remembered", || system.database().count(is_noted) == 0);
    assert_eq!(telegram.sent().len(), 1);
    assert!(telegram.progress().iter().all(|sent| sent.chat_id == progress.chat_id));
}

#[test]
fn a_chat_that_takes_no_signs_still_gets_its_answer() {
    let telegram = FakeTelegram::start();
    telegram.fail("sendProgress", Fault::BadRequest);
    let (_model, _system) = busy_system(&telegram, "4711", 5);
    assert_eq!(telegram.wait_for_sent(1)[0].text, "It is done.");
    assert!(telegram.visible_progress(ADA.id).is_empty() && telegram.faults_left() == 0);
}

#[test]
fn a_child_that_is_killed_meanwhile_leaves_one_answer_and_no_message_behind() {
    for child in ["agent-worker", "tool-server"] {
        let telegram = FakeTelegram::start();
        let model = busy_model(5);
        let system = System::builder().telegram(&telegram, "4711").model(&model).workers(1).start();
        telegram.push(ADA.text("work"));
        shown(&telegram, ADA.id);
        system.kill_child(child);
        assert_eq!(telegram.wait_for_sent(1)[0].text, "It is done.", "{child}");
        wait_until_gone(&telegram, ADA);
        assert_eq!(telegram.sent().len(), 1, "{child}");
    }
}

#[test]
fn messages_go_first_and_the_pace_of_the_chat_is_kept() {
    let telegram = FakeTelegram::start();
    let (_model, system) = busy_system(&telegram, "4711", 9);
    shown(&telegram, ADA.id);
    for text in ["1", "2", "3", "4"] {
        system.queue(ADA.id, text);
    }
    assert_eq!(harness::fake_telegram::texts(&telegram.wait_for_sent(5))[4], "It is done.");
    let mut all: Vec<Sent> = [telegram.sent(), telegram.progress()].concat();
    all.sort_by_key(|sent| sent.at);
    let least = Duration::from_millis(850);
    // A message waits for those before it alone, progress for everything.
    let mut before: Option<&Sent> = None;
    for (number, sent) in all.iter().enumerate() {
        let last = if sent.is_progress { number.checked_sub(1).map(|last| &all[last]) } else { before };
        assert!(last.is_none_or(|last| sent.at - last.at >= least), "{all:?}");
        before = if sent.is_progress { before } else { Some(sent) };
    }
    let first = all.iter().position(|sent| sent.text == "1").unwrap();
    let four: Vec<&str> = all[first..first + 4].iter().map(|sent| sent.text.as_str()).collect();
    assert_eq!(four, ["1", "2", "3", "4"], "progress came between");
}

/// A group in which everything is for the bot, after so many messages of a minute.
fn busy_group(telegram: &FakeTelegram, model: &FakeModel, group: Chat, messages: usize) -> System {
    let builder = System::builder().telegram(telegram, &format!("4711,{}", group.id)).model(model);
    let builder = builder.variable("AUTONOUS_TELEGRAM_GROUP_TRIGGER", "all");
    let system = builder.variable("AUTONOUS_TELEGRAM_GROUP_MEMBERS", "all").start();
    for number in 1..=messages {
        system.queue(group.id, &format!("message {number}"));
    }
    telegram.wait_for_sent(messages);
    system
}

/// The longest time without one of these, from a beginning to an end.
fn longest_gap(signs: Vec<Instant>, from: Instant, to: Instant) -> Duration {
    let mut seen: Vec<Instant> = signs.into_iter().filter(|at| (from..to).contains(at)).collect();
    seen.extend([from, to]);
    seen.sort_unstable();
    seen.windows(2).map(|two| two[1] - two[0]).max().unwrap_or_default()
}

/// Half of what a group may get in a minute is kept for answers.
#[test]
fn a_group_without_room_for_progress_sees_typing_until_the_answer() {
    let (telegram, group) = (FakeTelegram::start(), Chat { id: -7000 });
    let model = busy_model(9);
    let _system = busy_group(&telegram, &model, group, 10);
    let asked = Instant::now();
    telegram.push(group.text("work"));
    let answered = telegram.wait_for_sent(11)[10].at;
    assert!(telegram.progress().is_empty(), "there is no room for it");
    let longest = longest_gap(telegram.typing(group.id), asked, answered);
    assert!(longest < Duration::from_millis(4500), "{longest:?}");
}

/// Signs take at most a third of what the bot may send, ten a second; these chats want twelve.
#[test]
fn where_there_is_no_room_for_all_signs_no_chat_is_left_out() {
    let (telegram, chats) = (FakeTelegram::start(), (5001..=5030).map(|id| Chat { id }));
    let model = busy_model(14);
    let allowed = listed(chats.clone().map(|chat| chat.id));
    let _system = System::builder().workers(1).telegram(&telegram, &allowed).model(&model).start();
    let begun = Instant::now();
    chats.clone().for_each(|chat| _ = telegram.push(chat.text("work")));
    let first = wait::until("one is answered", || telegram.sent().into_iter().next());
    for chat in chats {
        let longest = longest_gap(telegram.signs(chat.id), begun, first.at);
        assert!(longest < Duration::from_secs(6), "{longest:?} in {}", chat.id);
    }
}

/// A group may get twenty messages in a minute; the answer waits for the next minute.
#[test]
fn a_group_whose_answer_waits_for_its_turn_sees_typing_until_it_comes() {
    let (telegram, group) = (FakeTelegram::start(), Chat { id: -7000 });
    let model = FakeModel::start(|_| ModelReply::text("It is done."));
    let _system = busy_group(&telegram, &model, group, 20);
    let asked = Instant::now();
    telegram.push(group.text("work"));
    let answered = wait::within(Duration::from_secs(90), || Some(telegram.sent().get(20)?.at));
    let answered = answered.expect("the answer comes in the next minute");
    assert!(answered - asked > Duration::from_secs(15), "it has to wait: {:?}", answered - asked);
    let longest = longest_gap(telegram.typing(group.id), asked, answered);
    assert!(longest < Duration::from_millis(4500), "{longest:?}");
}

#[test]
fn a_message_whose_sending_was_never_answered_is_found_again_and_goes_with_its_task() {
    let telegram = FakeTelegram::start();
    telegram.fail("sendProgress", Fault::Dropped);
    let (_model, _system) = busy_system(&telegram, "4711", 20);
    let first = shown(&telegram, ADA.id);
    let edited = wait::until("it is edited", || {
        telegram.progress().into_iter().rfind(|sent| sent.method == "editmessagetext")
    });
    assert_eq!((edited.number, telegram.visible_progress(ADA.id)), (first.number, vec![first.number]));
    assert_eq!(telegram.wait_for_sent(1)[0].text, "It is done.");
    wait_until_gone(&telegram, ADA);
    assert_eq!(telegram.sent().len(), 1, "{:?}", telegram.sent());
}

#[test]
fn a_message_that_a_supervisor_was_killed_over_is_found_again() {
    let telegram = FakeTelegram::start();
    telegram.fail("sendProgress", Fault::Unanswered);
    let (_model, mut system) = busy_system(&telegram, "4711", 5);
    shown(&telegram, ADA.id);
    system.kill();
    system.restart();
    assert_eq!(telegram.wait_for_sent(1)[0].text, "It is done.");
    wait_until_gone(&telegram, ADA);
    let is_noted = "select count(*) from kv where key like '%progress.telegram.%'";
    wait::until_true("nothing is remembered", || system.database().count(is_noted) == 0);
}

/// How long a chat may be without any sign.
const UNSEEN: Duration = Duration::from_secs(4);

#[test]
fn a_chat_that_waits_for_a_worker_reads_how_many_are_before_it_and_can_stop_that() {
    let telegram = FakeTelegram::start();
    let model = busy_model(15);
    let system = System::builder().telegram(&telegram, "1,2,3,4").model(&model).workers(2).start();
    for (chat, running) in [(1, 1), (2, 2), (3, 2), (4, 2)] {
        telegram.push(Chat { id: chat }.text("work"));
        let claimed = "select count(*) from inbox where state = 'in_progress'";
        let queued = "select count(*) from inbox";
        wait::until_true("it is queued or runs", || {
            system.database().count(claimed) == running && system.database().count(queued) == chat
        });
    }
    let (third, fourth) = (Chat { id: 3 }, Chat { id: 4 });
    let seen = wait::within(UNSEEN, || telegram.typing(fourth.id).first().copied());
    assert!(seen.is_some(), "no typing in {UNSEEN:?}");
    assert_eq!(shown(&telegram, third.id).text, "Waiting · 2 before you");
    let waiting = shown(&telegram, fourth.id);
    assert_eq!(waiting.text, "Waiting · 3 before you");
    telegram.push(fourth.text("/status"));
    let status = telegram.wait_for_sent(1).remove(0);
    let expected = "Waits for a free worker, 3 before you.\n1 message waits.\n";
    assert!(status.chat_id == fourth.id && status.text.starts_with(expected), "{status:?}");
    let told = telegram.press_answered(fourth, fourth.id, waiting.number, &stop_button(&waiting));
    assert_eq!(told, "Cancelled.");
    wait_until_gone(&telegram, fourth);
    // The same message tells what follows.
    let working = wait::until("the third one works", || {
        let shown = shown(&telegram, third.id);
        shown.text.starts_with("Working").then_some(shown)
    });
    assert_eq!(telegram.visible_progress(third.id), [working.number]);
    wait::until_true("the third one is answered", || {
        telegram.sent().iter().any(|sent| sent.chat_id == third.id)
    });
}

/// The reactions to a chat's messages, in order; an empty one takes the last away.
fn reactions(telegram: &FakeTelegram, chat: i64) -> Vec<String> {
    let sent = telegram.sent_that(|sent| sent.method == "setmessagereaction" && sent.chat_id == chat);
    sent.into_iter().map(|sent| sent.text).collect()
}

#[test]
fn a_message_in_private_has_a_reaction_that_says_how_far_it_is() {
    let telegram = FakeTelegram::start();
    let model = busy_model(3);
    let builder = System::builder().telegram(&telegram, "4711,-7").model(&model);
    let builder = builder.variable("AUTONOUS_TELEGRAM_GROUP_TRIGGER", "all");
    let mut system = builder
        .variable("AUTONOUS_TELEGRAM_GROUP_MEMBERS", "all")
        .variable("AUTONOUS_TELEGRAM_REACTIONS", "private")
        .start();
    telegram.push(ADA.text("work"));
    telegram.push(Chat { id: -7 }.text("work"));
    wait::until_true("the end is shown", || reactions(&telegram, ADA.id) == ["👀", "✍", "👌"]);
    wait::until_true("both are answered", || system.database().task_states() == ["done", "done"]);
    assert_eq!(reactions(&telegram, -7), [""; 0], "a group is left alone");

    telegram.push(ADA.text("work again"));
    wait::until_true("it works", || reactions(&telegram, ADA.id).len() == 5);
    system.kill();
    system.restart();
    telegram.push(ADA.text("/stop"));
    wait::until_true("the reaction is taken away", || {
        reactions(&telegram, ADA.id).last().is_some_and(|last| last.is_empty())
    });
}
