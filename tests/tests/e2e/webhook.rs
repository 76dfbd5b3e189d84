//! Telegram delivers updates to the supervisor's own port.

use std::net::SocketAddr;

use harness::fake_telegram::texts;
use harness::fake_telegram::update::ADA;
use harness::http::Request;
use harness::{FakeTelegram, System, wait};
use serde_json::{Value, json};

const URL: &str = "https://bot.example/hook";

fn started(telegram: &FakeTelegram) -> System {
    let builder = System::builder().telegram(telegram, "4711");
    let builder = builder.variable("AUTONOUS_TELEGRAM_WEBHOOK_URL", URL);
    builder.variable("AUTONOUS_TELEGRAM_WEBHOOK_LISTEN", "127.0.0.1:0").start()
}

/// Where the deliveries arrive since the last start.
fn port(system: &System) -> SocketAddr {
    wait::until("the port is known", || {
        let log = system.log();
        let said = log.lines().find(|line| line.contains("Telegram's deliveries arrive here"))?;
        let line: Value = serde_json::from_str(said).ok()?;
        line["fields"]["address"].as_str()?.parse().ok()
    })
}

#[test]
fn updates_are_delivered_stored_once_and_answered_and_no_update_is_asked_for() {
    let telegram = FakeTelegram::start();
    let mut system = started(&telegram);
    telegram.deliver_to(port(&system));
    for number in 0..5 {
        telegram.push(ADA.text(&format!("ls path=missing-{number}")));
    }
    let sent = telegram.wait_for_sent(5);
    let sent = texts(&sent);
    for (number, text) in sent.iter().enumerate() {
        assert!(text.contains(&format!("missing-{number}")), "{sent:?}");
    }
    assert_eq!(telegram.webhook(), (URL.to_owned(), 1));
    assert!(telegram.calls("getUpdates").is_empty());
    // Delivered once more, as after an answer that was lost.
    let again = json!({"update_id": 700_000, "message": ADA.text("ls path=missing-0")["message"]});
    let secret = telegram.webhook_secret().unwrap();
    let request = |secret: &str| Request::post_json("/hook", &again).header(HEADER, secret);
    assert_eq!(request(&secret).send(port(&system)).status, 200);
    assert_eq!(system.database().task_states().len(), 5);

    system.kill();
    telegram.push(ADA.text("ls path=missing-later"));
    system.restart();
    assert_ne!(telegram.webhook_secret().unwrap(), secret, "each start has its own secret");
    assert_eq!(request(&secret).send(port(&system)).status, 401);
    telegram.deliver_to(port(&system));
    assert!(texts(&telegram.wait_for_sent(6))[5].contains("missing-later"));
}

const HEADER: &str = "X-Telegram-Bot-Api-Secret-Token";

#[test]
fn what_is_not_of_telegram_is_refused_and_stores_nothing() {
    let telegram = FakeTelegram::start();
    let system = started(&telegram);
    wait::until_true("the webhook is set", || telegram.webhook().1 == 1);
    let (address, secret) = (port(&system), telegram.webhook_secret().unwrap());
    let update = json!({"update_id": 1, "message": ADA.text("ls path=.")["message"]});
    let large = json!({"update_id": 1, "padding": "x".repeat(2 << 20)});
    let with = |body: &Value, secret: &str| Request::post_json("/hook", body).header(HEADER, secret);
    for (request, expected) in [
        (Request::post_json("/hook", &update), 401),
        (with(&update, "wrong"), 401),
        (with(&json!({"no": "number"}), &secret), 400),
        (Request::post("/", "{").header(HEADER, &secret), 400),
        (with(&large, &secret), 413),
        (Request::get("/hook").header(HEADER, &secret), 405),
    ] {
        assert_eq!(request.send(address).status, expected);
    }
    assert!(system.database().task_states().is_empty());
    assert!(!system.log().contains(&secret), "the secret is in no log");
}

#[test]
fn a_webhook_that_does_not_arrive_is_named_and_one_that_was_moved_is_set_again() {
    let telegram = FakeTelegram::start();
    let system = started(&telegram);
    let health = || system.control(Request::get("/readyz")).text();
    wait::until_true("it answers", || health().contains("answers as @fake_bot"));
    telegram.deliver_to(([127, 0, 0, 1], 9).into());
    telegram.push(ADA.text("ls path=missing"));
    let cannot = format!("Telegram cannot deliver to {URL}: ");
    wait::until_true("health says so", || health().contains(&cannot));
    telegram.deliver_to(port(&system));
    assert!(texts(&telegram.wait_for_sent(1))[0].contains("missing"));

    telegram.move_webhook("https://another.example/");
    wait::until_true("it is set again", || telegram.webhook().0 == URL);
}

#[test]
fn without_a_webhook_one_that_is_set_is_removed_and_what_waits_arrives() {
    let telegram = FakeTelegram::start();
    let mut first = started(&telegram);
    wait::until_true("the webhook is set", || telegram.webhook().1 == 1);
    assert!(first.stop().success());
    drop(first);
    telegram.push(ADA.text("ls path=missing"));
    let system = System::builder().telegram(&telegram, "4711").start();
    assert!(texts(&telegram.wait_for_sent(1))[0].contains("missing"));
    assert_eq!(telegram.webhook().0, "");
    system.until_logged("Telegram delivered to a webhook, which is removed");
}
