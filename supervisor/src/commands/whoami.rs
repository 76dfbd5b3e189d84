//! `/whoami`: the IDs that the settings ask for.

use channel::Chat;
use protocol::Origin;

pub(super) fn text(chat: &Chat, origin: Option<&Origin>) -> String {
    let who = origin.and_then(|origin| origin.from.as_ref());
    let who = who.map(|sender| format!("You are {sender}.\n")).unwrap_or_default();
    let name = origin.and_then(|origin| origin.chat.as_ref());
    let name = name.map(|name| format!(", “{name}”,")).unwrap_or_default();
    format!("{who}This chat{name} has the ID {} in the channel {}.", chat.id, chat.channel)
}
