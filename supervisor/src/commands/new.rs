//! `/new`: the model forgets what was said in this chat; the events keep it.

use channel::Chat;
use rusqlite::Connection;
use store::{StoreError, conversation};

pub(super) const USAGE: &str = "/new begins a new conversation. Send it alone, and then what you want.";

pub(super) fn carry_out(connection: &Connection, chat: &Chat) -> Result<String, StoreError> {
    conversation::begin(connection, chat)?;
    Ok("A new conversation begins: I no longer know what was said before. Files and the record of what was \
        done stay as they are."
        .to_owned())
}
