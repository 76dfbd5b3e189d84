//! How a message reaches a contact.

use protocol::{ErrorCode, ToolError};
use toolkit::arguments::invalid;
use toolkit::contacts::Contact;

use crate::outgoing::{PAGE, TELEGRAM};

/// A way to a contact. One from agent to agent would be another arm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Route {
    /// Over the bot, to a private chat or a group.
    Telegram { chat_id: i64 },
    /// To a chat of the page.
    Page { chat: String },
}

impl Route {
    /// The way to a contact: the chat that the caller names, if it is one of the contact's; else its private
    /// chat, else its chat at the page.
    pub(super) fn to(contact: &Contact, named: Option<i64>) -> Result<Self, ToolError> {
        let id = &contact.contact_id;
        let at_page = || contact.page_chat.clone().map(|chat| Self::Page { chat });
        let is_its = |chat: &i64| {
            contact.tg_private_chat_id == Some(*chat) || contact.tg_group_chat_ids.contains(chat)
        };
        let over_telegram = || {
            let chat_id = named.filter(is_its).or(contact.tg_private_chat_id);
            chat_id.map(|chat_id| Self::Telegram { chat_id })
        };
        let route = match contact.channel.as_deref() {
            None => over_telegram().or_else(at_page),
            Some(TELEGRAM) => over_telegram(),
            Some(PAGE) => at_page(),
            Some(channel) => {
                let message =
                    format!("The contact `{id}` is reached over {channel}, and there is no way there.");
                let hint = "Only Telegram and the page are connected. Continue without it, or ask the user.";
                return Err(ToolError::new(ErrorCode::ToolNotAllowed, message).with_hint(hint));
            }
        };
        route.ok_or_else(|| not_reached(contact))
    }

    /// The chat, as people and models name it, such as `tg:4711`.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Telegram { chat_id } => format!("tg:{chat_id}"),
            Self::Page { chat } => format!("{PAGE}:{chat}"),
        }
    }

    /// Where the chat is, such as `telegram:4711`.
    pub(super) fn address(&self) -> String {
        match self {
            Self::Telegram { chat_id } => format!("{TELEGRAM}:{chat_id}"),
            Self::Page { chat } => format!("{PAGE}:{chat}"),
        }
    }

    /// Whether it leads elsewhere than to this chat of Telegram.
    pub(super) fn is_other_than(&self, named: i64) -> bool {
        *self != Self::Telegram { chat_id: named }
    }
}

fn not_reached(contact: &Contact) -> ToolError {
    let id = &contact.contact_id;
    let message = format!("The contact `{id}` has no private chat, and `chat_id` is none of its chats.");
    let groups: Vec<String> = contact.tg_group_chat_ids.iter().map(|group| format!("tg:{group}")).collect();
    let hint = match groups.len() {
        0 => "Its `tg_private_chat_id` or `page_chat` is missing in contacts/ACTIVE.md: ask the user."
            .to_owned(),
        _ => format!("Its groups are: {}.", groups.join(", ")),
    };
    ToolError::new(ErrorCode::NotFound, message).with_hint(hint)
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
        for (fields, expected) in [
            ("page_chat: ada", Some("page:ada")),
            ("page_chat: ada\ntg_private_chat_id: 12", Some("tg:12")),
            ("channel: page\npage_chat: ada\ntg_private_chat_id: 12", Some("page:ada")),
            ("channel: page\ntg_private_chat_id: 12", None),
            ("channel: telegram\npage_chat: ada", None),
        ] {
            let route = Route::to(&contact(fields), None).ok().map(|route| route.name());
            assert_eq!(route.as_deref(), expected, "{fields}");
        }
        for bad in ["12", "tg:", "tg:0", "tg:@anna", "slack:1", "tg:99999999999999999999"] {
            assert!(chat_of(bad).is_err(), "{bad}");
        }
        assert_eq!(chat_of("tg:-1001").unwrap(), -1001);
    }
}
