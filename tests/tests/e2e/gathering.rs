//! What somebody sends in several messages is one request: pieces of a long text, forwards, a file and its
//! question.

use std::time::{Duration, Instant};

use harness::fake_telegram::texts;
use harness::fake_telegram::update::{ADA, GROUP, now_seconds};
use harness::{FakeModel, FakeTelegram, ModelReply, System, SystemBuilder, wait};
use serde_json::{Value, json};

use crate::assert_says;

/// So long that nothing but a command ends it while a test runs.
const LONG: &str = "60000";

fn model() -> FakeModel {
    FakeModel::start(|_| ModelReply::Text("I see.".to_owned()))
}

fn builder(telegram: &FakeTelegram, model: &FakeModel, quiet_ms: &str) -> SystemBuilder {
    telegram.administer(GROUP.id, &[1, 2]);
    let builder = System::builder().telegram(telegram, "4711,-77").model(model);
    builder.variable("AUTONOUS_TELEGRAM_GATHER_MS", quiet_ms)
}

fn started(telegram: &FakeTelegram, model: &FakeModel, quiet_ms: &str) -> System {
    builder(telegram, model, quiet_ms).variable("AUTONOUS_TELEGRAM_GROUP_TRIGGER", "all").start()
}

/// The same with another ID of the message.
pub(crate) fn numbered(mut update: Value, number: i64) -> Value {
    let kind = if update["message"].is_object() { "message" } else { "edited_message" };
    update[kind]["message_id"] = number.into();
    update
}

/// What each request to the model asks, once there are so many.
fn asked(model: &FakeModel, count: usize) -> Vec<String> {
    wait::until_true("the model is asked", || model.requests().len() >= count);
    let last = |request: &Value| {
        let messages = request["messages"].as_array().unwrap();
        let last = messages.iter().rfind(|message| message["role"] == "user").unwrap();
        last["content"].as_str().unwrap().to_owned()
    };
    let said: Vec<String> = model.requests().iter().map(last).collect();
    assert_eq!(said.len(), count, "{said:?}");
    said
}

/// What the only request asks, below who asks.
fn asked_once(model: &FakeModel) -> String {
    let [said] = asked(model, 1).try_into().unwrap();
    said.strip_prefix("[From Ada (ID 4711)]\n").unwrap_or_else(|| panic!("{said}")).to_owned()
}

fn forwarded(writer: &str, text: &str) -> Value {
    let origin = json!({"type": "hidden_user", "sender_user_name": writer, "date": 1});
    ADA.with(&json!({"text": text, "forward_origin": origin}))
}

/// A command ends the quiet time.
fn end(telegram: &FakeTelegram) {
    telegram.push(ADA.text("/whoami"));
}

#[test]
fn a_long_text_in_pieces_is_one_request_once_its_sender_is_quiet() {
    let (telegram, model) = (FakeTelegram::start(), model());
    let system = started(&telegram, &model, "1200");
    let pieces: Vec<String> = ["one ", "two ", "three "].iter().map(|word| word.repeat(600)).collect();
    let begun = Instant::now();
    for piece in &pieces {
        telegram.push(ADA.text(piece.trim()));
    }
    assert_eq!(texts(&telegram.wait_for_sent(1)), ["I see."]);
    assert!(begun.elapsed() >= Duration::from_millis(3 * 1200), "{:?}", begun.elapsed());
    assert!(telegram.typing(ADA.id)[0] < begun + Duration::from_millis(2000), "typing is shown meanwhile");
    assert_eq!(asked_once(&model), pieces.iter().map(|piece| piece.trim()).collect::<Vec<_>>().join("\n"));
    assert_eq!(system.database().task_states(), ["done", "skipped", "skipped"]);
    let parts = "select payload ->> 'text' from events
                 where type = 'task.skipped' and payload ->> 'part_of' = (select id from inbox
                                                                          where state = 'done')";
    assert_eq!(system.database().texts(parts), [pieces[1].trim(), pieces[2].trim()]);
    // A part is nothing that can be run by itself.
    telegram.push(ADA.text("/retry"));
    assert_says(&telegram.wait_for_sent(2)[1].text, &["nothing to run again"]);
}

#[test]
fn five_forwards_and_a_word_about_them_are_one_request_and_stay_data() {
    let (telegram, model) = (FakeTelegram::start(), model());
    let system = started(&telegram, &model, LONG);
    telegram.push(ADA.text("compare these"));
    for number in 1..=5 {
        telegram.push(forwarded(&format!("Eve {number}"), &format!("offer {number}")));
    }
    end(&telegram);
    let said = asked_once(&model);
    let (own, rest) = said.split_once("\n\n").unwrap();
    assert_eq!(own, "compare these");
    let lines: Vec<&str> = rest.lines().filter(|line| !line.is_empty()).collect();
    assert_eq!(lines.len(), 4 * 5, "{said}");
    for (part, number) in lines.chunks(4).zip(1..) {
        assert_eq!(part[0], format!("[Forwarding what Eve {number} wrote]"));
        assert!(part[1].starts_with("<untrusted-") && part[3].starts_with("</untrusted-"), "{said}");
        assert_eq!(part[2], format!("offer {number}"));
    }
    telegram.wait_for_sent(2);
    // So they are in the conversation, too.
    telegram.push(ADA.text("and now?"));
    end(&telegram);
    asked(&model, 2);
    let history = model.requests()[1]["messages"].to_string();
    assert_eq!(history.matches("[Forwarding what Eve ").count(), 5, "{history}");
    assert_eq!(system.database().task_states().iter().filter(|state| *state == "skipped").count(), 7);
}

#[test]
fn a_file_and_its_question_are_one_request_also_while_the_file_is_fetched() {
    for caption in ["", "read this"] {
        let (telegram, model) = (FakeTelegram::start(), model());
        let system = started(&telegram, &model, LONG);
        telegram.add_file("plan", "the plan");
        telegram.hold_downloads(true);
        let document = json!({
            "file_id": "plan", "file_unique_id": "p", "file_name": "plan.txt", "mime_type": "text/plain",
            "file_size": 8,
        });
        telegram.push(numbered(ADA.saying(&json!({"document": document, "caption": caption})), 1));
        wait::until_true("the download has begun", || telegram.downloads() > 0);
        telegram.push(numbered(ADA.text("is it good?"), 2));
        end(&telegram);
        wait::until_true("the question is stored", || telegram.unconfirmed() == 0);
        assert_eq!(model.requests().len(), 0, "the file is not there");
        telegram.hold_downloads(false);
        let said = asked_once(&model);
        let (before, behind) = said.split_once("[Files came with this message.").unwrap();
        assert_eq!(before.trim_end(), caption, "{said}");
        assert!(behind.ends_with("\n]\n\nis it good?"), "{said}");
        assert_says(&said, &["- document: ", "text/plain, 8 bytes"]);
        assert_eq!(said.matches("plan.txt").count(), 1, "{said}");
        telegram.wait_for_sent(2);
        assert_eq!(system.database().task_states(), ["done", "skipped", "skipped"]);
    }
}

#[test]
fn photos_and_an_album_with_a_question_are_one_request_and_stand_behind_their_words() {
    for (album, captions, shapes) in [
        (None, ["", ""], "FF what is on them?"),
        (None, ["before", "after"], "before F after F what is on them?"),
        (Some("g"), ["both", ""], "both FF what is on them?"),
    ] {
        let (telegram, model) = (FakeTelegram::start(), model());
        let _system = started(&telegram, &model, LONG);
        for (number, caption) in (1..).zip(captions) {
            let id = format!("photo-{number}");
            telegram.add_file(&id, "a picture");
            let mut update = numbered(ADA.photo_of(&id, caption), number);
            if let Some(album) = album {
                update["message"]["media_group_id"] = album.into();
            }
            telegram.push(update);
        }
        telegram.push(numbered(ADA.text("what is on them?"), 3));
        end(&telegram);
        let said = asked_once(&model);
        let shape = |paragraph: &str| match paragraph.strip_prefix("[Files came with this message.") {
            Some(list) => "F".repeat(list.matches("\n- photo: ").count()),
            None => paragraph.to_owned(),
        };
        assert_eq!(said.split("\n\n").map(shape).collect::<Vec<_>>().join(" "), shapes, "{said}");
    }
}

#[test]
fn neither_two_senders_nor_two_topics_are_mixed() {
    let (telegram, model) = (FakeTelegram::start(), model());
    let _system = started(&telegram, &model, LONG);
    let say = |person: i64, topic: Option<i64>, text: &str| {
        let mut fields = json!({
            "text": text, "from": {"id": person, "is_bot": false, "first_name": format!("P{person}")},
            "chat": {"id": GROUP.id, "type": "supergroup", "title": "A group", "is_forum": true},
        });
        if let Some(topic) = topic {
            fields["message_thread_id"] = topic.into();
            fields["is_topic_message"] = true.into();
        }
        telegram.push(GROUP.with(&fields));
    };
    for round in ["first", "second"] {
        say(1, None, &format!("{round} of 1"));
        say(2, None, &format!("{round} of 2"));
        say(1, Some(12), &format!("{round} of 1 in the topic"));
    }
    for (person, topic) in [(1, None), (2, None), (1, Some(12))] {
        say(person, topic, "/whoami");
    }
    let mut said = asked(&model, 3);
    said.sort();
    assert!(said[0].ends_with("topic 12]\nfirst of 1 in the topic\n\nsecond of 1 in the topic"), "{said:?}");
    assert!(said[1].ends_with("\nfirst of 1\n\nsecond of 1"), "{said:?}");
    assert!(said[2].ends_with("\nfirst of 2\n\nsecond of 2"), "{said:?}");
}

/// A message in the group, which need not speak to the bot.
fn in_group(person: i64, number: i64, fields: &Value) -> Value {
    let mut fields = fields.clone();
    fields["from"] = json!({"id": person, "is_bot": false, "first_name": "Ada"});
    numbered(GROUP.with(&fields), number)
}

#[test]
fn the_pieces_of_a_long_text_belong_to_the_first_that_mentions_the_bot() {
    let (telegram, model) = (FakeTelegram::start(), model());
    let mut system = builder(&telegram, &model, LONG).start();
    let piece = |word: &str| [word; 525].join(" ");
    let says = |person, number, text: &str| {
        telegram.push(in_group(person, number, &json!({"text": text})));
    };
    says(1, 1, "what about lunch?");
    says(1, 2, &format!("@fake_bot {}", piece("one")));
    says(2, 3, "they write a lot");
    wait::until_true("they are stored", || telegram.unconfirmed() == 0);
    system.kill();
    system.restart();
    says(1, 4, &piece("two"));
    let answered = json!({
        "message_id": 3, "date": 1, "chat": {"id": -77, "type": "group", "title": "A group"},
        "from": {"id": 2, "is_bot": false, "first_name": "Bob"}, "text": "they write a lot",
    });
    telegram.push(in_group(1, 5, &json!({"text": "as you said", "reply_to_message": answered})));
    says(1, 6, "three");
    // The one before it was not full.
    says(1, 7, "lunch now?");
    wait::until_true("they are stored", || telegram.unconfirmed() == 0);
    let edit = in_group(1, 4, &json!({"text": "2"}));
    telegram.push(json!({"edited_message": edit["message"]}));
    telegram.push(in_group(1, 8, &json!({"text": "/whoami@fake_bot"})));
    let said = asked(&model, 1).remove(0);
    let said = said.split_once('\n').unwrap().1;
    assert_eq!(said, format!("{}\n2\nthree", piece("one")));
    let skipped = "select error from inbox where message_id in ('1', '3', '5', '7') order by seq";
    assert_eq!(system.database().texts(skipped), ["the message does not speak to the bot"; 4]);
}

#[test]
fn the_pictures_of_an_album_belong_to_the_one_that_mentions_the_bot() {
    let (telegram, model) = (FakeTelegram::start(), model());
    let _system = builder(&telegram, &model, LONG).start();
    for (number, album, caption) in [(1, "g", "@fake_bot what is this?"), (2, "g", ""), (3, "h", "")] {
        let id = format!("photo-{number}");
        telegram.add_file(&id, "a picture");
        let photo = ADA.photo_of(&id, caption)["message"]["photo"].clone();
        let fields = json!({"photo": photo, "caption": caption, "media_group_id": album});
        telegram.push(in_group(1, number, &fields));
    }
    telegram.push(in_group(1, 4, &json!({"text": "/whoami@fake_bot"})));
    let said = asked(&model, 1).remove(0);
    assert!(said.contains("what is this?"), "{said}");
    assert_eq!(said.matches("- photo: ").count(), 2, "{said}");
}

#[test]
fn a_command_between_ends_what_came_before_it() {
    let (telegram, model) = (FakeTelegram::start(), model());
    let _system = started(&telegram, &model, LONG);
    for text in ["one", "two", "/whoami", "three", "/ls path=.", "four", "/whoami"] {
        telegram.push(ADA.text(text));
    }
    let said = asked(&model, 4);
    let bodies: Vec<&str> = said.iter().map(|said| said.split_once("]\n").map_or(&**said, |s| s.1)).collect();
    assert_eq!(bodies, ["one\n\ntwo", "three", "/ls path=.", "four"]);
}

#[test]
fn an_edit_of_a_part_changes_that_part_and_corrects_one_that_was_read() {
    let (telegram, model) = (FakeTelegram::start(), model());
    let _system = started(&telegram, &model, LONG);
    for (number, text) in [(1, "one"), (2, "tow"), (3, "three")] {
        telegram.push(numbered(ADA.text(text), number));
    }
    telegram.push(numbered(ADA.edited("two"), 2));
    telegram.push(numbered(ADA.edited("ONE"), 1));
    telegram.push(numbered(ADA.text("four"), 4));
    end(&telegram);
    assert_eq!(asked_once(&model), "ONE\n\ntwo\n\nthree\n\nfour");
    telegram.wait_for_sent(2);
    telegram.push(numbered(ADA.edited("2"), 2));
    let said = asked(&model, 2);
    assert!(said[1].ends_with("[A correction of an earlier message:]\n\n2"), "{said:?}");
}

#[test]
fn a_kill_after_each_part_loses_and_doubles_nothing() {
    let (telegram, model) = (FakeTelegram::start(), model());
    let mut system = started(&telegram, &model, LONG);
    for (rows, text) in [(1, "one"), (2, "two"), (3, "three")] {
        let id = telegram.push(numbered(ADA.text(text), rows));
        wait::until_true("it is stored", || system.database().count("select count(*) from inbox") == rows);
        system.kill();
        system.restart();
        telegram.redeliver(id, numbered(ADA.text(text), rows));
        wait::until_true("it came again", || telegram.unconfirmed() == 0);
    }
    end(&telegram);
    assert_eq!(asked_once(&model), "one\n\ntwo\n\nthree");
    telegram.wait_for_sent(2);
    assert_eq!(system.database().task_states(), ["done", "skipped", "skipped", "skipped"]);
}

#[test]
fn what_waited_while_the_bot_was_off_is_gathered_by_when_it_was_sent() {
    let (telegram, model) = (FakeTelegram::start(), model());
    let now = now_seconds();
    for (age, text) in [(300, "one"), (299, "two"), (200, "later"), (100, "last")] {
        telegram.push(ADA.text_at(text, now - age));
    }
    let system = started(&telegram, &model, "1200");
    let said = asked(&model, 3);
    let bodies: Vec<&str> = said.iter().map(|said| said.split_once("]\n").unwrap().1).collect();
    assert_eq!(bodies, ["one\n\ntwo", "later", "last"]);
    telegram.wait_for_sent(3);
    assert_eq!(system.database().task_states(), ["done", "skipped", "done", "done"]);
}
