//! The row that a chat has in a table, when the chat gets another ID.

use channel::Chat;

use super::StoreError;
use super::sql::{Connection, params};

/// Moves the row that a chat has in a table. It replaces one that the new ID has already.
pub(super) fn moved(connection: &Connection, table: &str, from: &Chat, to: &str) -> Result<(), StoreError> {
    let replaced = format!(
        "delete from {table} where channel = ?1 and chat_id = ?3
         and exists (select 1 from {table} as moved where moved.channel = ?1 and moved.chat_id = ?2)"
    );
    let moved = format!("update {table} set chat_id = ?3 where channel = ?1 and chat_id = ?2");
    for sql in [replaced, moved] {
        connection.execute(&sql, params![from.channel.as_str(), from.id, to])?;
    }
    Ok(())
}
