//! The Telegram channel, over its own protocol.

use std::collections::HashSet;
use std::time::Duration;

use process::Secret;
use protocol::now_ms;
use serde_json::json;
use supervisor::config::TelegramSettings;

use crate::house::{House, Plan};
use crate::played_telegram::PlayedTelegram;

const ADA: i64 = 7;

async fn house(telegram: &PlayedTelegram, pending_max: u32) -> House {
    let address = telegram.start().await;
    let settings = TelegramSettings {
        token: Secret::from("1:token"),
        api_url: Some(format!("http://{address}").parse().unwrap()),
        allowed_chats: HashSet::from([ADA]),
        pending_window: Duration::from_secs(600),
        pending_max,
        send_max_attempts: 20,
    };
    House::start(Plan { telegram: Some(settings), ..Plan::default() }).await
}

fn now() -> i64 {
    now_ms() / 1000
}

async fn until_quiet(house: &House, telegram: &PlayedTelegram) {
    let quiet = async || {
        let open = house.count("select count(*) from inbox where state in ('queued', 'in_progress')")
            + house.count("select count(*) from outbox where state = 'queued'");
        open == 0 && telegram.memory().updates.is_empty()
    };
    house.until("everything is confirmed, done and sent", quiet).await;
}

fn texts_to(telegram: &PlayedTelegram, chat: i64) -> Vec<String> {
    let memory = telegram.memory();
    memory.taken.iter().filter(|(to, _)| *to == chat).map(|(_, text)| text.clone()).collect()
}

#[tokio::test]
async fn of_what_waited_at_start_only_the_fresh_and_the_newest_are_run() {
    let telegram = PlayedTelegram::default();
    telegram.receive(1, ADA, now() - 3600, "too old");
    for (update, text) in [(2, "one"), (3, "two"), (4, "three")] {
        telegram.receive(update, ADA, now(), text);
    }
    let house = house(&telegram, 2).await;
    until_quiet(&house, &telegram).await;
    assert_eq!(texts_to(&telegram, ADA), ["TWO", "THREE"]);
    assert_eq!(house.count("select count(*) from inbox where state = 'skipped'"), 2);
    assert_eq!(house.count("select count(*) from events where type = 'task.skipped'"), 2);
    house.stop().await;
}

#[tokio::test]
async fn a_stranger_is_answered_once_an_hour_and_never_run() {
    let telegram = PlayedTelegram::default();
    let house = house(&telegram, 50).await;
    for update in 1..=3 {
        telegram.receive(update, 666, now(), "let me in");
        until_quiet(&house, &telegram).await;
    }
    let told = texts_to(&telegram, 666);
    assert!(told.len() == 1 && told[0].contains("666"), "{told:?}");
    assert_eq!(house.count("select count(*) from events where type = 'task.claimed'"), 0);
    assert_eq!(
        house.count("select count(*) from inbox where text <> ''"),
        0,
        "strangers' texts are not kept"
    );
    house.stop().await;
}

#[tokio::test]
async fn a_reply_that_telegram_puts_off_or_fails_to_take_comes_all_the_same() {
    let telegram = PlayedTelegram::default();
    let flood = json!({"ok": false, "error_code": 429, "description": "Too Many Requests: retry after 1",
        "parameters": {"retry_after": 1}});
    let trouble = json!({"ok": false, "error_code": 400, "description": "Bad Request: something odd"});
    telegram.memory().refusals.extend([flood, trouble]);
    let house = house(&telegram, 50).await;
    telegram.receive(1, ADA, now(), "hello");
    telegram.receive(2, ADA, now(), "again");
    until_quiet(&house, &telegram).await;
    assert_eq!(texts_to(&telegram, ADA), ["HELLO", "AGAIN"]);
    assert_eq!(house.count("select count(*) from events where type = 'reply.sent'"), 2);
    house.stop().await;
}

#[tokio::test]
async fn a_chat_that_has_blocked_the_bot_does_not_hold_up_the_next_reply() {
    let telegram = PlayedTelegram::default();
    let blocked =
        json!({"ok": false, "error_code": 403, "description": "Forbidden: bot was blocked by the user"});
    telegram.memory().refusals.push_back(blocked);
    let house = house(&telegram, 50).await;
    telegram.receive(1, ADA, now(), "hello");
    telegram.receive(2, ADA, now(), "again");
    until_quiet(&house, &telegram).await;
    assert_eq!(texts_to(&telegram, ADA), ["AGAIN"]);
    assert_eq!(house.count("select count(*) from outbox where state = 'dead'"), 1);
    assert_eq!(house.count("select count(*) from events where type = 'retry.exhausted'"), 1);
    house.stop().await;
}
