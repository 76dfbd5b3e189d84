//! Decides what to do with an update; a pure function.
//!
//! Every kind of update gets an action and a row, so that none is fetched forever.

use teloxide::types::{Message, MessageKind, UpdateKind};

use super::NAME;
use super::allowed::AllowedChats;
use super::updates::Received;
use crate::channel::Chat;
use crate::commands::{self, Command, Parsed};

/// An update, and what to do with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ClassifiedUpdate {
    pub(super) update_id: i64,
    /// The number of the message in its chat, if it is one.
    pub(super) message_id: Option<i64>,
    pub(super) chat: Chat,
    pub(super) action: UpdateAction,
}

/// Whether to run it, or why not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum UpdateAction {
    Run(String),
    /// It waited too long: do not run it, but store its text, so that a person can requeue it.
    Late(String),
    /// Carry it out at once.
    Command(Command),
    /// The group of this ID became the supergroup of that ID.
    Moved {
        from: i64,
        to: i64,
    },
    /// Store a row, do not run it, and do not answer.
    Skip(&'static str),
    /// Store a row, do not run it, and tell the chat why.
    Answer {
        reason: &'static str,
        reply: &'static str,
    },
    /// The chat is not on the allowlist: tell it its own number, but not every time.
    UnknownChat,
}

#[derive(Debug)]
pub(super) struct Rules<'a> {
    pub(super) allowed_chats: &'a AllowedChats,
    /// Messages from before this time, in seconds since the epoch, waited too long.
    pub(super) not_before: Option<i64>,
}

const ONLY_TEXT: &str = "I understand text messages only. Please write what you need.";
const NO_CHAT: &str = "none";

pub(super) fn classify(received: &Received, rules: &Rules<'_>) -> ClassifiedUpdate {
    let Received { id: update_id, update } = received;
    let Some(update) = update else {
        let (chat, action) = (Chat::new(NAME, NO_CHAT), UpdateAction::Skip("the update could not be read"));
        return ClassifiedUpdate { update_id: *update_id, message_id: None, chat, action };
    };
    let chat = update.chat().map_or_else(|| Chat::new(NAME, NO_CHAT), |chat| Chat::new(NAME, chat.id));
    let action = match &update.kind {
        UpdateKind::Message(message) => classify_message(message, rules),
        UpdateKind::CallbackQuery(_) => UpdateAction::Skip("a button, answered on receipt"),
        UpdateKind::EditedMessage(_) => UpdateAction::Skip("edited messages are not run again"),
        _ => UpdateAction::Skip("only messages are run, not other updates"),
    };
    let message_id = match &update.kind {
        UpdateKind::Message(message) => Some(i64::from(message.id.0)),
        _ => None,
    };
    ClassifiedUpdate { update_id: *update_id, message_id, chat, action }
}

fn classify_message(message: &Message, rules: &Rules<'_>) -> UpdateAction {
    if let Some((from, to)) = moved(message)
        && rules.allowed_chats.contains(from)
    {
        return UpdateAction::Moved { from, to };
    }
    let is_late = rules.not_before.is_some_and(|limit| message.date.timestamp() < limit);
    if !rules.allowed_chats.contains(message.chat.id.0) {
        return if is_late {
            UpdateAction::Skip("an old message from an unknown chat")
        } else {
            UpdateAction::UnknownChat
        };
    }
    match message.text() {
        Some(text) if is_late && is_command(text) => UpdateAction::Skip("a command that waited too long"),
        _ if is_late => UpdateAction::Late(message.text().unwrap_or_default().to_owned()),
        Some(text) if !text.trim().is_empty() => classify_text(text),
        // Empty: a kind of content that this client does not know.
        _ if matches!(message.kind, MessageKind::Common(_) | MessageKind::Empty {}) => {
            UpdateAction::Answer { reason: "the message has no text", reply: ONLY_TEXT }
        }
        _ => UpdateAction::Skip("the message is about the chat itself"),
    }
}

/// Telegram tells it twice: in the group, and in the supergroup that it became.
fn moved(message: &Message) -> Option<(i64, i64)> {
    let here = message.chat.id.0;
    let to = message.migrate_to_chat_id().map(|to| (here, to.0));
    to.or_else(|| message.migrate_from_chat_id().map(|from| (from.0, here)))
}

fn classify_text(text: &str) -> UpdateAction {
    match commands::parse(&without_bot_name(text)) {
        None => UpdateAction::Run(text.to_owned()),
        Some(Parsed::Command(command)) => UpdateAction::Command(command),
        Some(Parsed::Misused(usage)) => UpdateAction::Answer { reason: "a misused command", reply: usage },
    }
}

fn is_command(text: &str) -> bool {
    commands::parse(&without_bot_name(text)).is_some()
}

/// `/cancel@name_of_the_bot all`, as Telegram completes it in groups, as `/cancel all`.
fn without_bot_name(text: &str) -> String {
    let text = text.trim_start();
    let (word, rest) = text.split_at(text.find(char::is_whitespace).unwrap_or(text.len()));
    match word.split_once('@') {
        Some((command, _)) if command.starts_with('/') => format!("{command}{rest}"),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use serde_json::{Value, json};

    use super::*;
    use crate::channels::telegram::updates;

    /// More than 32 bits.
    const ID: i64 = 5_000_000_000;

    fn message(fields: Value) -> Value {
        let mut message = json!({
            "message_id": 1, "date": 1000,
            "chat": {"id": 7, "type": "private", "first_name": "A"},
            "from": {"id": 7, "is_bot": false, "first_name": "A"},
        });
        message.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        message
    }

    fn in_chat(id: i64, fields: Value) -> Value {
        let mut message = message(fields);
        message["chat"] = json!({"id": id, "type": "supergroup", "title": "A group"});
        message
    }

    fn action_of(kind: &str, body: Value, not_before: Option<i64>) -> UpdateAction {
        let raw = serde_json::value::to_raw_value(&json!({"update_id": ID, kind: body})).unwrap();
        let [received] = updates::read(&[raw]).try_into().unwrap();
        let allowed_chats = AllowedChats::new(&HashSet::from([7, -7]));
        let classified = classify(&received, &Rules { allowed_chats: &allowed_chats, not_before });
        assert_eq!(classified.update_id, ID);
        classified.action
    }

    #[test]
    fn an_update_is_run_kept_cancels_is_answered_or_is_skipped() {
        let text = |text: &str| message(json!({"text": text}));
        let stranger =
            message(json!({"text": "hi", "chat": {"id": 8, "type": "private", "first_name": "B"}}));
        let voice = json!({"file_id": "f", "file_unique_id": "u", "duration": 1, "mime_type": "audio/ogg"});
        for (kind, body, not_before, expected) in [
            ("message", text("hello"), Some(1000), r#"Run("hello")"#),
            ("message", text("hello"), Some(1001), r#"Late("hello")"#),
            ("message", text("/cancel"), None, "Command(Cancel { all: false })"),
            ("message", text(" /cancel@played_bot "), None, "Command(Cancel { all: false })"),
            ("message", text("/cancel  all"), None, "Command(Cancel { all: true })"),
            ("message", text("/cancel please"), None, "Answer {"),
            ("message", text("/cancel all of it"), None, "Answer {"),
            ("message", text("/cancel@played_bot"), Some(1001), "Skip("),
            ("message", text("/cancelled flights"), None, r#"Run("/cancelled flights")"#),
            ("message", stranger.clone(), None, "UnknownChat"),
            // What a stranger sent long ago leaves no text.
            ("message", stranger, Some(1001), "Skip("),
            ("message", message(json!({"voice": voice})), None, "Answer {"),
            ("message", message(json!({"something_new": {}})), None, "Answer {"),
            ("message", text(" "), None, "Answer {"),
            ("message", message(json!({"new_chat_title": "new"})), None, "Skip("),
            (
                "message",
                in_chat(-7, json!({"migrate_to_chat_id": -1007})),
                None,
                "Moved { from: -7, to: -1007 }",
            ),
            (
                "message",
                in_chat(-1007, json!({"migrate_from_chat_id": -7})),
                None,
                "Moved { from: -7, to: -1007 }",
            ),
            ("message", in_chat(-8, json!({"migrate_to_chat_id": -1008})), None, "UnknownChat"),
            ("edited_message", message(json!({"text": "hello", "edit_date": 1001})), None, "Skip("),
            ("channel_post", text("hello"), None, "Skip("),
            ("something_new", json!({"a": 1}), None, "Skip("),
            ("message", json!({"nonsense": true}), None, "Skip("),
        ] {
            let action = format!("{:?}", action_of(kind, body.clone(), not_before));
            assert!(action.starts_with(expected), "{kind} {body}: {action}");
        }
    }
}
