//! What becomes of an update of Telegram: its translation and the verdict on it, together.

use std::collections::{BTreeSet, HashSet};

use channel::access::{Access, AccessRules, GroupMembers, GroupTrigger};
use channel::update::Kind;
use protocol::PersonId;
use serde_json::value::to_raw_value;
use serde_json::{Value, json};
use telegram::{Identity, read_update};

use super::admission::{Rules, judge};

/// More than 32 bits.
const ID: i64 = 5_000_000_000;
const GROUP: i64 = -7;

fn with(mut message: Value, fields: &Value) -> Value {
    message.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    message
}

fn message(fields: Value) -> Value {
    let message = json!({
        "message_id": 1, "date": 1000,
        "chat": {"id": 7, "type": "private", "first_name": "A"},
        "from": {"id": 7, "is_bot": false, "first_name": "A"},
    });
    with(message, &fields)
}

fn in_group(id: i64, fields: Value) -> Value {
    let group = json!({"id": id, "type": "supergroup", "title": "A group"});
    with(with(message(json!({"chat": group})), &json!({"from": by(9)})), &fields)
}

fn by(id: u64) -> Value {
    json!({"id": id, "is_bot": false, "first_name": "A"})
}

fn access(chats: &[i64], users: &[i64], members: GroupMembers, trigger: GroupTrigger) -> Access {
    let set = |ids: &[i64]| ids.iter().map(i64::to_string).collect::<BTreeSet<_>>();
    Access::new(AccessRules {
        chats: set(chats),
        users: set(users),
        group_members: members,
        group_trigger: trigger,
        approvers: None,
        owner: None,
        is_group: |id| id.starts_with('-'),
        is_open: false,
    })
}

fn everyday() -> Access {
    access(&[7, GROUP, -8, 11], &[], GroupMembers::Admins, GroupTrigger::Mention)
}

/// What is done with an update: of the group -7, 9 is the administrator.
fn decided(kind: &str, body: &Value, not_before: Option<i64>, access: &Access) -> String {
    let raw = to_raw_value(&json!({"update_id": ID, kind: body})).unwrap();
    let bot = Identity { id: 5, username: "our_bot".to_owned() };
    let update = read_update(raw, &bot).unwrap();
    assert_eq!(update.id, Some(ID.to_string()));
    let administrators = HashSet::from([PersonId::from("9".to_owned())]);
    let administrators = Some(&administrators).filter(|_| update.chat.whole().id == GROUP.to_string());
    match update.kind {
        Kind::Message(incoming) => {
            let verdict = judge(&update.chat, &incoming, &Rules { access, administrators, not_before });
            match format!("{verdict:?}").as_str() {
                run @ ("Run" | "Edited" | "Late") => format!("{run} {:?}", incoming.text),
                other => other.to_owned(),
            }
        }
        other => format!("{other:?}"),
    }
}

fn text(text: &str) -> Value {
    message(json!({"text": text}))
}

#[test]
fn an_update_is_run_kept_cancels_is_answered_or_is_skipped() {
    let stranger = message(json!({"text": "hi", "chat": {"id": 8, "type": "private", "first_name": "B"}}));
    let forwarded = json!({"type": "hidden_user", "sender_user_name": "B", "date": 1});
    let voice = json!({"file_id": "f", "file_unique_id": "u", "duration": 1, "mime_type": "audio/ogg"});
    for (body, not_before, expected) in [
        (text("hello"), Some(1000), r#"Run "hello""#),
        (text("hello"), Some(1001), r#"Late "hello""#),
        (text("/cancel"), None, "Command(Cancel { all: false })"),
        (text(" /cancel@our_bot "), None, "Command(Cancel { all: false })"),
        (text("/cancel  all"), None, "Command(Cancel { all: true })"),
        (text("/cancel please"), None, "Answer {"),
        (text("/cancel all of it"), None, "Answer {"),
        (text("/cancel@our_bot"), Some(1001), "Skip("),
        (text("/cancel@another_bot"), None, r#"Other("a command for another bot")"#),
        (text("@our_bot ls path=."), None, r#"Run "ls path=.""#),
        (message(json!({"text": "/ls", "forward_origin": forwarded})), None, "Answer {"),
        (message(json!({"text": "ls", "forward_origin": forwarded})), None, r#"Run "ls""#),
        (text("/cancelled flights"), None, r#"Run "/cancelled flights""#),
        (stranger.clone(), None, "UnknownChat"),
        // What a stranger sent long ago leaves no text.
        (stranger, Some(1001), "Skip("),
        (message(json!({"voice": voice})), None, r#"Run """#),
        (message(json!({"something_new": {}})), None, "Answer {"),
        (text(" "), None, "Answer {"),
        (message(json!({"new_chat_title": "new"})), None, "Skip("),
        (json!({"nonsense": true}), None, "Other("),
        (in_group(GROUP, json!({"migrate_to_chat_id": -1007})), None, r#"Moved { from: "-7", to: "-1007" }"#),
        (
            in_group(-1007, json!({"migrate_from_chat_id": GROUP})),
            None,
            r#"Moved { from: "-7", to: "-1007" }"#,
        ),
    ] {
        let decision = decided("message", &body, not_before, &everyday());
        assert!(decision.starts_with(expected), "{body}: {decision}");
    }
}

#[test]
fn an_edited_message_is_taken_if_it_is_run_and_no_other_kind_of_update_is() {
    for (kind, body, expected) in [
        ("edited_message", message(json!({"text": "hello", "edit_date": 1001})), r#"Edited "hello""#),
        ("edited_message", message(json!({"text": "/cancel", "edit_date": 1001})), "Skip("),
        ("channel_post", text("hello"), "Other("),
        ("something_new", json!({"a": 1}), "Other("),
    ] {
        let decision = decided(kind, &body, None, &everyday());
        assert!(decision.starts_with(expected), "{kind} {body}: {decision}");
    }
}

#[test]
fn only_people_who_may_and_who_speak_to_the_bot_are_admitted() {
    let bot = |id: u64| json!({"id": id, "is_bot": true, "first_name": "B", "username": "x_bot"});
    let channel = json!({"id": -100, "type": "channel", "title": "News"});
    let group = |id: i64| json!({"id": id, "type": "supergroup", "title": "A group"});
    let private = |id: i64| json!({"id": id, "type": "private", "first_name": "A"});
    let answered = |fields: Value| {
        with(json!({"message_id": 2, "date": 1, "chat": group(GROUP), "from": bot(5)}), &fields)
    };
    let topic = json!({"forum_topic_created": {"name": "t", "icon_color": 7_322_096}});
    for (fields, expected) in [
        (json!({}), "Run"),
        (json!({"from": by(11)}), "Run"),
        (json!({"from": by(10)}), "NotObeyed"),
        (json!({"from": bot(9)}), r#"Skip("a bot wrote it")"#),
        (json!({"sender_chat": channel, "from": by(9)}), r#"Other("a channel or an anonymous"#),
        (json!({"sender_chat": group(GROUP), "from": bot(1_087_968_824)}), r#"Other("a channel or an"#),
        (json!({"via_bot": bot(6)}), r#"Other("a bot wrote it for somebody")"#),
        (json!({"text": "hello"}), "Overheard"),
        (json!({"text": "hello", "from": by(10)}), "Overheard"),
        (json!({"text": "/status"}), "Command(Status)"),
        (json!({"text": "/status@our_bot"}), "Command(Status)"),
        (json!({"text": "/status@x_bot"}), r#"Other("a command for another bot")"#),
        (json!({"text": "hi", "reply_to_message": answered(json!({"text": "hello"}))}), "Run"),
        (json!({"text": "hi", "reply_to_message": answered(topic)}), "Overheard"),
        (json!({"chat": group(-8)}), r#"Answer { reason: "it is not known who administers"#),
        (json!({"chat": group(-9)}), "UnknownChat"),
        (json!({"chat": group(-9), "text": "hello"}), r#"Skip("the chat may not use the bot")"#),
        (json!({"chat": private(11), "from": by(11), "text": "hello"}), "Run"),
        (json!({"chat": private(9), "text": "hello"}), "UnknownChat"),
    ] {
        let body = with(in_group(GROUP, json!({"text": "hello @our_bot"})), &fields);
        let decision = decided("message", &body, None, &everyday());
        assert!(decision.starts_with(expected), "{fields}: {decision}");
    }
}

#[test]
fn the_settings_decide_which_members_are_obeyed_and_which_messages_count() {
    use GroupMembers::{Admins, All, Listed};
    let said = |text: &str, user: u64| in_group(GROUP, json!({"text": text, "from": by(user)}));
    for (members, users, user, expected) in [
        (Admins, &[][..], 9, "Run"),
        (Admins, &[], 10, "NotObeyed"),
        (Admins, &[10], 10, "Run"),
        (Admins, &[10], 9, "NotObeyed"),
        (Listed, &[10], 9, "NotObeyed"),
        (Listed, &[10], 10, "Run"),
        (All, &[10], 12, "Run"),
    ] {
        let access = access(&[GROUP], users, members, GroupTrigger::Mention);
        let decision = decided("message", &said("hello @our_bot", user), None, &access);
        assert!(decision.starts_with(expected), "{members:?} {users:?} {user}: {decision}");
    }
    let all = access(&[GROUP], &[], Admins, GroupTrigger::All);
    assert!(decided("message", &said("hello", 9), None, &all).starts_with("Run"));
    let member = decided("message", &said("hello", 10), None, &all);
    assert_eq!(member, r#"Skip("its sender is not obeyed in this group")"#);
}
