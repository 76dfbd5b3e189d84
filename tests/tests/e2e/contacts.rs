//! `contacts_send`: the people it reaches, those it refuses and why, once per call, and the notes afterwards.

use std::fs;
use std::path::PathBuf;

use harness::fake_model::results;
use harness::fake_telegram::update::ADA;
use harness::{FakeModel, FakeTelegram, Fault, ModelReply, System, wait};
use serde_json::{Value, json};

use crate::{assert_says, call_for};

const ANNA: i64 = 12;
const GROUP: i64 = -77;

const ALLOW: &str = "[[rule]]\ntools = [\"contacts_send\"]\ndecision = \"allow\"\n";

const ACTIVE: &str = "---\nupdated_at: 2026-11-22T09:00:00Z\n---\n# Contacts\n\n## Anna\n\n```yaml\n\
contact_id: \"tg:@anna\"\nnickname: Anna\nkind: human\nchannel: telegram\ntg_username: anna\n\
tg_private_chat_id: 12 # hers\ntg_group_chat_ids: [-77]\ncooldown_until: null\n```\n\nLikes trains.\n\n\
## Bert\n```yaml\ncontact_id: bert\ntg_group_chat_ids: [-77]\n```\n\
## Clara\n```yaml\ncontact_id: clara\nchannel: slack\n```\n\
## Dora\n```yaml\ncontact_id: dora\ntg_private_chat_id: 666\n```\n\
## Emil\n```yaml\ncontact_id: emil\ntg_private_chat_id: 12\ncooldown_until: 2999-01-01T00:00:00Z\n```\n\
## Fred\n```yaml\ncontact_id: fred\ntg_private_chat_id: 12\ncooldown_until: soon\n```\n\
## Gus\n```yaml\ncontact_id: gus\nkind: cat\n```\n\
## Hans\n```yaml\ncontact_id: hans\ntg_private_chat_id: 12\n```\n\
## Ida\n```yaml\ncontact_id: ida\ntg_private_chat_id: 12\ncooldown_until: 2020-01-01T00:00:00Z\n```\n";

const INACTIVE: &str = "## Hans\n```yaml\ncontact_id: hans\ntg_private_chat_id: 12\n```\n";

/// A system whose bot may write to Ada, Anna and a group, with contacts.
fn system(model: Option<&FakeModel>, rules: Option<&str>) -> (FakeTelegram, System) {
    let telegram = FakeTelegram::start();
    let builder = System::builder().telegram(&telegram, "4711,12,-77").workers(1);
    let builder = builder.variable("AUTONOUS_APPROVERS", "4711");
    let builder = rules.into_iter().fold(builder, |builder, rules| builder.policy(rules));
    let contacts = builder.dir().data().join("state/contacts");
    fs::create_dir_all(&contacts).unwrap();
    fs::write(contacts.join("ACTIVE.md"), ACTIVE).unwrap();
    fs::write(contacts.join("INACTIVE.md"), INACTIVE).unwrap();
    let system = model.into_iter().fold(builder, |builder, model| builder.model(model)).start();
    (telegram, system)
}

fn active(system: &System) -> PathBuf {
    system.dir().data().join("state/contacts/ACTIVE.md")
}

fn send_from(system: &System, session: &str, arguments: &Value) -> Value {
    call_for(system, session, "contacts_send", arguments).json()
}

fn send(system: &System, arguments: &Value) -> Value {
    send_from(system, "telegram:4711", arguments)
}

/// A message to a contact.
fn to(contact: &str) -> Value {
    json!({"contact_id": contact, "message_text": "Hello"})
}

fn code(envelope: &Value) -> &str {
    envelope["meta"]["error"]["code"].as_str().unwrap_or("none")
}

fn texts_to(telegram: &FakeTelegram, chat: i64) -> Vec<String> {
    let sent = telegram.sent().into_iter();
    let texts =
        sent.filter(|sent| sent.chat_id == chat && sent.method == "sendmessage" && sent.markup.is_null());
    texts.map(|sent| sent.text).collect()
}

#[test]
fn a_message_goes_to_a_chat_of_the_contact_with_its_envelope() {
    let (telegram, system) = system(None, Some(ALLOW));
    let sent = send(&system, &json!({"contact_id": "tg:@anna", "message_text": "Hello", "reply_to": "m1"}));
    let data = &sent["meta"]["data"];
    assert_eq!(sent["ok"], true, "{sent}");
    assert_eq!((&data["chat_id"], &data["topic"]), (&json!("tg:12"), &json!("chat.message")));
    assert_eq!((&data["message_id"], &data["reply_to"]), (&sent["meta"]["call_id"], &json!("m1")));
    let session = data["session_id"].as_str().unwrap();
    assert!(session.len() == 36 && session.as_bytes()[14] == b'7', "{session}");
    assert!(data["sent_at"].as_str().unwrap().ends_with('Z'), "{data}");
    for (contact, chat, expected) in
        [("tg:@anna", "tg:-77", "tg:-77"), ("tg:@anna", "tg:4711", "tg:12"), ("bert", "tg:-77", "tg:-77")]
    {
        let arguments = json!({"contact_id": contact, "message_text": "More", "chat_id": chat,
                               "session_id": session, "content_type": "application/json; charset=utf-8"});
        let sent = send(&system, &arguments);
        assert_eq!(sent["meta"]["data"]["chat_id"], expected, "{sent}");
        assert_eq!(sent["meta"]["data"]["session_id"], session);
        let is_told = sent["meta"]["notices"].to_string().contains("none of the contact's chats");
        assert_eq!(is_told, chat == "tg:4711", "{sent}");
    }
    assert_eq!(send(&system, &json!({"contact_id": "ida", "message_text": "over"}))["ok"], true, "{ACTIVE}");
    wait::until_true("all arrive", || {
        texts_to(&telegram, ANNA).len() == 3 && texts_to(&telegram, GROUP).len() == 2
    });
    assert_eq!(texts_to(&telegram, ANNA), ["Hello", "More", "over"]);
    assert_eq!(texts_to(&telegram, ADA.id), [""; 0]);
}

#[test]
fn whoever_may_not_be_written_to_is_refused_with_the_reason() {
    let (_telegram, system) = system(None, Some(ALLOW));
    let anna = |field: &str, value: Value| {
        let mut arguments = to("tg:@anna");
        arguments[field] = value;
        arguments
    };
    for (arguments, expected, part) in [
        (to("nobody"), "NOT_FOUND", "The contacts are: tg:@anna, bert"),
        (to("hans"), "TOOL_NOT_ALLOWED", "inactive"),
        (to("bert"), "NOT_FOUND", "Its groups are: tg:-77"),
        (to("clara"), "TOOL_NOT_ALLOWED", "slack"),
        (to("dora"), "TOOL_NOT_ALLOWED", "does not write to this chat"),
        (to("emil"), "TOOL_NOT_ALLOWED", "2999-01-01T00:00:00Z"),
        (to("fred"), "CONFLICT", "`cooldown_until`"),
        (to("gus"), "CONFLICT", "`kind` must be human or agent"),
        (json!({"message_text": "Hello"}), "INVALID_ARGUMENT", "contact_id"),
        (json!({"contact_id": "tg:@anna"}), "INVALID_ARGUMENT", "`message_text` is missing"),
        (anna("chat_id", json!("12")), "INVALID_ARGUMENT", "`chat_id`"),
        (anna("chat_id", json!("tg:0")), "INVALID_ARGUMENT", "`chat_id`"),
        (anna("content_type", json!("text/plain")), "INVALID_ARGUMENT", "`content_type`"),
        (anna("content_type", json!("application/json; charset")), "INVALID_ARGUMENT", "`content_type`"),
        (anna("session_id", json!("me")), "INVALID_ARGUMENT", "`session_id`"),
        (anna("message_base64", json!("e30")), "INVALID_ARGUMENT", "exclude each other"),
        (json!({"contact_id": "tg:@anna", "message_base64": "e30"}), "INVALID_ARGUMENT", "`message_id`"),
        (json!({"contact_id": "tg:@anna", "message_base64": "!"}), "INVALID_ARGUMENT", "base64url"),
        (anna("to", json!("me")), "INVALID_ARGUMENT", "to"),
    ] {
        let refused = send(&system, &arguments);
        assert_eq!(code(&refused), expected, "{arguments}: {refused}");
        assert_says(&refused["meta"]["error"].to_string(), &[part]);
    }
    fs::write(active(&system), [0xff, 0xfe]).unwrap();
    assert_eq!(code(&send(&system, &to("tg:@anna"))), "BINARY_FILE");
    fs::write(active(&system), "x".repeat(1 << 21)).unwrap();
    assert_eq!(code(&send(&system, &to("tg:@anna"))), "FILE_TOO_LARGE");
    fs::remove_file(active(&system)).unwrap();
    assert_says(&send(&system, &to("tg:@anna")).to_string(), &["NOT_FOUND", "has no contacts"]);
    assert_eq!(system.database().count("select count(*) from outbox"), 0);
    let elsewhere = send_from(&system, "local:me", &to("tg:@anna"));
    assert_says(&elsewhere.to_string(), &["TOOL_NOT_ALLOWED", "works in chats of telegram or page only"]);
}

#[test]
fn a_message_that_does_not_arrive_sets_a_cooldown_and_one_that_does_clears_it() {
    let (telegram, system) = system(None, Some(ALLOW));
    let hello = to("tg:@anna");
    telegram.fail_chat(ANNA, Some(Fault::Blocked));
    assert_eq!(send(&system, &hello)["ok"], true);
    let noted = wait::until("the failure is noted", || {
        let text = fs::read_to_string(active(&system)).unwrap();
        (text != ACTIVE).then_some(text)
    });
    let until = noted.split("cooldown_until: ").nth(1).unwrap().lines().next().unwrap();
    assert!(until.ends_with('Z') && until != "null", "{until}");
    assert_eq!(noted, ACTIVE.replacen("cooldown_until: null", &format!("cooldown_until: {until}"), 1));
    let refused = send(&system, &hello);
    assert_says(&refused.to_string(), &["TOOL_NOT_ALLOWED", until, "did not arrive"]);

    // Somebody who corrects the file in the meantime loses nothing, and an hour later it may be tried again.
    telegram.fail_chat(ANNA, None);
    let past = noted.replacen(until, "2020-01-01T00:00:00Z", 1) + "\nA line of a person.\n";
    fs::write(active(&system), &past).unwrap();
    assert_eq!(send(&system, &hello)["ok"], true);
    let cleared = past.replacen("2020-01-01T00:00:00Z", "null", 1);
    wait::until_true("it is cleared", || fs::read_to_string(active(&system)).unwrap() == cleared);
    assert_eq!(texts_to(&telegram, ANNA), ["Hello"]);
    wait::until_true("both are settled", || {
        system.database().count("select count(*) from contact_messages where is_open") == 0
    });
}

#[test]
fn a_contact_is_asked_about_until_its_chat_has_written_to_it() {
    let (telegram, system) = system(None, None);
    let hello = to("tg:@anna");
    let asked = send(&system, &hello);
    assert_eq!(code(&asked), "APPROVAL_REQUIRED", "{asked}");
    let (shown, buttons) = telegram.question(ADA, 0);
    let parts = [
        "contacts_send",
        "has not written to this contact before",
        "To Anna (tg:@anna), chat tg:12",
        "Hello",
    ];
    assert_says(&shown.text, &parts);
    assert_eq!(telegram.press_answered(ADA, ADA.id, shown.number, &buttons[0]), "Allowed.");

    // The contact has another chat by now: the yes does not cover it.
    fs::write(active(&system), ACTIVE.replacen("tg_private_chat_id: 12", "tg_private_chat_id: 4711", 1))
        .unwrap();
    assert_eq!(code(&send(&system, &hello)), "APPROVAL_REQUIRED");
    fs::write(active(&system), ACTIVE).unwrap();
    assert_eq!(send(&system, &hello)["ok"], true);
    let again = send(&system, &json!({"contact_id": "tg:@anna", "message_text": "Again"}));
    assert_eq!(again["ok"], true, "they have met");
    let other = send_from(&system, "telegram:-77", &hello);
    assert_eq!(code(&other), "APPROVAL_REQUIRED", "another chat has not");
    assert_eq!(code(&send(&system, &to("ida"))), "APPROVAL_REQUIRED");
    let before = system.database().events_of("approval.requested");
    assert_eq!(code(&send(&system, &to("hans"))), "TOOL_NOT_ALLOWED");
    let after = system.database().events_of("approval.requested");
    assert_eq!(after, before, "nobody is asked about what is refused anyway");
    wait::until_true("both arrive", || texts_to(&telegram, ANNA).len() == 2);
}

/// A yes to one address is none to another that the file of contacts names later.
#[test]
fn a_contact_that_was_met_has_been_met_at_one_address() {
    let (telegram, system) = system(None, None);
    let hello = to("tg:@anna");
    assert_eq!(code(&send(&system, &hello)), "APPROVAL_REQUIRED");
    let (shown, buttons) = telegram.question(ADA, 0);
    telegram.press_answered(ADA, ADA.id, shown.number, &buttons[0]);
    assert_eq!(send(&system, &hello)["ok"], true);
    assert_eq!(send(&system, &hello)["ok"], true, "they have met");
    let group = json!({"contact_id": "tg:@anna", "message_text": "Hello", "chat_id": "tg:-77"});
    assert_eq!(code(&send(&system, &group)), "APPROVAL_REQUIRED", "in a group others read it, too");

    let moved = ACTIVE.replacen("tg_private_chat_id: 12 # hers", "tg_private_chat_id: 4711", 1);
    let anna = "contact_id: \"tg:@anna\"\ntg_private_chat_id: 4711";
    let taken = ACTIVE.replacen("tg:@anna", "tg:@other", 1).replacen("contact_id: bert", anna, 1);
    for changed in [&moved, &taken] {
        fs::write(active(&system), changed).unwrap();
        let asked = send(&system, &hello);
        assert_eq!(code(&asked), "APPROVAL_REQUIRED", "{changed}: {asked}");
    }
    // A yes for the whole chat is one to this address, too.
    fs::write(active(&system), &moved).unwrap();
    let (asked, buttons) = telegram.question(ADA, 2);
    assert_says(&asked.text, &["chat tg:4711"]);
    telegram.press_answered(ADA, ADA.id, asked.number, &buttons[1]);
    assert_eq!(send(&system, &hello)["ok"], true);
    assert_eq!(code(&send(&system, &to("ida"))), "APPROVAL_REQUIRED", "ida is at another address");
    fs::write(active(&system), ACTIVE).unwrap();
    assert_eq!(send(&system, &hello)["ok"], true, "where they have met, nothing is asked");
    assert_eq!(code(&send(&system, &group)), "APPROVAL_REQUIRED");
    wait::until_true("all arrive", || texts_to(&telegram, ANNA).len() == 3);
}

#[test]
fn send_anna_the_report_is_asked_about_tapped_sent_once_and_answered() {
    let model = FakeModel::start(|request| {
        let found = results(request);
        match found.len() {
            0 => ModelReply::call("read", &json!({"path": "report.md"})),
            1 => ModelReply::call("read", &json!({"path": "file_state_dir/contacts/ACTIVE.md"})),
            2 if found[1].contains("tg:@anna") && found[0].contains("All is well") => {
                let text = "The report: All is well.";
                ModelReply::call("contacts_send", &json!({"contact_id": "tg:@anna", "message_text": text}))
            }
            _ => ModelReply::Text(format!("Done: {}", found.last().unwrap())),
        }
    });
    let (telegram, system) = system(Some(&model), None);
    fs::write(system.workspace().join("report.md"), "All is well.\n").unwrap();
    telegram.push(ADA.text("send Anna the report"));
    let (asked, buttons) = telegram.question(ADA, 0);
    assert_says(&asked.text, &["contacts_send", "To Anna", "The report: All is well."]);
    assert_eq!(texts_to(&telegram, ANNA), [""; 0]);
    assert_eq!(telegram.press_answered(ADA, ADA.id, asked.number, &buttons[0]), "Allowed.");
    wait::until_true("Ada is answered", || {
        texts_to(&telegram, ADA.id).iter().any(|text| text.starts_with("Done") && text.contains("on its way"))
    });
    wait::until_true("Anna gets it", || !texts_to(&telegram, ANNA).is_empty());
    system.wait_until_all_is_sent();
    assert_eq!(texts_to(&telegram, ANNA), ["The report: All is well."]);
    let offered = model.requests()[0]["tools"].to_string();
    assert!(offered.contains("contacts_send"), "{offered}");
}
