//! Topics of Telegram: each is a conversation of its own, and what belongs to it goes into it.

use std::fs;

use harness::fake_model::results;
use harness::fake_telegram::Sent;
use harness::fake_telegram::update::{ADA, Chat, now_seconds};
use harness::{FakeModel, FakeTelegram, ModelReply, Request, System, wait};
use serde_json::{Value, json};

use crate::assert_says;

const FORUM: Chat = Chat { id: -1077 };
const CATS: Option<i64> = Some(12);
const DOGS: Option<i64> = Some(13);
/// Its messages are those of the chat, without a topic.
const GENERAL: Option<i64> = None;

/// A message of this person in a topic of the forum.
fn said(topic: Option<i64>, person: i64, fields: &Value) -> Value {
    let mut message = FORUM.with(&json!({
        "chat": {"id": FORUM.id, "type": "supergroup", "title": "A forum", "is_forum": true},
        "from": {"id": person, "is_bot": false, "first_name": format!("Person {person}")},
    }));
    let fields = fields.as_object().unwrap().clone();
    message["message"].as_object_mut().unwrap().extend(fields);
    if let Some(topic) = topic {
        message["message"]["message_thread_id"] = topic.into();
        message["message"]["is_topic_message"] = true.into();
        // As Telegram sends it: what answers nothing answers the notice that began the topic.
        message["message"]["reply_to_message"] = json!({
            "message_id": topic, "date": now_seconds(), "chat": message["message"]["chat"],
            "from": {"id": 123_456, "is_bot": true, "first_name": "Fake", "username": "fake_bot"},
            "message_thread_id": topic, "is_topic_message": true,
            "forum_topic_created": {"name": "A topic", "icon_color": 7_322_096},
        });
    }
    message
}

/// Sends a text as an administrator, and waits for the next message of the bot.
fn ask(telegram: &FakeTelegram, topic: Option<i64>, text: &str) -> Sent {
    let before = telegram.sent().len();
    telegram.push(said(topic, 1, &json!({"text": text})));
    let answer = telegram.wait_for_sent(before + 1)[before].clone();
    assert_eq!((answer.chat_id, answer.topic), (FORUM.id, topic), "{text}: {answer:?}");
    answer
}

fn forum(model: &FakeModel) -> (FakeTelegram, System) {
    let telegram = FakeTelegram::start();
    telegram.administer(FORUM.id, &[1]);
    let system = System::builder().telegram(&telegram, "4711,-1077").model(model).start();
    (telegram, system)
}

/// The last request to the model, with its whole conversation.
fn told(model: &FakeModel) -> String {
    model.requests().last().unwrap()["messages"].to_string()
}

#[test]
fn a_topic_is_a_conversation_of_its_own_and_is_answered_in_it() {
    let model = FakeModel::start(|_| ModelReply::text("ok"));
    let (telegram, system) = forum(&model);
    for (topic, animal) in [(CATS, "cats"), (DOGS, "dogs"), (GENERAL, "birds")] {
        ask(&telegram, topic, &format!("@fake_bot about {animal}"));
        let told = told(&model);
        let others = ["cats", "dogs", "birds"].into_iter().filter(|other| *other != animal);
        assert!(told.contains(animal) && !others.into_iter().any(|other| told.contains(other)), "{told}");
    }
    ask(&telegram, CATS, "@fake_bot and what else?");
    assert!(told(&model).contains("about cats"), "a topic has a history");
    let chats = system.database().texts("select chat_id from inbox group by chat_id order by min(seq)");
    assert_eq!(chats, ["-1077:12", "-1077:13", "-1077"]);

    // A new conversation in one topic leaves the others as they are.
    ask(&telegram, CATS, "/new");
    ask(&telegram, CATS, "@fake_bot again");
    assert!(!told(&model).contains("about cats"), "{}", told(&model));
    ask(&telegram, DOGS, "@fake_bot again");
    assert!(told(&model).contains("about dogs"), "{}", told(&model));
    assert_says(&ask(&telegram, CATS, "/status").text, &["3 tasks"]);
    assert_says(&ask(&telegram, GENERAL, "/status").text, &["1 task"]);
    assert_says(&ask(&telegram, CATS, "/whoami").text, &["-1077:12"]);
}

#[test]
fn signs_of_life_files_reactions_and_notices_go_into_the_topic() {
    let model = FakeModel::start(|request| match results(request).len() {
        0 => ModelReply::call("telegram_react", &json!({"emoji": "👀"})),
        1 => ModelReply::call("telegram_send_file", &json!({"path": "cat.txt"})),
        2 => ModelReply::call("bash", &json!({"cmd": "sleep 300", "timeout_seconds": 300})),
        _ => ModelReply::text("ok"),
    });
    let (telegram, system) = forum(&model);
    fs::write(system.workspace().join("cat.txt"), "meow").unwrap();
    telegram.push(said(CATS, 1, &json!({"text": "@fake_bot show me a cat", "message_id": 77})));
    let sent = telegram.wait_for_sent(2);
    assert_eq!((sent[0].method.as_str(), sent[0].target), ("setmessagereaction", Some(77)));
    assert_eq!((sent[1].method.as_str(), sent[1].topic), ("senddocument", CATS));
    let progress = wait::until("progress is shown", || telegram.progress().into_iter().next());
    assert_eq!((progress.chat_id, progress.topic), (FORUM.id, CATS));
    assert!(telegram.typing_in(FORUM.id, CATS) > 0 && telegram.typing_in(FORUM.id, GENERAL) == 0);

    // A member who does not administer the group may neither press nor ask, and gets the answer in the group.
    let (_, button) = &progress.buttons()[0];
    let answer = telegram.press_answered(FORUM, 2, progress.number, button);
    assert_says(&answer, &["Only people this bot works for"]);
    telegram.push(said(CATS, 2, &json!({"text": "/status"})));
    let refused = telegram.wait_for_sent(3)[2].clone();
    assert_says(&refused.text, &["administrators alone"]);
    assert_eq!(refused.topic, CATS);
    // A member who does not address the bot is not heard, although their message answers one of the bot.
    telegram.push(said(CATS, 1, &json!({"text": "nice weather"})));

    let answer = telegram.press_answered(FORUM, 1, progress.number, button);
    assert_eq!(answer, "Stopping.");
    assert_eq!(telegram.wait_for_sent(4)[3].topic, CATS);
    assert_eq!(system.database().count("select count(*) from inbox where text like '%weather%'"), 0);
}

#[test]
fn people_send_to_a_topic_and_a_topic_of_a_stranger_is_told_the_number_of_the_chat() {
    let telegram = FakeTelegram::start();
    let system = System::builder().telegram(&telegram, "-1077").start();
    let send = |chat: &str| {
        let message = json!({"chat": chat, "kind": "text", "text": "hello"});
        system.control(Request::post_json("/outbox", &message)).status
    };
    assert_eq!([send("-1077:12"), send("-1077:0x"), send("-1078:12")], [202, 400, 403]);
    assert_eq!(telegram.wait_for_sent(1)[0].topic, CATS);

    let mut stranger = ADA.text("hello");
    stranger["message"]["message_thread_id"] = 5.into();
    stranger["message"]["is_topic_message"] = true.into();
    telegram.push(stranger);
    let refusal = telegram.wait_for_sent(2)[1].clone();
    assert_says(&refusal.text, &["supervisor pair", "The ID of this chat is 4711."]);
    assert_eq!(refusal.topic, Some(5));
    let codes = system.database().texts("select chat_id from pairing_codes");
    assert_eq!(codes, ["4711"]);
}
