//! The tools that a model has in Telegram: their messages, the chats they reach, and that a kill neither
//! loses nor doubles it.

use std::fs;

use harness::fake_telegram::texts;
use harness::fake_telegram::update::ADA;
use harness::{FakeModel, FakeTelegram, Fault, ModelReply, Request, System, wait};
use serde_json::{Value, json};

use crate::{assert_says, call_for, with_telegram};

/// The reactions that Telegram shows: the message and the emoji of each.
fn reactions(telegram: &FakeTelegram) -> Vec<(Option<i64>, String)> {
    let sent = telegram.sent();
    let reactions = sent.iter().filter(|sent| sent.method == "setmessagereaction");
    reactions.map(|sent| (sent.target, sent.text.clone())).collect()
}

fn names_of_tools(request: &Value) -> Vec<String> {
    let tools = request["tools"].as_array().cloned().unwrap_or_default();
    tools.iter().filter_map(|tool| tool["function"]["name"].as_str().map(str::to_owned)).collect()
}

/// Sends a file into Ada's chat.
fn send(system: &System, arguments: &Value) -> Value {
    call_for(system, "telegram:4711", "telegram_send_file", arguments).json()
}

#[test]
fn a_reaction_goes_to_the_message_that_asked_and_is_an_event_of_the_turn() {
    let telegram = FakeTelegram::start();
    let model =
        FakeModel::telling(ModelReply::call("telegram_react", &json!({"emoji": "❤️", "is_big": true})));
    let system = System::builder().telegram(&telegram, "4711").model(&model).start();
    telegram.push(ADA.text("thank you"));
    let sent = telegram.wait_for_sent(2);
    let methods: Vec<&str> = sent.iter().map(|sent| sent.method.as_str()).collect();
    assert_eq!(methods, ["setmessagereaction", "sendmessage"], "{sent:?}");
    assert!(sent[1].text.contains("on its way"), "{sent:?}");
    let asked = system.database().count("select cast(message_id as bigint) from inbox");
    assert_eq!(reactions(&telegram), [(Some(asked), "❤".to_owned())]);
    assert!(names_of_tools(&model.requests()[0]).iter().any(|name| name == "telegram_send_file"));
    let tree = "select parent.type || ' ' || called.type || ' ' || below.type
                from events as called
                join events as parent on parent.id = called.parent_id
                join events as below on below.parent_id = called.id
                where called.payload ->> 'tool_name' = 'telegram_react' order by below.seq";
    let expected =
        ["turn.started tool_call.started reply.queued", "turn.started tool_call.started tool_call.completed"];
    assert_eq!(system.database().texts(tree), expected);
    assert_eq!(system.database().count("select is_big from outbox where kind = 'reaction'"), 1);
}

#[test]
fn people_make_the_same_calls_at_the_control_port() {
    let (telegram, system) = with_telegram();
    let react = |session: &str, arguments: Value| call_for(&system, session, "telegram_react", &arguments);
    let answer = react("telegram:4711", json!({"emoji": "🔥", "message_id": 7}));
    let done = answer.json();
    assert_eq!((answer.status, &done["ok"]), (200, &json!(true)), "{done}");
    assert_eq!(done["meta"]["data"]["message_id"], 7, "{done}");
    telegram.wait_for_sent(1);
    assert_eq!(reactions(&telegram), [(Some(7), "🔥".to_owned())]);
    for (session, arguments, status, code, part) in [
        ("telegram:4711", json!({"emoji": "😂", "message_id": 7}), 400, "INVALID_ARGUMENT", "🤣"),
        ("telegram:4711", json!({"emoji": "👍"}), 400, "INVALID_ARGUMENT", "message_id"),
        ("telegram:4711", json!({"emoji": "👍", "message_id": 0}), 400, "INVALID_ARGUMENT", "message_id"),
        ("telegram:4711", json!({"message_id": 7}), 400, "INVALID_ARGUMENT", "emoji"),
        (
            "telegram:4711",
            json!({"emoji": "👍", "message_id": 7, "chat_id": 666}),
            403,
            "TOOL_NOT_ALLOWED",
            "does not write to this chat",
        ),
        (
            "telegram:666",
            json!({"emoji": "👍", "message_id": 7}),
            403,
            "TOOL_NOT_ALLOWED",
            "does not write to this chat",
        ),
        ("local:a", json!({"emoji": "👍", "message_id": 7}), 403, "TOOL_NOT_ALLOWED", "telegram"),
    ] {
        let answer = react(session, arguments.clone());
        let error = &answer.json()["meta"]["error"];
        assert_eq!((answer.status, &error["code"]), (status, &json!(code)), "{arguments}: {error}");
        assert_says(&error.to_string(), &[part]);
    }
    assert_eq!(call_for(&system, "telegram:4711", "fly", &json!({})).status, 404);
    let without_session = system.control(Request::post_json("/tools/telegram_react", &json!({})));
    assert_eq!(without_session.status, 403, "{}", without_session.text());
    assert_eq!(reactions(&telegram).len(), 1);
}

#[test]
fn a_file_arrives_as_it_was_when_it_was_asked_for() {
    let telegram = FakeTelegram::start();
    telegram.fail("sendDocument", Fault::RetryAfter(1));
    let mut system = System::builder().telegram(&telegram, "4711").workers(1).start();
    let file = system.workspace().join("ä report.txt");
    let bytes: Vec<u8> = (0..=255).cycle().take(3_000_000).collect();
    fs::write(&file, &bytes).unwrap();
    let arguments = json!({"path": "ä report.txt", "caption": "**for** you"});
    telegram.push(ADA.text(&format!("telegram_send_file {arguments}")));
    wait::until_true("the file is on its way", || !telegram.calls("sendDocument").is_empty());
    fs::write(&file, "changed since").unwrap();
    system.kill();
    system.restart();
    let sent = telegram.wait_for_sent(2);
    assert_eq!((sent[0].method.as_str(), sent[0].text.as_str()), ("senddocument", "for you"));
    assert_eq!(sent[0].entities, json!([{"type": "bold", "offset": 0, "length": 3}]));
    assert_eq!(sent[0].file, Some(("ä report.txt".to_owned(), bytes)));
    assert_eq!(sent.iter().filter(|sent| sent.method == "senddocument").count(), 1, "{:?}", texts(&sent));
}

#[test]
fn a_caption_whose_formatting_is_refused_comes_as_plain_text_with_the_whole_file() {
    let (telegram, system) = with_telegram();
    fs::write(system.workspace().join("a.txt"), "all of it").unwrap();
    telegram.fail("sendDocument", Fault::BadRequest);
    let arguments = json!({"path": "a.txt", "caption": "see `it` [here](https://example.org/a)"});
    send(&system, &arguments);
    let sent = telegram.wait_for_sent(1).remove(0);
    assert_eq!((sent.text.as_str(), &sent.entities), ("see it here (https://example.org/a)", &Value::Null));
    assert_eq!(sent.file, Some(("a.txt".to_owned(), b"all of it".to_vec())));
    assert_eq!(telegram.calls("sendDocument").len(), 2);
}

/// A file of PNG with these edges, of which Telegram reads the beginning and the end.
fn png(width: u32, height: u32) -> Vec<u8> {
    let head = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR".as_slice();
    let end = b"\x08\x02\0\0\0\0\0\0\0\0\0\0\0IEND\xae\x42\x60\x82".as_slice();
    [head, &width.to_be_bytes(), &height.to_be_bytes(), end].concat()
}

#[test]
fn a_file_is_shown_as_what_it_is_by_its_bytes_and_else_comes_as_a_document() {
    let (telegram, system) = with_telegram();
    let mp4 = [b"\0\0\0\x18ftypisom\0\0\x02\0".as_slice(), &[0; 64]].concat();
    let torn = png(100, 50)[..30].to_vec();
    let large = [png(100, 50)[..24].to_vec(), vec![0; 10_000_000]].concat();
    for (number, (name, bytes, more, method)) in [
        ("chart.txt", png(100, 50), json!({}), "sendphoto"),
        ("chart.png", png(100, 50), json!({"as_document": true}), "senddocument"),
        ("long.png", png(6000, 100), json!({}), "senddocument"),
        ("large.png", large, json!({}), "senddocument"),
        ("a.mp4", mp4, json!({}), "sendvideo"),
        ("a.mp3", b"ID3\x04\0\0".to_vec(), json!({}), "sendaudio"),
        ("text.png", b"no picture".to_vec(), json!({}), "senddocument"),
        // Telegram finds that it is none.
        ("torn.png", torn, json!({}), "senddocument"),
    ]
    .into_iter()
    .enumerate()
    {
        fs::write(system.workspace().join(name), &bytes).unwrap();
        let mut arguments = json!({"path": name, "caption": "**see**"});
        more.as_object().unwrap().iter().for_each(|(key, value)| arguments[key] = value.clone());
        send(&system, &arguments);
        let sent = telegram.wait_for_sent(number + 1).remove(number);
        assert_eq!((sent.method.as_str(), sent.text.as_str()), (method, "see"), "{name}");
        assert_eq!(sent.file, Some((name.to_owned(), bytes)), "{name}");
        assert_eq!(sent.entities, json!([{"type": "bold", "offset": 0, "length": 3}]));
    }
    let photos = system.database().texts("select media from outbox where media is not null");
    assert_eq!(photos, ["photo", "video", "audio", "photo"]);
}

#[test]
fn a_file_that_cannot_be_sent_is_refused_with_what_to_do() {
    let (telegram, system) = with_telegram();
    let workspace = system.workspace();
    fs::create_dir(workspace.join("it's")).unwrap();
    fs::write(workspace.join("empty"), "").unwrap();
    fs::write(workspace.join("a.txt"), "a").unwrap();
    fs::File::create(workspace.join("huge")).unwrap().set_len(50_000_001).unwrap();
    fs::File::create(workspace.join("large")).unwrap().set_len(50_000_000).unwrap();
    let long = "x".repeat(1025);
    for (arguments, code, part) in [
        (json!({"path": "it's"}), "IS_DIRECTORY", "tar -czf archive.tar.gz -- 'it'"),
        (json!({"path": "gone"}), "NOT_FOUND", "gone"),
        (json!({"path": "/etc/hostname"}), "PATH_OUTSIDE_ROOTS", "/etc/hostname"),
        (json!({"path": "empty"}), "INVALID_ARGUMENT", "empty"),
        (json!({"path": "huge"}), "FILE_TOO_LARGE", "50000001 bytes"),
        (json!({"path": "a.txt", "caption": long}), "INVALID_ARGUMENT", "1025"),
        (json!({"path": "a.txt", "filename": "a/b"}), "INVALID_ARGUMENT", "filename"),
        (json!({"path": "a.txt", "chat_id": 666}), "TOOL_NOT_ALLOWED", "AUTONOUS_TELEGRAM_ALLOWED_CHATS"),
        (json!({}), "INVALID_ARGUMENT", "path"),
    ] {
        let error = send(&system, &arguments)["meta"]["error"].clone();
        assert_eq!(error["code"], code, "{arguments}: {error}");
        assert_says(&error.to_string(), &[part]);
    }
    assert_eq!(system.database().count("select count(*) from outbox"), 0);
    let largest = send(&system, &json!({"path": "large", "filename": "as asked.bin"}));
    assert_eq!(largest["meta"]["data"]["files"][0]["size_bytes"], 50_000_000, "{largest}");
    let (name, bytes) = telegram.wait_for_sent(1).remove(0).file.expect("a file is sent");
    assert_eq!((name.as_str(), bytes.len()), ("as asked.bin", 50_000_000));
}
