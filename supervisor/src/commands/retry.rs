//! `/retry`: runs the newest message of the chat again that failed or was skipped.

use channel::Chat;
use protocol::EventId;
use rusqlite::Connection;
use store::{StoreError, requeue};

use super::shortened;

pub(super) const USAGE: &str = "/retry runs your newest message again that failed or was skipped.";

pub(super) fn carry_out(connection: &Connection, chat: &Chat, run: &EventId) -> Result<String, StoreError> {
    Ok(match requeue::newest_in_chat(connection, chat, chat.channel.as_str(), run)? {
        Some(text) => format!("Running this again: {}", shortened(&text)),
        None => "There is nothing to run again: no message of this chat failed or was skipped.".to_owned(),
    })
}
