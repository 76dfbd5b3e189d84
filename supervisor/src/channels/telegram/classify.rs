//! Decides what to do with an update; a pure function.
//!
//! Every kind of update gets an action and a row, so that none is fetched forever.

use std::collections::HashSet;

use teloxide::types::{Message, MessageKind, Update, UpdateKind};

use super::NAME;
use crate::channel::Chat;

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
    /// Cancel what is running in this chat, or else the newest waiting message; with `all`, everything.
    Cancel {
        all: bool,
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
    pub(super) allowed_chats: &'a HashSet<i64>,
    /// Messages from before this time, in seconds since the epoch, waited too long.
    pub(super) not_before: Option<i64>,
}

const ONLY_TEXT: &str = "I understand text messages only. Please write what you need.";
const CANCEL_USAGE: &str = "/cancel stops what I am doing, or else cancels the newest waiting message. \
     /cancel all stops everything.";
const NO_CHAT: &str = "none";

pub(super) fn classify(update: &Update, rules: &Rules<'_>) -> ClassifiedUpdate {
    let chat = update.chat().map_or_else(|| Chat::new(NAME, NO_CHAT), |chat| Chat::new(NAME, chat.id));
    let action = match &update.kind {
        UpdateKind::Message(message) => classify_message(message, rules),
        UpdateKind::Error(_) => UpdateAction::Skip("the update could not be read"),
        UpdateKind::EditedMessage(_) => UpdateAction::Skip("edited messages are not run again"),
        UpdateKind::ChannelPost(_)
        | UpdateKind::EditedChannelPost(_)
        | UpdateKind::BusinessConnection(_)
        | UpdateKind::BusinessMessage(_)
        | UpdateKind::EditedBusinessMessage(_)
        | UpdateKind::DeletedBusinessMessages(_)
        | UpdateKind::MessageReaction(_)
        | UpdateKind::MessageReactionCount(_)
        | UpdateKind::InlineQuery(_)
        | UpdateKind::ChosenInlineResult(_)
        | UpdateKind::CallbackQuery(_)
        | UpdateKind::ShippingQuery(_)
        | UpdateKind::PreCheckoutQuery(_)
        | UpdateKind::PurchasedPaidMedia(_)
        | UpdateKind::Poll(_)
        | UpdateKind::PollAnswer(_)
        | UpdateKind::MyChatMember(_)
        | UpdateKind::ChatMember(_)
        | UpdateKind::ChatJoinRequest(_)
        | UpdateKind::ChatBoost(_)
        | UpdateKind::RemovedChatBoost(_) => UpdateAction::Skip("only messages are run, not other updates"),
    };
    let message_id = match &update.kind {
        UpdateKind::Message(message) => Some(i64::from(message.id.0)),
        _ => None,
    };
    ClassifiedUpdate { update_id: i64::from(update.id.0), message_id, chat, action }
}

fn classify_message(message: &Message, rules: &Rules<'_>) -> UpdateAction {
    let is_late = rules.not_before.is_some_and(|limit| message.date.timestamp() < limit);
    if !rules.allowed_chats.contains(&message.chat.id.0) {
        return if is_late {
            UpdateAction::Skip("an old message from an unknown chat")
        } else {
            UpdateAction::UnknownChat
        };
    }
    match message.text() {
        _ if is_late => UpdateAction::Late(message.text().unwrap_or_default().to_owned()),
        Some(text) if is_cancel(text) => classify_cancel(text),
        Some(text) if !text.trim().is_empty() => UpdateAction::Run(text.to_owned()),
        // Empty: a kind of content that this client does not know.
        _ if matches!(message.kind, MessageKind::Common(_) | MessageKind::Empty {}) => {
            UpdateAction::Answer { reason: "the message has no text", reply: ONLY_TEXT }
        }
        _ => UpdateAction::Skip("the message is about the chat itself"),
    }
}

/// `/cancel`, or `/cancel@name_of_the_bot` as Telegram completes it in groups.
fn is_cancel(text: &str) -> bool {
    let word = text.split_whitespace().next().unwrap_or_default();
    word == "/cancel" || word.starts_with("/cancel@")
}

fn classify_cancel(text: &str) -> UpdateAction {
    match text.split_whitespace().skip(1).collect::<Vec<_>>().as_slice() {
        [] => UpdateAction::Cancel { all: false },
        ["all"] => UpdateAction::Cancel { all: true },
        _ => UpdateAction::Answer { reason: "an invalid /cancel", reply: CANCEL_USAGE },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn message(fields: Value) -> Value {
        let mut message = json!({
            "message_id": 1, "date": 1000,
            "chat": {"id": 7, "type": "private", "first_name": "A"},
            "from": {"id": 7, "is_bot": false, "first_name": "A"},
        });
        message.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        message
    }

    fn action_of(kind: &str, body: Value, not_before: Option<i64>) -> UpdateAction {
        let update: Update = serde_json::from_str(&json!({"update_id": 5, kind: body}).to_string()).unwrap();
        let allowed_chats = HashSet::from([7]);
        let classified = classify(&update, &Rules { allowed_chats: &allowed_chats, not_before });
        assert_eq!(classified.update_id, 5);
        classified.action
    }

    #[test]
    fn a_text_from_an_allowed_chat_is_run() {
        let action = action_of("message", message(json!({"text": "hello"})), Some(1000));
        assert_eq!(action, UpdateAction::Run("hello".to_owned()));
    }

    #[test]
    fn a_message_older_than_the_window_is_kept_and_not_run_and_a_strangers_leaves_no_text() {
        let action = action_of("message", message(json!({"text": "hello"})), Some(1001));
        assert_eq!(action, UpdateAction::Late("hello".to_owned()));
        let chat = json!({"text": "hi", "chat": {"id": 8, "type": "private", "first_name": "B"}});
        assert!(matches!(action_of("message", message(chat), Some(1001)), UpdateAction::Skip(_)));
    }

    #[test]
    fn a_cancel_is_a_command_and_not_a_task() {
        for (text, all) in [("/cancel", false), (" /cancel@played_bot ", false), ("/cancel  all", true)] {
            let action = action_of("message", message(json!({"text": text})), None);
            assert_eq!(action, UpdateAction::Cancel { all }, "{text}");
        }
        for text in ["/cancel please", "/cancel all of it"] {
            let action = action_of("message", message(json!({"text": text})), None);
            assert!(matches!(action, UpdateAction::Answer { .. }), "{text}");
        }
        let task = action_of("message", message(json!({"text": "/cancelled flights"})), None);
        assert_eq!(task, UpdateAction::Run("/cancelled flights".to_owned()));
    }

    #[test]
    fn a_chat_that_is_not_allowed_is_unknown() {
        let chat = json!({"text": "hi", "chat": {"id": 8, "type": "private", "first_name": "B"}});
        assert_eq!(action_of("message", message(chat), None), UpdateAction::UnknownChat);
    }

    #[test]
    fn a_message_without_text_is_answered_and_a_notice_is_not() {
        let voice = json!({"file_id": "f", "file_unique_id": "u", "duration": 1, "mime_type": "audio/ogg"});
        for content in [json!({"voice": voice}), json!({"something_new": {}}), json!({"text": " "})] {
            let answered = action_of("message", message(content.clone()), None);
            assert!(matches!(answered, UpdateAction::Answer { .. }), "{content}: {answered:?}");
        }
        let title = json!({"new_chat_title": "new"});
        assert!(matches!(action_of("message", message(title), None), UpdateAction::Skip(_)));
    }

    #[test]
    fn every_other_update_is_skipped_even_one_that_nobody_knows() {
        for (kind, body) in [
            ("edited_message", message(json!({"text": "hello", "edit_date": 1001}))),
            ("channel_post", message(json!({"text": "hello"}))),
            ("something_new", json!({"a": 1})),
            ("message", json!({"nonsense": true})),
        ] {
            assert!(matches!(action_of(kind, body, None), UpdateAction::Skip(_)), "{kind}");
        }
    }
}
