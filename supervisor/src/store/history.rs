//! What was said in a chat, for the worker's next task.

use protocol::{HistoryMessage, Role, TaskId, now_ms};
use rusqlite::{Connection, params};

use super::StoreError;
use crate::channel::Chat;

/// How many messages of a chat the worker gets to see.
pub const MESSAGES: u32 = 20;

/// Keeps both sides of a task that has ended. A task without a reply leaves no trace here.
pub fn keep(
    connection: &Connection,
    chat: &Chat,
    task: &TaskId,
    asked: &str,
    told: &str,
) -> Result<(), StoreError> {
    let sql = "insert into history (channel, chat_id, task_id, role, text, created_at_ms)
               values (?1, ?2, ?3, ?4, ?5, ?6)";
    let mut insert = connection.prepare_cached(sql)?;
    for (role, text) in [("user", asked), ("assistant", told)] {
        insert.execute(params![chat.channel.as_str(), chat.id, task.as_str(), role, text, now_ms()])?;
    }
    Ok(())
}

/// The last messages of a chat, oldest first.
pub fn of_chat(connection: &Connection, chat: &Chat) -> Result<Vec<HistoryMessage>, StoreError> {
    let sql = "select role, text from history where channel = ?1 and chat_id = ?2 order by seq desc limit ?3";
    let mut query = connection.prepare_cached(sql)?;
    let rows = query.query_map(params![chat.channel.as_str(), chat.id, MESSAGES], |row| {
        let role = if row.get_ref(0)?.as_str()? == "user" { Role::User } else { Role::Assistant };
        Ok(HistoryMessage { role, text: row.get(1)?, calls: Vec::new() })
    })?;
    let mut messages = rows.collect::<Result<Vec<_>, _>>()?;
    messages.reverse();
    Ok(messages)
}
