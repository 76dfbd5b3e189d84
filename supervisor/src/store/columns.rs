//! Columns that hold ids and chats, read back as what they are.

use protocol::TaskId;
use rusqlite::Row;

use crate::channel::{Channel, Chat};

/// Reads a task's id from a column.
pub(super) fn task_id(row: &Row<'_>, column: usize) -> rusqlite::Result<TaskId> {
    let text: String = row.get(column)?;
    text.parse().map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, Box::new(error))
    })
}

/// Reads a chat from a column with its channel and the next one with its id.
pub(super) fn chat(row: &Row<'_>, column: usize) -> rusqlite::Result<Chat> {
    let channel = match row.get_ref(column)?.as_str()? {
        "telegram" => Channel::Telegram,
        _ => Channel::Local,
    };
    Ok(Chat { channel, id: row.get(column + 1)? })
}
