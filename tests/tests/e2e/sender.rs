//! The sender: no chat holds up another one, and nothing is lost on the way.

use std::time::Duration;

use harness::fake_telegram::update::{ADA, Chat, HALF_A_CHARACTER, listed};
use harness::{FakeTelegram, Fault, Request, System, wait};
use serde_json::json;

use crate::assert_says;

/// Longer than any test waits.
const LONG: Duration = Duration::from_secs(90);

fn system_for(telegram: &FakeTelegram, chats: &[i64]) -> System {
    System::builder().telegram(telegram, &listed(chats.iter().copied())).start()
}

#[test]
fn a_chat_whose_messages_drip_or_fail_holds_up_no_other() {
    let telegram = FakeTelegram::start();
    let faults = [
        Fault::Drips(LONG),
        Fault::ServerError,
        Fault::ServerErrorPage,
        Fault::TooMany,
        Fault::RetryAfter(3600),
    ];
    let faulty: Vec<i64> = (1..).take(40).collect();
    let healthy: Vec<i64> = (1001..).take(40).collect();
    let system = system_for(&telegram, &[faulty.clone(), healthy.clone()].concat());
    for (chat, fault) in faulty.iter().zip(faults.iter().cycle()) {
        telegram.fail_chat(*chat, Some(*fault));
        system.queue(*chat, "to a faulty chat");
        system.queue(*chat, "behind it");
    }
    wait::until_true("every faulty chat was tried", || telegram.calls("sendMessage").len() >= faulty.len());
    for chat in &healthy {
        system.queue(*chat, "to a healthy chat");
    }
    let mut reached: Vec<i64> = telegram.wait_for_sent(40).iter().map(|sent| sent.chat_id).collect();
    reached.sort_unstable();
    assert_eq!(reached, healthy);
    assert!((2..=64).contains(&telegram.most_under_way()), "{}", telegram.most_under_way());
    assert_eq!(system.database().count("select count(*) from outbox where state = 'dead'"), 0);
}

#[test]
fn messages_of_a_chat_stay_in_order_and_leave_about_one_a_second() {
    let telegram = FakeTelegram::start();
    let system = system_for(&telegram, &[4711]);
    for text in ["1", "2", "3"] {
        system.queue(4711, text);
    }
    let sent = telegram.wait_for_sent(3);
    assert_eq!(harness::fake_telegram::texts(&sent), ["1", "2", "3"]);
    // They arrive less evenly than they leave.
    let least = Duration::from_millis(900);
    assert!(sent.windows(2).all(|two| two[1].at - two[0].at >= least), "{sent:?}");
}

#[test]
fn after_a_break_of_the_network_what_had_no_answer_goes_at_once_and_what_was_told_to_wait_does_not() {
    let telegram = FakeTelegram::start();
    let system = system_for(&telegram, &[4711, 7]);
    telegram.fail_chat(7, Some(Fault::RetryAfter(3600)));
    system.queue(7, "told to wait");
    let attempts = |chat: i64| {
        system.database().count(&format!("select attempt from outbox where chat_id = '{chat}' order by seq"))
    };
    wait::until_true("it is told to wait", || attempts(7) == 1);
    telegram.fail_chat(7, None);
    telegram.cut(true);
    system.queue(4711, "first");
    system.queue(4711, "second");
    // The next attempt is after 16 seconds.
    wait::until_true("its pause has grown", || attempts(4711) == 5);
    let before = system.database().count("select max(available_at_ms) from outbox where chat_id = '4711'");
    telegram.cut(false);
    assert_eq!(harness::fake_telegram::texts(&telegram.wait_for_sent(2)), ["first", "second"]);
    assert!(protocol::now_ms() < before, "it waited for its pause to be over");
    assert_eq!((attempts(7), telegram.sent().len()), (1, 2));
}

#[test]
fn an_answer_does_not_wait_for_notices_to_strangers() {
    let telegram = FakeTelegram::start();
    let system = system_for(&telegram, &[4711]);
    for id in 1..=200 {
        telegram.push(Chat { id }.text("hello?"));
    }
    telegram.wait_for_sent(1);
    telegram.push(ADA.text("ls path=."));
    let sent = wait::until("the owner has an answer", || {
        Some(telegram.sent()).filter(|sent| sent.iter().any(|sent| sent.chat_id == ADA.id))
    });
    assert!(sent.len() < 150, "{} notices came first", sent.len());
    drop(system);
}

#[test]
fn a_group_that_becomes_a_supergroup_keeps_its_permission_and_its_messages() {
    for told_by_notice in [true, false] {
        let telegram = FakeTelegram::start();
        let mut system = system_for(&telegram, &[-5]);
        let (group, supergroup) = (Chat { id: -5 }, Chat { id: -1005 });
        telegram.administer(supergroup.id, &[1005]);
        telegram.fail_chat(group.id, Some(Fault::Moved(supergroup.id)));
        if told_by_notice {
            telegram.push(group.became(supergroup.id));
        } else {
            system.queue(group.id, "on its way");
            assert_eq!(telegram.wait_for_sent(1)[0].chat_id, supergroup.id);
        }
        wait::until_true("the group has moved", || system.database().has_event("chat.moved"));
        for restarted in [false, true] {
            if restarted {
                assert!(system.stop().success());
                system.restart();
            }
            let before = telegram.sent().len();
            telegram.push(supergroup.text("/ls path=."));
            let answer = telegram.wait_for_sent(before + 1).pop().unwrap();
            assert_eq!(answer.chat_id, supergroup.id);
            assert!(!answer.text.contains("does not work for this chat"), "{}", answer.text);
        }
        let left = "select count(*) from inbox where chat_id = '-5' union all
                    select count(*) from outbox where chat_id = '-5' and state = 'queued'";
        let left = system.database().rows(left, |row| row.get::<i64>(0));
        assert_eq!(left, [0, 0], "by notice: {told_by_notice}");
        assert_eq!(system.database().events_of("chat.moved"), 1);
    }
}

#[test]
fn an_undelivered_message_is_sent_again_when_somebody_asks() {
    let telegram = FakeTelegram::start();
    let mut system = system_for(&telegram, &[4711, 7]);
    for chat in [4711, 7] {
        telegram.fail_chat(chat, Some(Fault::Blocked));
    }
    telegram.push(ADA.text("ls path=."));
    system.queue(7, "hello");
    let dead = "select count(*) from outbox where state = 'dead'";
    wait::until_true("both are given up", || system.database().count(dead) == 2);
    for chat in [4711, 7] {
        telegram.fail_chat(chat, None);
    }
    let bad = system.control(Request::post_json("/outbox/resend", &json!({"all": true})));
    assert_eq!((bad.status, &bad.json()["error"]["code"]), (400, &json!("INVALID_ARGUMENT")));
    let row = system.database().count("select seq from outbox where chat_id = '7'").to_string();
    system.shown(&["resend", &row]);
    assert_eq!(telegram.wait_for_sent(1)[0].text, "hello");
    let twice = system.run_command(&["resend", &row]);
    assert!(!twice.status.success(), "{twice:?}");
    assert!(String::from_utf8_lossy(&twice.stdout).contains("Nothing undelivered"), "{twice:?}");
    assert!(system.stop().success());
    assert_says(&system.shown(&["resend", "--all-dead", "--json"]), &["outbox_ids"]);
    system.restart();
    assert_eq!(telegram.wait_for_sent(2)[1].chat_id, ADA.id);
    assert_eq!(system.database().events_of("reply.requeued"), 2);
}

#[test]
fn an_update_that_no_string_or_number_can_hold_does_not_block_those_behind_it() {
    let telegram = FakeTelegram::start();
    let system = system_for(&telegram, &[4711]);
    telegram.push(ADA.text(&format!("ls path=half{HALF_A_CHARACTER}")));
    assert!(telegram.wait_for_sent(1)[0].text.contains("half\u{fffd}"), "{:?}", telegram.sent());
    telegram.push_as(5_000_000_000, ADA.text("ls path=large"));
    telegram.push(json!({"message": {"message_id": "not a number"}}));
    telegram.push(ADA.text("ls path=behind"));
    let sent = telegram.wait_for_sent(3);
    assert!(sent[1].text.contains("large") && sent[2].text.contains("behind"), "{sent:?}");
    wait::until_true("everything is confirmed", || telegram.unconfirmed() == 0);
    assert_eq!(system.database().count("select max(cast(update_id as bigint)) from inbox"), 5_000_000_002);
}
