//! What was added to tasks while they ran, as it is stored; [`crate::steering`] adds it.

use channel::Chat;
use protocol::{Addition, MessageId, TaskId};

use super::StoreError;
use super::columns::{json, task_id};
use super::sql::{Connection, params};

/// What was added to a task, in order.
pub fn of(connection: &Connection, task: &TaskId) -> Result<Vec<Addition>, StoreError> {
    let sql = "select message_task_id, text, origin from additions where task_id = ?1 order by seq";
    Ok(connection.query_all(sql, [task.as_str()], |row| {
        Ok(Addition { message: task_id(row, 0)?, text: row.get(1)?, origin: json(row, 2)? })
    })?)
}

/// What was asked of a task, with all that was added.
pub(super) fn asked(connection: &Connection, task: &TaskId, text: &str) -> Result<String, StoreError> {
    let additions = of(connection, task)?;
    Ok(additions.iter().fold(text.to_owned(), |asked, addition| format!("{asked}\n\n{addition}")))
}

/// The task that a message is a part of, if it was added to one.
pub(super) fn task_of(connection: &Connection, message: &TaskId) -> Result<Option<TaskId>, StoreError> {
    let sql = "select task_id from additions where message_task_id = ?1";
    Ok(connection.query_optional(sql, [message.as_str()], |row| task_id(row, 0))?)
}

/// The task that a message of a chat was added to, and what it said.
pub(super) fn said_by(
    connection: &Connection,
    chat: &Chat,
    message: &MessageId,
) -> Result<Option<(TaskId, String)>, StoreError> {
    let sql = "select additions.task_id, coalesce(
                   (select text from parts where task_id = message.id and message_id = ?3 limit 1),
                   additions.text)
               from inbox as message join additions on message_task_id = message.id
               where channel = ?1 and chat_id = ?2
                   and (message.message_id = ?3 or exists (
                       select 1 from parts where task_id = message.id and message_id = ?3))
               order by message.seq desc limit 1";
    Ok(connection.query_optional(sql, params![chat.channel.as_str(), chat.id, message.as_str()], |row| {
        Ok((task_id(row, 0)?, row.get(1)?))
    })?)
}

/// Keeps a message a task of its own, whatever runs.
pub fn stand_alone(connection: &Connection, task: &TaskId) -> Result<(), StoreError> {
    let sql = "update inbox set stands_alone = 1 where id = ?1";
    connection.execute(sql, [task.as_str()])?;
    Ok(())
}

/// How many messages were added to a task.
pub(super) fn count(connection: &Connection, task: &TaskId) -> Result<u32, StoreError> {
    let sql = "select count(*) from additions where task_id = ?1";
    Ok(connection.query_row(sql, [task.as_str()], |row| row.get(0))?)
}
