//! Decides what to do with an update; a pure function.
//!
//! Every kind of update gets an action and a row, so that none is fetched forever.

use protocol::{MessageId, Origin};
use teloxide::types::{Message, MessageKind, UpdateKind};

use super::NAME;
use super::admission::{Admission, Rules, admit, text_of};
use super::identity::is_command;
use super::incoming::Incoming;
use super::origin;
use super::place::Place;
use super::updates::Received;
use crate::channel::Chat;
use crate::channel::attachment::Attachment;
use crate::commands::{self, Command, Parsed};

/// An update, and what to do with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ClassifiedUpdate {
    pub(super) update_id: String,
    /// Its ID in its chat, if it is a message.
    pub(super) message_id: Option<MessageId>,
    pub(super) chat: Chat,
    /// Who wrote it, and where, if it may become a task.
    pub(super) origin: Option<Origin>,
    pub(super) action: UpdateAction,
    /// The files that it brings, if it is run.
    pub(super) files: Vec<Attachment>,
    /// The album that it is a part of.
    pub(super) album: Option<String>,
}

/// Whether to run it, or why not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum UpdateAction {
    Run(String),
    /// A message was changed: this is what it says now.
    Edited(String),
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
    /// The chat may not use the bot: tell it how it may, but not every time.
    UnknownChat {
        /// What people call it.
        title: String,
    },
    /// The sender is not obeyed in this group: tell the group why, but not every time.
    NotObeyed(&'static str),
}

const UNREADABLE: &str = "I cannot read that kind of message. Please write what you need, or send a file.";
const TOO_LARGE: &str = "That file is too large: Telegram gives a bot files of at most 20 MB. Please send a \
     smaller one, send it in parts, or send a link to it.";
const FORWARDED_COMMAND: &str = "I carry out no forwarded commands. Please write it yourself.";
const UNKNOWN_ADMINISTRATORS: &str =
    "I could not read who administers this group, so I did nothing. Please send it again in a moment.";
const NO_CHAT: &str = "none";

pub(super) fn classify(received: &Received, rules: &Rules<'_>) -> ClassifiedUpdate {
    let Received { id: update_id, update } = received;
    let (mut chat, mut message_id, mut origin) = (Chat::new(NAME, NO_CHAT), None, None);
    let incoming = match update.as_ref().map(|update| &update.kind) {
        Some(UpdateKind::Message(message) | UpdateKind::EditedMessage(message)) => {
            Incoming::of(message, rules.bot)
        }
        _ => Incoming::default(),
    };
    let action = match update.as_ref().map(|update| &update.kind) {
        None => UpdateAction::Skip("the update could not be read"),
        Some(UpdateKind::Message(message)) => {
            message_id = Some(i64::from(message.id.0).into());
            origin = message.from.as_ref().map(|user| origin::of(message, user));
            classify_message(message, &incoming, rules)
        }
        Some(UpdateKind::CallbackQuery(_)) => UpdateAction::Skip("a button, answered on receipt"),
        Some(UpdateKind::EditedMessage(message)) => {
            message_id = Some(i64::from(message.id.0).into());
            origin = message.from.as_ref().map(|user| origin::of(message, user));
            match classify_message(message, &incoming, rules) {
                UpdateAction::Run(text) => UpdateAction::Edited(text),
                _ => UpdateAction::Skip("an edited message that is not run"),
            }
        }
        Some(_) => UpdateAction::Skip("only messages are run, not other updates"),
    };
    match update.as_ref().map(|update| (&update.kind, update.chat())) {
        Some((UpdateKind::Message(message) | UpdateKind::EditedMessage(message), _)) => {
            chat = Chat::new(NAME, Place::of(message));
        }
        Some((_, Some(other))) => chat = Chat::new(NAME, other.id),
        Some((_, None)) | None => {}
    }
    let is_run = matches!(action, UpdateAction::Run(_));
    let files = if is_run { incoming.files } else { Vec::new() };
    ClassifiedUpdate {
        update_id: update_id.to_string(),
        message_id,
        chat,
        origin,
        action,
        files,
        album: incoming.album,
    }
}

fn classify_message(message: &Message, incoming: &Incoming, rules: &Rules<'_>) -> UpdateAction {
    if let Some((from, to)) = moved(message)
        && rules.permissions.allows(from)
    {
        return UpdateAction::Moved { from, to };
    }
    let is_late = rules.not_before.is_some_and(|limit| message.date.timestamp() < limit);
    match admit(message, rules) {
        Admission::Admitted(_) => classify_content(message, incoming, is_late, rules),
        Admission::Ignored(reason) => UpdateAction::Skip(reason),
        Admission::UnknownChat(_) | Admission::NotObeyed { .. } if is_late => {
            UpdateAction::Skip("an old message of somebody who may not use the bot")
        }
        Admission::UnknownChat(user) => UpdateAction::UnknownChat { title: origin::title(message, user) },
        Admission::NotObeyed { reply } => UpdateAction::NotObeyed(reply),
        Admission::AsksAdministrators { speaks_to_us: true, .. } => UpdateAction::Answer {
            reason: "it is not known who administers the group",
            reply: UNKNOWN_ADMINISTRATORS,
        },
        Admission::AsksAdministrators { .. } => {
            UpdateAction::Skip("it is not known who administers the group")
        }
    }
}

/// What to do with a message of somebody who may ask for it.
fn classify_content(
    message: &Message,
    incoming: &Incoming,
    is_late: bool,
    rules: &Rules<'_>,
) -> UpdateAction {
    let text = rules.bot.addressed(text_of(message)).unwrap_or_default();
    if message.forward_origin().is_some() && is_command(&text) {
        return UpdateAction::Answer { reason: "a forwarded command", reply: FORWARDED_COMMAND };
    }
    match message.text() {
        Some(_) if is_late && commands::parse(&text).is_some() => {
            UpdateAction::Skip("a command that waited too long")
        }
        _ if is_late => UpdateAction::Late(incoming.text.clone()),
        Some(_) if commands::parse(&text).is_some() => classify_command(text),
        _ if incoming.is_too_large() => {
            UpdateAction::Answer { reason: "a file is larger than a bot can fetch", reply: TOO_LARGE }
        }
        _ if !incoming.is_empty() => UpdateAction::Run(incoming.text.clone()),
        // Empty: a kind of content that this client does not know.
        _ if matches!(message.kind, MessageKind::Common(_) | MessageKind::Empty {}) => {
            UpdateAction::Answer { reason: "the message has nothing that can be read", reply: UNREADABLE }
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

fn classify_command(text: String) -> UpdateAction {
    match commands::parse(&text) {
        None => UpdateAction::Run(text),
        Some(Parsed::Command(command)) => UpdateAction::Command(command),
        Some(Parsed::Misused(usage)) => UpdateAction::Answer { reason: "a misused command", reply: usage },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::channels::telegram::administrators::Administrators;
    use crate::channels::telegram::identity::Identity;
    use crate::channels::telegram::permissions::Permissions;
    use crate::channels::telegram::updates;
    use crate::config::{GroupMembers, GroupTrigger};

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
        let bot = Identity { id: 5, username: "played_bot".to_owned() };
        let permissions = Permissions::test(&[7, -7], &[], GroupMembers::Admins, GroupTrigger::Mention);
        let administrators = Administrators::known(-7, &[9]);
        let rules =
            Rules { bot: &bot, permissions: &permissions, administrators: &administrators, not_before };
        let classified = classify(&received, &rules);
        assert_eq!(classified.update_id, ID.to_string());
        classified.action
    }

    fn text(text: &str) -> Value {
        message(json!({"text": text}))
    }

    fn check(kind: &str, body: Value, not_before: Option<i64>, expected: &str) {
        let action = format!("{:?}", action_of(kind, body.clone(), not_before));
        assert!(action.starts_with(expected), "{kind} {body}: {action}");
    }

    #[test]
    fn an_update_is_run_kept_cancels_is_answered_or_is_skipped() {
        let stranger =
            message(json!({"text": "hi", "chat": {"id": 8, "type": "private", "first_name": "B"}}));
        let forwarded = json!({"type": "hidden_user", "sender_user_name": "B", "date": 1});
        let voice = json!({"file_id": "f", "file_unique_id": "u", "duration": 1, "mime_type": "audio/ogg"});
        for (body, not_before, expected) in [
            (text("hello"), Some(1000), r#"Run("hello")"#),
            (text("hello"), Some(1001), r#"Late("hello")"#),
            (text("/cancel"), None, "Command(Cancel { all: false })"),
            (text(" /cancel@played_bot "), None, "Command(Cancel { all: false })"),
            (text("/cancel  all"), None, "Command(Cancel { all: true })"),
            (text("/cancel please"), None, "Answer {"),
            (text("/cancel all of it"), None, "Answer {"),
            (text("/cancel@played_bot"), Some(1001), "Skip("),
            (text("/cancel@another_bot"), None, "Skip("),
            (text("@played_bot ls path=."), None, r#"Run("ls path=.")"#),
            (message(json!({"text": "/ls", "forward_origin": forwarded})), None, "Answer {"),
            (message(json!({"text": "ls", "forward_origin": forwarded})), None, r#"Run("ls")"#),
            (text("/cancelled flights"), None, r#"Run("/cancelled flights")"#),
            (stranger.clone(), None, "UnknownChat"),
            // What a stranger sent long ago leaves no text.
            (stranger, Some(1001), "Skip("),
            (message(json!({"voice": voice})), None, "Run(\"\")"),
            (message(json!({"something_new": {}})), None, "Answer {"),
            (text(" "), None, "Answer {"),
            (message(json!({"new_chat_title": "new"})), None, "Skip("),
            (json!({"nonsense": true}), None, "Skip("),
        ] {
            check("message", body, not_before, expected);
        }
    }

    #[test]
    fn a_group_that_may_use_the_bot_keeps_that_under_its_new_id() {
        for (body, expected) in [
            (in_chat(-7, json!({"migrate_to_chat_id": -1007})), "Moved { from: -7, to: -1007 }"),
            (in_chat(-1007, json!({"migrate_from_chat_id": -7})), "Moved { from: -7, to: -1007 }"),
            (in_chat(-8, json!({"migrate_to_chat_id": -1008})), "Skip("),
        ] {
            check("message", body, None, expected);
        }
    }

    #[test]
    fn an_edited_message_is_taken_if_it_is_run_and_no_other_kind_of_update_is() {
        for (kind, body, expected) in [
            ("edited_message", message(json!({"text": "hello", "edit_date": 1001})), "Edited(\"hello\")"),
            ("edited_message", message(json!({"text": "/cancel", "edit_date": 1001})), "Skip("),
            ("channel_post", text("hello"), "Skip("),
            ("something_new", json!({"a": 1}), "Skip("),
        ] {
            check(kind, body, None, expected);
        }
    }
}
