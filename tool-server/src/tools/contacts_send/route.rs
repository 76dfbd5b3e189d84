//! How a message reaches a contact.

use protocol::{ErrorCode, ToolError};
use toolkit::arguments::invalid;
use toolkit::contacts::Contact;

use crate::outgoing::TELEGRAM;

/// A way to a contact. One from agent to agent would be another arm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Route {
    /// Over the bot, to a private chat or a group.
    Telegram { chat_id: i64 },
}

impl Route {
    /// The way to a contact: the chat that the caller names, if it is one of the contact's; else its private
    /// chat.
    pub(super) fn to(contact: &Contact, named: Option<i64>) -> Result<Self, ToolError> {
        let id = &contact.contact_id;
        if let Some(channel) = contact.channel.as_deref().filter(|channel| *channel != "telegram") {
            let message = format!("The contact `{id}` is reached over {channel}, and there is no way there.");
            let hint = "Only Telegram is connected. Continue without it, or ask the user.";
            return Err(ToolError::new(ErrorCode::ToolNotAllowed, message).with_hint(hint));
        }
        let is_its = |chat: &i64| {
            contact.tg_private_chat_id == Some(*chat) || contact.tg_group_chat_ids.contains(chat)
        };
        let chat = named.filter(is_its).or(contact.tg_private_chat_id);
        chat.map(|chat_id| Self::Telegram { chat_id }).ok_or_else(|| {
            let message =
                format!("The contact `{id}` has no private chat, and `chat_id` is none of its chats.");
            let groups: Vec<String> =
                contact.tg_group_chat_ids.iter().map(|group| format!("tg:{group}")).collect();
            let hint = match groups.len() {
                0 => "Its `tg_private_chat_id` is missing in contacts/ACTIVE.md: ask the user.".to_owned(),
                _ => format!("Its groups are: {}.", groups.join(", ")),
            };
            ToolError::new(ErrorCode::NotFound, message).with_hint(hint)
        })
    }

    /// The chat, as the channel names it.
    pub(super) fn chat_id(self) -> String {
        match self {
            Self::Telegram { chat_id } => chat_id.to_string(),
        }
    }

    /// Where the chat is, such as `telegram:4711`.
    pub(super) fn address(self) -> String {
        match self {
            Self::Telegram { chat_id } => format!("{TELEGRAM}:{chat_id}"),
        }
    }
}

/// The number of `tg:<number>`.
pub(super) fn chat_of(named: &str) -> Result<i64, ToolError> {
    let number = named.strip_prefix("tg:").and_then(|number| number.parse::<i64>().ok());
    number.filter(|number| *number != 0).ok_or_else(|| {
        invalid("`chat_id` is not `tg:` and the number of a chat.")
            .with_hint("Write it as in tg:4711 or tg:-1001, or leave it out.")
    })
}

#[cfg(test)]
mod tests {
    use toolkit::contacts::Contacts;

    use super::*;

    #[test]
    fn the_route_is_a_chat_of_the_contact() {
        let contact = |fields: &str| {
            let file = format!("## X\n```yaml\ncontact_id: x\n{fields}\n```\n");
            Contacts::parse(&file).known.remove(0)
        };
        let both = "tg_private_chat_id: 12\ntg_group_chat_ids: [-77, -78]";
        for (fields, named, expected) in [
            (both, None, Some(12)),
            (both, Some(12), Some(12)),
            (both, Some(-78), Some(-78)),
            (both, Some(666), Some(12)),
            ("tg_group_chat_ids: [-77]", Some(-77), Some(-77)),
            ("tg_group_chat_ids: [-77]", None, None),
            ("tg_group_chat_ids: [-77]", Some(-78), None),
            ("tg_username: x", Some(5), None),
            ("channel: slack\ntg_private_chat_id: 12", None, None),
            ("channel: telegram\nkind: agent\ntg_private_chat_id: 12", None, Some(12)),
        ] {
            let route = Route::to(&contact(fields), named).ok();
            assert_eq!(route, expected.map(|chat_id| Route::Telegram { chat_id }), "{fields} {named:?}");
        }
        for bad in ["12", "tg:", "tg:0", "tg:@anna", "slack:1", "tg:99999999999999999999"] {
            assert!(chat_of(bad).is_err(), "{bad}");
        }
        assert_eq!(chat_of("tg:-1001").unwrap(), -1001);
    }
}
