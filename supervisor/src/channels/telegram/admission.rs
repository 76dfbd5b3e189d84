//! Whether a message is for the bot, and whether its sender may ask for anything; pure functions.

use teloxide::types::{Message, User};

use super::administrators::Administrators;
use super::identity::{Identity, is_command};
use super::permissions::Permissions;
use crate::config::{GroupMembers, GroupTrigger};

/// The facts of a message when it comes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rules<'a> {
    pub(super) bot: &'a Identity,
    pub(super) permissions: &'a Permissions,
    pub(super) administrators: &'a Administrators,
    /// Messages from before this time, in seconds since the epoch, waited too long.
    pub(super) not_before: Option<i64>,
}

/// Whether a message is considered.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Admission<'a> {
    /// It is, and this person wrote it.
    Admitted(&'a User),
    /// It is not, for this reason, and the bot stays silent.
    Ignored(&'static str),
    /// It speaks to the bot in a chat that may not use it.
    UnknownChat(&'a User),
    /// It speaks to the bot in a group in which its sender is not obeyed.
    NotObeyed { reply: &'static str },
    /// It is not known who administers this group.
    AsksAdministrators { group: i64, speaks_to_us: bool },
}

const ADMINISTRATORS_ALONE: &str = "In this group I obey its administrators alone.";
const LISTED_ALONE: &str = "In this group I obey only people whom my operator has allowed.";

/// Decides about a message.
pub(super) fn admit<'a>(message: &'a Message, rules: &Rules<'_>) -> Admission<'a> {
    let user = match sender(message) {
        Ok(user) => user,
        Err(reason) => return Admission::Ignored(reason),
    };
    if rules.bot.addressed(text_of(message)).is_none() {
        return Admission::Ignored("a command for another bot");
    }
    let chat = message.chat.id.0;
    let is_private = message.chat.is_private();
    let speaks_to_us = is_private || speaks_to(message, rules.bot);
    match (rules.permissions.allows(chat), speaks_to_us) {
        (false, true) => return Admission::UnknownChat(user),
        (false, false) => return Admission::Ignored("the chat may not use the bot"),
        (true, false) if rules.permissions.group_trigger == GroupTrigger::Mention => {
            return Admission::Ignored("the message does not speak to the bot");
        }
        (true, _) => {}
    }
    let is_listed = i64::try_from(user.id.0).is_ok_and(|id| rules.permissions.allows(id));
    if is_private || is_listed {
        return Admission::Admitted(user);
    }
    match in_group(user, chat, speaks_to_us, rules) {
        Admission::NotObeyed { .. } if !speaks_to_us => {
            Admission::Ignored("its sender is not obeyed in this group")
        }
        admission => admission,
    }
}

/// Whether a person may press a button in a chat; none if it depends on administrators who are not known.
pub(super) fn may_press(user: u64, chat: i64, rules: &Rules<'_>) -> Option<bool> {
    let permissions = rules.permissions;
    let is_listed = i64::try_from(user).is_ok_and(|id| permissions.allows(id));
    match permissions.group_members {
        _ if !permissions.allows(chat) => Some(false),
        // A private chat is its person's.
        _ if is_listed || chat > 0 => Some(true),
        GroupMembers::All => Some(true),
        GroupMembers::Listed => Some(false),
        GroupMembers::Admins if permissions.names_users() => Some(false),
        GroupMembers::Admins => Some(rules.administrators.of(chat)?.contains(&user)),
    }
}

/// Decides about somebody who is not allowed by themselves, in a group that is.
fn in_group<'a>(user: &'a User, group: i64, speaks_to_us: bool, rules: &Rules<'_>) -> Admission<'a> {
    let listed_alone = Admission::NotObeyed { reply: LISTED_ALONE };
    match rules.permissions.group_members {
        GroupMembers::All => Admission::Admitted(user),
        GroupMembers::Listed => listed_alone,
        GroupMembers::Admins if rules.permissions.names_users() => listed_alone,
        GroupMembers::Admins => match rules.administrators.of(group) {
            Some(people) if people.contains(&user.id.0) => Admission::Admitted(user),
            Some(_) => Admission::NotObeyed { reply: ADMINISTRATORS_ALONE },
            None => Admission::AsksAdministrators { group, speaks_to_us },
        },
    }
}

/// The person who wrote a message in their own name and words.
fn sender(message: &Message) -> Result<&User, &'static str> {
    match &message.from {
        _ if message.sender_chat.is_some() => Err("a channel or an anonymous administrator wrote it"),
        None => Err("it has no sender"),
        Some(user) if user.is_bot => Err("a bot wrote it"),
        Some(_) if message.via_bot.is_some() || message.sender_business_bot.is_some() => {
            Err("a bot wrote it for somebody")
        }
        Some(user) => Ok(user),
    }
}

pub(super) fn text_of(message: &Message) -> &str {
    message.text().or_else(|| message.caption()).unwrap_or_default()
}

fn speaks_to(message: &Message, bot: &Identity) -> bool {
    let text = text_of(message);
    is_command(text) || bot.is_mentioned_in(text) || answers(message, bot)
}

/// Whether it answers a message of the bot. In a topic, whatever is no answer counts as one to the message
/// that made the topic.
fn answers(message: &Message, bot: &Identity) -> bool {
    let Some(answered) = message.reply_to_message() else { return false };
    let is_ours = answered.from.as_ref().is_some_and(|user| user.id.0 == bot.id);
    is_ours && answered.forum_topic_created().is_none()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const GROUP: i64 = -7;

    fn message(fields: Value) -> Message {
        let mut message = json!({
            "message_id": 1, "date": 1000, "text": "hello @our_bot",
            "chat": {"id": GROUP, "type": "supergroup", "title": "A group"},
            "from": {"id": 9, "is_bot": false, "first_name": "A"},
        });
        message.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        serde_json::from_value(message).unwrap()
    }

    fn decided(fields: Value, permissions: &Permissions) -> String {
        let bot = Identity { id: 5, username: "our_bot".to_owned() };
        let administrators = Administrators::known(GROUP, &[9]);
        let rules = Rules { bot: &bot, permissions, administrators: &administrators, not_before: None };
        let message = message(fields);
        match admit(&message, &rules) {
            Admission::Admitted(_) => "admitted".to_owned(),
            Admission::Ignored(reason) => reason.to_owned(),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn only_people_who_may_and_who_speak_to_the_bot_are_admitted() {
        let permissions =
            Permissions::test(&[GROUP, -8, 11], &[], GroupMembers::Admins, GroupTrigger::Mention);
        let from = |id: u64| json!({"id": id, "is_bot": false, "first_name": "A"});
        let bot = |id: u64| json!({"id": id, "is_bot": true, "first_name": "B", "username": "x_bot"});
        let channel = json!({"id": -100, "type": "channel", "title": "News"});
        let group = |id: i64| json!({"id": id, "type": "supergroup", "title": "A group"});
        let private = |id: i64| json!({"id": id, "type": "private", "first_name": "A"});
        let answered = |fields: Value| {
            let mut message = json!({"message_id": 2, "date": 1, "chat": group(GROUP), "from": bot(5)});
            message.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
            message
        };
        for (fields, expected) in [
            (json!({}), "admitted"),
            (json!({"from": from(11)}), "admitted"),
            (json!({"from": from(10)}), "NotObeyed"),
            (json!({"from": bot(9)}), "a bot wrote it"),
            (json!({"sender_chat": channel, "from": from(9)}), "a channel or an anonymous"),
            (json!({"sender_chat": group(GROUP), "from": bot(1_087_968_824)}), "a channel or an anonymous"),
            (json!({"via_bot": bot(6)}), "a bot wrote it for somebody"),
            (json!({"text": "hello"}), "the message does not speak to the bot"),
            (json!({"text": "hello", "from": from(10)}), "the message does not speak to the bot"),
            (json!({"text": "/status"}), "admitted"),
            (json!({"text": "/status@our_bot"}), "admitted"),
            (json!({"text": "/status@x_bot"}), "a command for another bot"),
            (json!({"text": "hi", "reply_to_message": answered(json!({"text": "hello"}))}), "admitted"),
            (
                json!({"text": "hi", "reply_to_message":
                    answered(json!({"forum_topic_created": {"name": "t", "icon_color": 7_322_096}}))}),
                "the message does not speak to the bot",
            ),
            (json!({"chat": group(-8)}), "AsksAdministrators"),
            (json!({"chat": group(-9)}), "UnknownChat"),
            (json!({"chat": group(-9), "text": "hello"}), "the chat may not use the bot"),
            (json!({"chat": private(11), "from": from(11), "text": "hello"}), "admitted"),
            (json!({"chat": private(9), "text": "hello"}), "UnknownChat"),
        ] {
            let decision = decided(fields.clone(), &permissions);
            assert!(decision.starts_with(expected), "{fields}: {decision}");
        }
    }

    #[test]
    fn the_settings_decide_which_members_are_obeyed_and_which_messages_count() {
        use GroupMembers::{Admins, All, Listed};
        for (members, users, user, expected) in [
            (Admins, &[][..], 9, "admitted"),
            (Admins, &[], 10, "NotObeyed"),
            (Admins, &[10], 10, "admitted"),
            (Admins, &[10], 9, "NotObeyed"),
            (Listed, &[10], 9, "NotObeyed"),
            (Listed, &[10], 10, "admitted"),
            (All, &[10], 12, "admitted"),
        ] {
            let permissions = Permissions::test(&[GROUP], users, members, GroupTrigger::Mention);
            let fields = json!({"from": {"id": user, "is_bot": false, "first_name": "A"}});
            let decision = decided(fields, &permissions);
            assert!(decision.starts_with(expected), "{members:?} {users:?} {user}: {decision}");
        }
        let all = Permissions::test(&[GROUP], &[], Admins, GroupTrigger::All);
        assert_eq!(decided(json!({"text": "hello"}), &all), "admitted");
        let member = json!({"text": "hello", "from": {"id": 10, "is_bot": false, "first_name": "A"}});
        assert_eq!(decided(member, &all), "its sender is not obeyed in this group");
    }
}
