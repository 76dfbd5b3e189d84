//! What is to be done with an update: a pure decision.
//!
//! Every kind of update gets a verdict and a row, so that none is fetched for ever.

use std::collections::HashSet;

use teloxide::types::{Message, MessageKind, Update, UpdateKind};

use crate::channel::Chat;

/// What is to be done with an update.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judged {
    /// Telegram's number of it.
    pub update_id: i64,
    /// Where it comes from.
    pub chat: Chat,
    /// What is to be done with it.
    pub verdict: Verdict,
}

/// Run it, or why not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Run this text.
    Run(String),
    /// Keep a row without running it, and say nothing.
    Skip(&'static str),
    /// Keep a row without running it, and tell the chat why.
    Answer {
        /// Why, for the row.
        reason: &'static str,
        /// What the chat is told.
        reply: &'static str,
    },
    /// A chat that is not on the allowlist: it is told its own number, but not again and again.
    Stranger,
}

/// What decides.
#[derive(Debug)]
pub struct Rules<'a> {
    /// Who may talk to the bot.
    pub allowed_chats: &'a HashSet<i64>,
    /// Messages from before this second, since the epoch, waited too long.
    pub not_before: Option<i64>,
}

const ONLY_TEXT: &str = "I understand text messages only. Please write what you need.";
const UNKNOWN_CHAT: &str = "none";

/// Judges one update.
pub fn judge(update: &Update, rules: &Rules<'_>) -> Judged {
    let chat = update.chat().map_or_else(|| Chat::telegram(UNKNOWN_CHAT), |chat| Chat::telegram(chat.id));
    let verdict = match &update.kind {
        UpdateKind::Message(message) => judge_message(message, rules),
        UpdateKind::Error(_) => Verdict::Skip("the update could not be read"),
        UpdateKind::EditedMessage(_) => Verdict::Skip("edited messages are not run again"),
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
        | UpdateKind::RemovedChatBoost(_) => Verdict::Skip("only messages are run, not other updates"),
    };
    Judged { update_id: i64::from(update.id.0), chat, verdict }
}

fn judge_message(message: &Message, rules: &Rules<'_>) -> Verdict {
    if rules.not_before.is_some_and(|limit| message.date.timestamp() < limit) {
        return Verdict::Skip("the message waited longer than the pending window");
    }
    if !rules.allowed_chats.contains(&message.chat.id.0) {
        return Verdict::Stranger;
    }
    match message.text() {
        Some(text) if !text.trim().is_empty() => Verdict::Run(text.to_owned()),
        // Empty: a kind of content that this client does not know yet.
        _ if matches!(message.kind, MessageKind::Common(_) | MessageKind::Empty {}) => {
            Verdict::Answer { reason: "the message has no text", reply: ONLY_TEXT }
        }
        _ => Verdict::Skip("the message is about the chat itself"),
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

    fn verdict_of(kind: &str, body: Value, not_before: Option<i64>) -> Verdict {
        let update: Update = serde_json::from_str(&json!({"update_id": 5, kind: body}).to_string()).unwrap();
        let allowed_chats = HashSet::from([7]);
        let judged = judge(&update, &Rules { allowed_chats: &allowed_chats, not_before });
        assert_eq!(judged.update_id, 5);
        judged.verdict
    }

    #[test]
    fn a_text_from_an_allowed_chat_is_run() {
        let verdict = verdict_of("message", message(json!({"text": "hello"})), Some(1000));
        assert_eq!(verdict, Verdict::Run("hello".to_owned()));
    }

    #[test]
    fn a_message_older_than_the_window_is_skipped_without_a_word() {
        let verdict = verdict_of("message", message(json!({"text": "hello"})), Some(1001));
        assert!(matches!(verdict, Verdict::Skip(_)));
    }

    #[test]
    fn a_chat_that_is_not_allowed_is_a_stranger() {
        let chat = json!({"text": "hi", "chat": {"id": 8, "type": "private", "first_name": "B"}});
        assert_eq!(verdict_of("message", message(chat), None), Verdict::Stranger);
    }

    #[test]
    fn a_message_without_text_is_answered_and_a_notice_is_not() {
        let voice = json!({"file_id": "f", "file_unique_id": "u", "duration": 1, "mime_type": "audio/ogg"});
        for content in [json!({"voice": voice}), json!({"something_new": {}}), json!({"text": " "})] {
            let answered = verdict_of("message", message(content.clone()), None);
            assert!(matches!(answered, Verdict::Answer { .. }), "{content}: {answered:?}");
        }
        let title = json!({"new_chat_title": "new"});
        assert!(matches!(verdict_of("message", message(title), None), Verdict::Skip(_)));
    }

    #[test]
    fn every_other_update_is_skipped_even_one_that_nobody_knows() {
        for (kind, body) in [
            ("edited_message", message(json!({"text": "hello", "edit_date": 1001}))),
            ("channel_post", message(json!({"text": "hello"}))),
            ("something_new", json!({"a": 1})),
            ("message", json!({"nonsense": true})),
        ] {
            assert!(matches!(verdict_of(kind, body, None), Verdict::Skip(_)), "{kind}");
        }
    }
}
