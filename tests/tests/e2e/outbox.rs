//! The outbox: everything is sent in order, retried, and given up eventually.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use harness::fake_telegram::update::ADA;
use harness::{Answer, FakeTelegram, Fault, Request, System, wait};
use serde_json::{Value, json};

use crate::with_telegram;

fn post(system: &System, departure: &Value) -> Answer {
    system.control(Request::post_json("/outbox", departure))
}

fn send(system: &System, departure: &Value) -> Value {
    let answer = post(system, departure);
    assert_eq!(answer.status, 202, "{}", answer.text());
    let row = answer.json()["outbox_ids"][0].as_i64().expect("it has a row");
    wait::until("it has been sent or given up", || {
        let status = system.control(Request::get(&format!("/outbox/{row}"))).json();
        (status["status"] != "queued").then_some(status)
    })
}

#[test]
fn every_kind_is_sent_by_its_own_method_and_in_order() {
    let (telegram, system) = with_telegram();
    let bytes: Vec<u8> = (0..=255).cycle().take(1_500_000).collect();
    let first = send(&system, &json!({"chat": "4711", "kind": "text", "text": "a draft"}));
    assert_eq!((&first["status"], &first["message_id"]), (&json!("sent"), &json!(1)), "{first}");
    for departure in [
        json!({"chat": "4711", "kind": "edit", "message_id": 1, "text": "the final text"}),
        json!({"chat": "4711", "kind": "reaction", "message_id": 1, "emoji": "👀"}),
        json!({"chat": "4711", "kind": "document", "file_name": "ä b.bin", "caption": "see",
               "content_base64": STANDARD.encode(&bytes)}),
        json!({"chat": "4711", "kind": "voice", "content_base64": STANDARD.encode(b"OggS")}),
    ] {
        assert_eq!(send(&system, &departure)["status"], "sent", "{departure}");
    }
    let sent = telegram.sent();
    let methods: Vec<&str> = sent.iter().map(|sent| sent.method.as_str()).collect();
    let expected = ["sendmessage", "editmessagetext", "setmessagereaction", "senddocument", "sendvoice"];
    assert_eq!(methods, expected);
    assert_eq!((sent[1].target, sent[1].text.as_str()), (Some(1), "the final text"));
    assert_eq!((sent[2].target, sent[2].text.as_str()), (Some(1), "👀"));
    assert_eq!((sent[3].text.as_str(), &sent[3].file), ("see", &Some(("ä b.bin".to_owned(), bytes))));
    assert_eq!(sent[4].file, Some(("voice.ogg".to_owned(), b"OggS".to_vec())));
    assert_eq!(system.database().events_of("reply.sent"), 5);
}

#[test]
fn what_cannot_be_delivered_is_given_up_and_the_next_message_goes_on() {
    let telegram = FakeTelegram::start();
    telegram.fail("sendMessage", Fault::RetryAfter(1));
    telegram.fail("sendMessage", Fault::Blocked);
    let system = System::builder().telegram(&telegram, "4711").start();
    telegram.push(ADA.text("ls path=lost"));
    telegram.push(ADA.text("ls path=found"));
    assert!(telegram.wait_for_sent(1)[0].text.contains("found"), "{:?}", telegram.sent());
    let database = system.database();
    assert_eq!(database.texts("select state from outbox order by seq")[0], "dead");
    assert_eq!(database.count("select attempt from outbox where state = 'dead'"), 2);
    assert!(database.has_event("retry.scheduled") && database.has_event("retry.exhausted"));
}

#[test]
fn a_chat_that_has_blocked_the_bot_is_given_up_at_once() {
    let telegram = FakeTelegram::start();
    telegram.fail("sendDocument", Fault::Blocked);
    let system = System::builder().telegram(&telegram, "4711").start();
    let file = json!({"chat": "4711", "kind": "document", "file_name": "a", "content_base64": "YQ=="});
    let lost = send(&system, &file);
    assert_eq!((&lost["status"], &lost["failures"]), (&json!("dead"), &json!(1)), "{lost}");
    assert!(lost["error"].as_str().is_some_and(|error| error.contains("blocked")), "{lost}");
    assert_eq!(send(&system, &file)["status"], "sent");
    assert_eq!(system.database().events_of("retry.exhausted"), 1);
}

#[test]
fn a_telegram_that_never_answers_does_not_delay_a_stop() {
    let telegram = FakeTelegram::start();
    telegram.fail("sendMessage", Fault::Silent);
    let mut system = System::builder().telegram(&telegram, "4711").start();
    telegram.push(ADA.text("ls path=."));
    wait::until_true("the reply is on its way", || !telegram.calls("sendMessage").is_empty());
    assert!(system.stop().success());
    assert!(telegram.sent().is_empty());
    system.restart();
    telegram.wait_for_sent(1);
}

#[test]
fn an_edit_whose_confirmation_was_lost_is_tried_again_and_counts_as_done() {
    let (telegram, system) = with_telegram();
    send(&system, &json!({"chat": "4711", "kind": "text", "text": "a draft"}));
    telegram.fail("editMessageText", Fault::Dropped);
    let edit = json!({"chat": "4711", "kind": "edit", "message_id": 1, "text": "better"});
    let status = send(&system, &edit);
    assert_eq!((&status["status"], &status["failures"]), (&json!("sent"), &json!(1)), "{status}");
    assert_eq!(telegram.calls("editMessageText").len(), 2);
    assert_eq!(telegram.sent().len(), 2, "the second edit was refused as no change");
}

#[test]
fn what_cannot_be_sent_is_refused_with_a_hint() {
    let (_telegram, system) = with_telegram();
    let long = "x".repeat(4097);
    for (departure, status, code) in [
        (json!({"chat": "4711", "kind": "text"}), 400, "INVALID_ARGUMENT"),
        (json!({"chat": "4711", "kind": "text", "text": "  "}), 400, "INVALID_ARGUMENT"),
        (json!({"chat": "4711", "kind": "text", "text": "a", "emoji": "b"}), 400, "INVALID_ARGUMENT"),
        (json!({"chat": "4711", "kind": "song", "text": "a"}), 400, "INVALID_ARGUMENT"),
        (json!({"chat": "4711", "kind": "edit", "message_id": 1, "text": long}), 400, "INVALID_ARGUMENT"),
        (json!({"chat": "ada", "kind": "text", "text": "a"}), 400, "INVALID_ARGUMENT"),
        (json!({"chat": "4711", "kind": "voice", "content_base64": "%"}), 400, "INVALID_ARGUMENT"),
        (json!({"chat": "4711", "kind": "voice", "content_base64": ""}), 400, "INVALID_ARGUMENT"),
        (json!({"chat": "666", "kind": "text", "text": "a"}), 403, "CHAT_NOT_ALLOWED"),
    ] {
        let answer = post(&system, &departure);
        assert_eq!((answer.status, &answer.json()["error"]["code"]), (status, &json!(code)), "{departure}");
        assert!(answer.json()["error"]["hint"].as_str().is_some_and(|hint| !hint.is_empty()));
    }
    assert_eq!(system.control(Request::get("/outbox/99")).status, 404);
    assert_eq!(system.database().count("select count(*) from outbox"), 0);
    let alone = System::start();
    let off = post(&alone, &json!({"chat": "4711", "kind": "text", "text": "a"}));
    assert_eq!((off.status, &off.json()["error"]["code"]), (409, &json!("TELEGRAM_OFF")));
}
