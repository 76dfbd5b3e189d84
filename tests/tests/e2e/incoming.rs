//! Telegram's messages besides text: files that are fetched and stored, and voice that becomes text.

use std::collections::BTreeMap;
use std::fs;

use harness::fake_telegram::texts;
use harness::fake_telegram::update::ADA;
use harness::{
    FakeModel, FakeTelegram, FakeTranscriber, Fault, ModelReply, System, fake_transcriber, leftovers, wait,
};
use serde_json::{Value, json};

use crate::assert_says;
use crate::gathering::numbered;
use crate::images::{PIXEL, pixel};

const MEGABYTE: usize = 1 << 20;

fn says(text: &str) -> ModelReply {
    ModelReply::Text(text.to_owned())
}

fn started(telegram: &FakeTelegram, model: &FakeModel) -> System {
    let builder = System::builder().telegram(telegram, "4711").model(model);
    builder.variable("AUTONOUS_MODEL_VISION", "true").start()
}

/// The files that came in with Ada's chat.
fn stored(system: &System) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(system.dir().data().join("state/inbox/telegram-4711"));
    let file = |entry: fs::DirEntry| {
        (entry.file_name().to_string_lossy().into_owned(), fs::read(entry.path()).unwrap())
    };
    entries.into_iter().flatten().map(|entry| file(entry.unwrap())).collect()
}

/// The only one.
fn the_stored(system: &System) -> (String, Vec<u8>) {
    let files = stored(system);
    assert_eq!(files.len(), 1, "{:?}", files.keys());
    files.into_iter().next().unwrap()
}

/// What the user says in a request.
pub(crate) fn asked(request: &Value) -> String {
    let messages = request["messages"].as_array().unwrap().iter();
    let asked = messages.filter(|message| message["role"] == "user");
    asked.map(|message| message["content"].to_string()).collect()
}

#[test]
fn a_model_that_sees_is_shown_the_photo_that_it_is_asked_about() {
    let (telegram, model) = (FakeTelegram::start(), FakeModel::answering(vec![says("A single dot.")]));
    telegram.add_file("large", pixel());
    let system = started(&telegram, &model);
    telegram.push(ADA.photo_of("large", "what is on it?"));
    assert_eq!(texts(&telegram.wait_for_sent(1)), ["A single dot."]);
    let said = asked(&model.requests()[0]);
    let parts = ["what is on it?", "- photo: ", "/state/inbox/telegram-4711/", "image/jpeg", "70 bytes"];
    assert_says(&said, &parts);
    assert_says(&said, &["image_url", &format!("base64,{PIXEL}")]);
    let (name, content) = the_stored(&system);
    assert!(name.ends_with(".jpg") && said.contains(&name), "{name}: {said}");
    assert_eq!(content, pixel());
}

#[test]
fn a_document_is_stored_under_a_name_of_ours_and_read_by_a_command() {
    let telegram = FakeTelegram::start();
    let read = json!({"cmd": "head -c 8 ../state/inbox/telegram-4711/*.pdf | tr -d '\\n'"});
    let model = FakeModel::answering(vec![ModelReply::call("bash", &read), says("It is a PDF.")]);
    telegram.add_file("pdf", [b"%PDF-1.7\n".as_slice(), &[0; 5000]].concat());
    let system = started(&telegram, &model);
    telegram.push(ADA.document("pdf", "../../.git/hooks/evil\n.pdf", "application/pdf", 5009));
    assert_eq!(texts(&telegram.wait_for_sent(1)), ["It is a PDF."]);
    let parts = ["- document: ", "application/pdf, 5009 bytes", "its sender calls"];
    assert_says(&asked(&model.requests()[0]), &parts);
    assert_says(&model.requests()[1]["messages"].to_string(), &["%PDF-1.7"]);
    let (name, _) = the_stored(&system);
    assert!(name.ends_with(".pdf") && !name.contains("evil"), "{name}");
    let calls = "select payload ->> 'tool_name' from events where type = 'tool_call.completed'";
    let calls = system.database().texts(calls);
    assert!(calls.contains(&"file_upload".to_owned()), "{calls:?}");
}

#[test]
fn a_file_that_telegram_does_not_give_out_is_refused_with_words() {
    let (telegram, model) = (FakeTelegram::start(), FakeModel::answering(vec![says("I see.")]));
    let system = started(&telegram, &model);
    telegram.push(ADA.document("large", "film.mp4", "video/mp4", 25 * MEGABYTE));
    assert_says(&telegram.wait_for_sent(1)[0].text, &["too large", "20 MiB"]);
    assert_eq!(system.database().task_states(), ["skipped"]);
    // One with a false size, and one that is gone.
    telegram.add_file("wrong", vec![0; 25 * MEGABYTE]);
    telegram.push(ADA.document("wrong", "a.bin", "application/octet-stream", 10));
    assert_says(&telegram.wait_for_sent(3)[1].text, &["could not store the document", "file is too big"]);
    assert_says(&asked(&model.requests()[0]), &["document", "not stored", "file is too big"]);
    assert_eq!((stored(&system).len(), telegram.downloads()), (0, 0));
}

#[test]
fn an_album_is_one_task_with_all_of_its_photos() {
    let (telegram, model) = (FakeTelegram::start(), FakeModel::answering(vec![says("Three dots.")]));
    let system = started(&telegram, &model);
    for (number, caption) in [(1, "count them"), (2, ""), (3, "")] {
        let id = format!("photo-{number}");
        telegram.add_file(&id, pixel());
        let mut update = numbered(ADA.photo_of(&id, caption), number);
        update["message"]["media_group_id"] = "album".into();
        telegram.push(update);
    }
    assert_eq!(texts(&telegram.wait_for_sent(1)), ["Three dots."]);
    let said = asked(&model.requests()[0]);
    assert_eq!(said.matches("- photo: ").count(), 3, "{said}");
    assert_eq!(said.matches(PIXEL).count(), 3, "{said}");
    assert_eq!((model.requests().len(), stored(&system).len()), (1, 3));
    assert_eq!(system.database().task_states(), ["done", "skipped", "skipped"]);
}

/// The model's text of a voice message, with these settings.
fn told_of_a_voice_message(variables: &[(&str, &str)]) -> String {
    let (telegram, model) = (FakeTelegram::start(), FakeModel::answering(vec![says("ok")]));
    telegram.add_file("voice", "spoken words");
    let builder = System::builder().telegram(&telegram, "4711").model(&model);
    let system = builder.variables(variables).start();
    let voice = json!({
        "file_id": "voice", "file_unique_id": "v", "file_size": 12, "duration": 2, "mime_type": "audio/ogg",
    });
    telegram.push(ADA.saying(&json!({"voice": voice})));
    assert_eq!(texts(&telegram.wait_for_sent(1)), ["ok"]);
    assert_eq!(stored(&system).len(), 1);
    asked(&model.requests()[0]).replace('\\', "")
}

#[test]
fn a_voice_message_comes_in_words_or_as_a_file_that_nobody_has_listened_to() {
    let service = FakeTranscriber::hearing("Buy milk.");
    let told = told_of_a_voice_message(&[
        ("AUTONOUS_TRANSCRIBE", &service.url()),
        ("AUTONOUS_TRANSCRIBE_API_KEY", fake_transcriber::KEY),
    ]);
    assert_says(&told, &["- voice message: ", "audio/ogg, 12 bytes", "It says: \"Buy milk.\""]);
    let [form] = service.heard().try_into().unwrap();
    assert_says(&String::from_utf8_lossy(&form), &["spoken words", "whisper-1", ".ogg"]);

    let refused = told_of_a_voice_message(&[("AUTONOUS_TRANSCRIBE", &service.url())]);
    assert_says(&refused, &["- voice message: ", "Nobody has listened to it", "401"]);
    let told = told_of_a_voice_message(&[("AUTONOUS_TRANSCRIBE", "sed -e s/spoken/heard/")]);
    assert_says(&told, &["It says: \"heard words\""]);
    let told = told_of_a_voice_message(&[("AUTONOUS_TRANSCRIBE", "false")]);
    assert_says(&told, &["Nobody has listened to it: the transcription failed"]);
    let told = told_of_a_voice_message(&[]);
    assert_says(&told, &["- voice message: ", "no transcription is set up (AUTONOUS_TRANSCRIBE)"]);
}

#[test]
fn what_is_no_file_is_put_into_words_and_a_reply_brings_what_it_answers() {
    let telegram = FakeTelegram::start();
    let model = FakeModel::answering((0..4).map(|_| says("ok")).collect());
    telegram.add_file("plan", "the plan");
    let _system = started(&telegram, &model);
    let document = json!({"file_id": "plan", "file_unique_id": "p", "file_name": "plan.txt", "file_size": 8});
    let answered = json!({
        "message_id": 5, "date": 1, "chat": {"id": 4711, "type": "private", "first_name": "Ada"},
        "from": {"id": 9, "is_bot": false, "first_name": "Bob"}, "document": document, "caption": "read this",
    });
    let option = |text: &str| json!({"persistent_id": text, "text": text, "voter_count": 2});
    let poll = json!({
        "id": "1", "question": "Where?", "options": [option("here"), option("there")], "total_voter_count": 4,
        "is_closed": false, "is_anonymous": true, "type": "regular", "allows_multiple_answers": false,
        "allows_revoting": false, "members_only": false,
    });
    for (fields, parts) in [
        (json!({"location": {"latitude": 52.5, "longitude": 13.25}}), vec!["latitude 52.5, longitude 13.25"]),
        (json!({"contact": {"phone_number": "+491", "first_name": "Bob"}}), vec!["Bob", "+491"]),
        (json!({"poll": poll}), vec!["Where?", "here", "there"]),
        (json!({"dice": {"emoji": "🎲", "value": 4}}), vec!["Thrown: Dice, which shows 4"]),
        (
            json!({"text": "is it good?", "reply_to_message": answered}),
            vec!["In reply to", "Bob", "read this", "is it good?", "- document: ", "8 bytes"],
        ),
    ] {
        let number = model.requests().len();
        telegram.push(ADA.saying(&fields));
        telegram.wait_for_sent(number + 1);
        assert_says(&asked(&model.requests()[number]).replace('\\', ""), &parts);
    }
}

/// A photo whose download has stopped in the middle.
fn held() -> (FakeTelegram, FakeModel, System) {
    let (telegram, model) = (FakeTelegram::start(), FakeModel::answering(vec![says("I see it.")]));
    telegram.add_file("large", pixel().repeat(20_000));
    telegram.hold_downloads(true);
    let system = started(&telegram, &model);
    telegram.push(ADA.document("large", "a.bin", "application/octet-stream", 9));
    wait::until_true("the download has begun", || telegram.downloads() > 0);
    (telegram, model, system)
}

fn assert_stored_once(telegram: &FakeTelegram, model: &FakeModel, system: &System) {
    assert_eq!(texts(&telegram.wait_for_sent(1)), ["I see it."]);
    assert_eq!(the_stored(system).1, pixel().repeat(20_000));
    leftovers::assert_no_temporary_file(&system.dir().data().join("state"));
    assert_eq!((model.requests().len(), system.database().task_states()), (1, vec!["done".to_owned()]));
}

#[test]
fn a_kill_of_any_process_during_a_download_leaves_nothing_half_and_nothing_twice() {
    let (telegram, model, mut system) = held();
    system.kill();
    telegram.hold_downloads(false);
    system.restart();
    assert_stored_once(&telegram, &model, &system);

    for child in ["tool-server", "agent-worker"] {
        let (telegram, model, system) = held();
        system.kill_child(child);
        telegram.hold_downloads(false);
        assert_stored_once(&telegram, &model, &system);
    }
}

#[test]
fn a_download_that_fails_is_tried_again_while_others_go_on() {
    let (telegram, model) = (FakeTelegram::start(), FakeModel::answering(vec![says("one"), says("two")]));
    telegram.add_file("f", "content");
    telegram.fail("getFile", Fault::ServerError);
    let system = started(&telegram, &model);
    telegram.push(ADA.document("f", "a.txt", "text/plain", 7));
    assert_eq!(texts(&telegram.wait_for_sent(1)), ["one"]);
    assert_eq!((the_stored(&system).1, telegram.calls("getFile").len()), (b"content".to_vec(), 2));
}

#[test]
fn a_file_that_does_not_come_is_named_while_it_is_tried_again() {
    let (telegram, model) = (FakeTelegram::start(), FakeModel::answering(vec![says("one")]));
    telegram.add_file("f", "content");
    (0..4).for_each(|_| telegram.fail("getFile", Fault::ServerError));
    let _system = started(&telegram, &model);
    telegram.push(ADA.document("f", "film.mp4", "video/mp4", 7));
    let notice = "I cannot fetch film.mp4 yet; I keep trying.";
    assert_eq!(texts(&telegram.wait_for_sent(2)), [notice, "one"]);
    assert!(telegram.progress().iter().any(|sent| sent.text == "Fetching film.mp4"));
}

#[test]
fn what_is_written_behind_a_file_that_hangs_is_answered_within_twenty_seconds_or_so() {
    let (telegram, model) = (FakeTelegram::start(), FakeModel::start(|_| says("I see it.")));
    telegram.add_file("f", "content");
    telegram.hold_downloads(true);
    let system = started(&telegram, &model);
    telegram.push(ADA.document("f", "film.mp4", "video/mp4", 7));
    wait::until_true("the download has begun", || telegram.downloads() > 0);
    telegram.push(ADA.text("are you there?"));
    let notice = "I cannot fetch film.mp4 yet; I keep trying.";
    assert_eq!(texts(&telegram.wait_for_sent(2)), [notice, "I see it."]);
    telegram.hold_downloads(false);
    assert_eq!(texts(&telegram.wait_for_sent(3))[2], "I see it.");
    assert_eq!(system.database().task_states(), ["done", "done"]);
    assert_eq!(stored(&system).len(), 1);
}

#[test]
fn files_are_fetched_at_once_after_a_break_of_the_network() {
    let (telegram, model) = (FakeTelegram::start(), FakeModel::start(|_| says("I see it.")));
    telegram.add_file("f", "content");
    telegram.fail("getFile", Fault::ServerError);
    let system = started(&telegram, &model);
    telegram.push(ADA.document("f", "a.txt", "text/plain", 7));
    let attempts = || system.database().count("select coalesce(max(attempt), 0) from attachments");
    wait::until_true("an attempt has failed", || attempts() == 1);
    telegram.cut(true);
    // The next attempt is after 16 seconds.
    wait::until_true("its pause has grown", || attempts() == 5);
    let before = system.database().count("select available_at_ms from attachments");
    telegram.cut(false);
    wait::until_true("the file is there", || stored(&system).len() == 1);
    assert!(protocol::now_ms() < before, "it was not waited for");
}

#[test]
fn an_edit_replaces_what_has_not_begun_and_corrects_what_has() {
    let telegram = FakeTelegram::start();
    let (release, held) = std::sync::mpsc::channel::<()>();
    let mut is_first = true;
    let model = FakeModel::start(move |_| {
        if std::mem::take(&mut is_first) {
            let _ = held.recv_timeout(wait::SOON);
        }
        says("ok")
    });
    let system = started(&telegram, &model);
    telegram.push(numbered(ADA.text("first"), 1));
    wait::until_true("the model works on it", || !model.requests().is_empty());
    telegram.push(numbered(ADA.text("secnod"), 2));
    telegram.push(numbered(ADA.edited("second"), 2));
    telegram.push(numbered(ADA.edited("the first, corrected"), 1));
    telegram.push(numbered(ADA.edited("of an unknown message"), 3));
    wait::until_true("the edits are stored", || telegram.unconfirmed() == 0);
    let _ = release.send(());
    telegram.wait_for_sent(3);
    let last =
        |request: &Value| request["messages"].as_array().unwrap().last().unwrap()["content"].to_string();
    let said: Vec<String> = model.requests().iter().map(last).collect();
    assert_eq!(said.len(), 3, "{said:?}");
    assert_says(&said[1], &["second"]);
    assert_says(&said[2], &["A correction of an earlier message", "the first, corrected"]);
    assert!(!said.concat().contains("secnod") && !said.concat().contains("unknown"), "{said:?}");
    let edited = "select queued.payload ->> 'text' || ' > ' || (edited.payload ->> 'text')
                  from events as edited join events as queued on queued.id = edited.parent_id
                  where edited.type = 'task.edited'";
    assert_eq!(system.database().texts(edited), ["secnod > second"]);
}

#[test]
fn an_edit_that_changes_nothing_and_a_live_location_that_moves_are_no_tasks() {
    let (telegram, model) = (FakeTelegram::start(), FakeModel::answering(vec![says("ok")]));
    telegram.add_file("plan", "the plan");
    let system = started(&telegram, &model);
    let place = |meters: u32| {
        let latitude = 52.5 + f64::from(meters) / 100_000.0;
        json!({"location": {"latitude": latitude, "longitude": 13.25, "live_period": 900}})
    };
    let document = json!({
        "document": {"file_id": "plan", "file_unique_id": "p", "file_name": "plan.txt", "file_size": 8},
        "caption": "read it",
    });
    for (count, said) in [(1, json!({"text": "hello"})), (2, document.clone()), (3, place(0))] {
        telegram.push(numbered(ADA.saying(&said), count));
        telegram.wait_for_sent(usize::try_from(count).unwrap());
    }
    let edited = |number: i64, fields: Value| {
        telegram.push(json!({"edited_message": numbered(ADA.saying(&fields), number)["message"]}));
    };
    edited(1, json!({"text": "hello"}));
    edited(2, document);
    (1..4).for_each(|step| edited(3, place(step)));
    edited(1, json!({"text": "hello, corrected"}));
    edited(1, json!({"text": "hello, corrected"}));
    telegram.wait_for_sent(4);
    wait::until_true("the edits are stored", || telegram.unconfirmed() == 0);
    telegram.push(numbered(ADA.text("last"), 4));
    telegram.wait_for_sent(5);
    let asked = system.database().texts("select text from inbox where state = 'done' order by seq");
    assert_eq!(asked.len(), 5, "{asked:?}");
    assert_says(&asked[3], &["A correction of an earlier message", "hello, corrected"]);
    assert_eq!((asked[4].as_str(), telegram.sent().len()), ("last", 5));
}
