//! Messages that their senders change after they were stored.

use channel::Chat;
use protocol::event::{TaskEdited, TaskQueued};
use protocol::{MessageId, TaskId};

use super::columns::task_id;
use super::sql::{Connection, params};
use super::{StoreError, additions, events};

/// The task of a message that was changed.
#[derive(Debug, PartialEq, Eq)]
pub struct Edited {
    pub task: TaskId,
    /// Whether somebody has worked on it, or it has ended.
    pub has_begun: bool,
    /// What its message said when it was last read.
    said: String,
}

/// What is before the text of an edit that is a task of its own.
const CORRECTION: &str = "[A correction of an earlier message:]\n\n";

impl Edited {
    /// Whether an edit to this text leaves the message as it was.
    pub fn says(&self, text: &str) -> bool {
        self.said.strip_prefix(CORRECTION).unwrap_or(&self.said) == text
    }
}

/// The text of a task for an edit of a message that has been worked on.
pub fn correction(text: &str) -> String {
    format!("{CORRECTION}{text}")
}

/// The newest task of a message. One that was skipped is none, whatever became of it.
pub fn task_of(
    connection: &Connection,
    chat: &Chat,
    message_id: &MessageId,
) -> Result<Option<Edited>, StoreError> {
    let sql = "select id, state <> 'queued' or attempt > 0, coalesce(
                   (select parts.text from parts where task_id = inbox.id and message_id = ?3 limit 1),
                   (select said from attachments where task_id = inbox.id and message_id = ?3 limit 1), text)
               from inbox
               where channel = ?1 and chat_id = ?2 and state <> 'skipped'
                   and (message_id = ?3 or exists (
                       select 1 from parts where task_id = inbox.id and parts.message_id = ?3))
               order by seq desc limit 1";
    let values = params![chat.channel.as_str(), chat.id, message_id.as_str()];
    let found = connection.query_optional(sql, values, |row| {
        Ok(Edited { task: task_id(row, 0)?, has_begun: row.get(1)?, said: row.get(2)? })
    })?;
    if let Some(edited) = found {
        return Ok(Some(edited));
    }
    let added = additions::said_by(connection, chat, message_id)?;
    Ok(added.map(|(task, said)| Edited { task, has_begun: true, said }))
}

/// Records that the text of a task was changed.
pub fn record(connection: &Connection, task: &TaskId, text: &str) -> Result<(), StoreError> {
    let queued = events::newest_of::<TaskQueued>(connection, task)?;
    events::record(connection, TaskEdited { text: text.to_owned() }, queued.as_ref(), task).map(drop)
}

/// Replaces the text of a task that has not begun.
pub fn replace_text(connection: &Connection, task: &TaskId, text: &str) -> Result<(), StoreError> {
    let sql = "update inbox set text = ?2 where id = ?1 and state = 'queued' and attempt = 0";
    connection.execute(sql, params![task.as_str(), text])?;
    Ok(())
}
