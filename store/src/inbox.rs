//! Incoming messages: each becomes one row, whether it is run or not.

use channel::{ChannelName, Chat};
use protocol::event::{TaskPart, TaskQueued, TaskSkipped};
use protocol::{EventId, MessageId, Origin, TaskId, now_ms};
use serde::{Deserialize, Serialize};

use super::columns::{self, json};
use super::sql::{Connection, params};
use super::{StoreError, additions, events, outbox};

/// An incoming message.
#[derive(Debug, Clone)]
pub struct IncomingMessage {
    /// Where it came from.
    pub chat: Chat,
    /// The channel's ID of the update: one that comes again is ignored.
    pub update_id: Option<String>,
    /// Its ID in its chat.
    pub message_id: Option<MessageId>,
    /// Its text.
    pub text: String,
    /// Who wrote it, and where, if its channel tells.
    pub origin: Option<Origin>,
}

/// How a message's task is, as the local channel tells it.
#[derive(Debug, Serialize, Deserialize)]
pub struct MessageStatus {
    pub task_id: TaskId,
    /// Its state: `queued`, `in_progress`, `done`, `dead`, `cancelled` or `skipped`.
    pub status: String,
    /// The reply, once the task has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<String>,
}

impl MessageStatus {
    /// Whether the task is done, or its message was a command and was answered.
    pub fn is_answered(&self) -> bool {
        self.status == "done" || (self.status == "skipped" && self.reply.is_some())
    }

    pub fn is_open(&self) -> bool {
        matches!(self.status.as_str(), "queued" | "in_progress")
    }
}

/// Stores a message as a task. Returns none for an update that is already stored.
pub fn enqueue(
    connection: &Connection,
    incoming: &IncomingMessage,
    run: &EventId,
) -> Result<Option<TaskId>, StoreError> {
    let Some(task) = insert(connection, incoming, None)? else { return Ok(None) };
    let queued = TaskQueued {
        channel: incoming.chat.channel.as_str().to_owned(),
        chat_id: incoming.chat.id.clone(),
        text: incoming.text.clone(),
        message_id: incoming.message_id.clone(),
        requeued: None,
    };
    events::record(connection, queued, Some(run), &task)?;
    Ok(Some(task))
}

/// Stores a message that is not run, with the reason. Returns none for an update that is already stored.
pub fn store_skipped(
    connection: &Connection,
    incoming: &IncomingMessage,
    reason: &str,
    run: &EventId,
) -> Result<Option<TaskId>, StoreError> {
    let Some(task) = insert(connection, incoming, Some(reason))? else { return Ok(None) };
    events::record(connection, skipped(incoming, reason), Some(run), &task)?;
    Ok(Some(task))
}

/// Stores a message that belongs to the task of an earlier one, with the reason. Returns false for an update
/// that is already stored. The text is the task's, so that the message cannot be run by itself.
pub fn store_part(
    connection: &Connection,
    incoming: &IncomingMessage,
    of: &TaskId,
    reason: &str,
    run: &EventId,
) -> Result<bool, StoreError> {
    let row = IncomingMessage { text: String::new(), ..incoming.clone() };
    let Some(task) = insert(connection, &row, Some(reason))? else { return Ok(false) };
    let part = TaskPart { part_of: of.clone(), text: incoming.text.clone() };
    let skipped = TaskSkipped { part: Some(part), ..skipped(incoming, reason) };
    events::record(connection, skipped, Some(run), &task)?;
    Ok(true)
}

fn skipped(incoming: &IncomingMessage, reason: &str) -> TaskSkipped {
    TaskSkipped {
        channel: Some(incoming.chat.channel.as_str().to_owned()),
        chat_id: Some(incoming.chat.id.clone()),
        reason: reason.to_owned(),
        part: None,
    }
}

/// A task's message in its chat.
pub fn message_id(connection: &Connection, task: &TaskId) -> Result<Option<MessageId>, StoreError> {
    let sql = "select message_id from inbox where id = ?1";
    Ok(connection.query_optional(sql, [task.as_str()], |row| columns::message_id(row, 0))?.flatten())
}

/// Who wrote a task's message, if its channel knows.
pub fn origin(connection: &Connection, task: &TaskId) -> Result<Option<Origin>, StoreError> {
    let sql = "select origin from inbox where id = ?1";
    Ok(connection.query_optional(sql, [task.as_str()], |row| json(row, 0))?.flatten())
}

pub fn status(connection: &Connection, message: &TaskId) -> Result<Option<MessageStatus>, StoreError> {
    // One that was added to a task is answered with it.
    let added = additions::task_of(connection, message)?;
    let task = added.as_ref().unwrap_or(message);
    // A command that needs the tool server is answered later.
    let sql = "select case when exists (select 1 from file_requests where task_id = ?1) then 'in_progress'
                      else state end
               from inbox where id = ?1";
    let found = connection.query_optional(sql, [task.as_str()], |row| row.get(0))?;
    let Some(status) = found else { return Ok(None) };
    let mut status = MessageStatus { task_id: message.clone(), status, reply: None };
    if !status.is_open() {
        status.reply = outbox::reply_of(connection, task)?;
    }
    Ok(Some(status))
}

/// Adds a row, which is queued, or skipped for a reason.
fn insert(
    connection: &Connection,
    incoming: &IncomingMessage,
    skipped: Option<&str>,
) -> Result<Option<TaskId>, StoreError> {
    let (task, now) = (TaskId::new(), now_ms());
    let (state, ended) = if skipped.is_some() { ("skipped", Some(now)) } else { ("queued", None) };
    let origin = incoming.origin.as_ref().map(serde_json::to_string).transpose()?;
    let sql = "insert into inbox (id, channel, chat_id, update_id, text, state, error, available_at_ms,
                                  created_at_ms, updated_at_ms, finished_at_ms, message_id, origin, user_id)
               values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8, ?8, ?9, ?10, ?11, ?12)
               on conflict (channel, update_id) where update_id is not null do nothing";
    let values = params![
        task.as_str(),
        incoming.chat.channel.as_str(),
        incoming.chat.id,
        incoming.update_id,
        incoming.text,
        state,
        skipped,
        now,
        ended,
        incoming.message_id.as_ref().map(MessageId::as_str),
        origin,
        incoming.origin.as_ref().and_then(|origin| user_id(&incoming.chat.channel, origin)),
    ];
    let added = connection.execute(sql, values)?;
    if added == 0 {
        report_reuse(connection, incoming)?;
    }
    Ok((added == 1).then_some(task))
}

/// Whose limits a message counts for, as `<channel>:<ID>`.
pub fn user_id(channel: &ChannelName, origin: &Origin) -> Option<String> {
    origin.from.as_ref().map(|sender| format!("{channel}:{}", sender.id))
}

/// An ID that comes with another message than before would lose that message in silence.
fn report_reuse(connection: &Connection, incoming: &IncomingMessage) -> Result<(), StoreError> {
    let sql = "select id from inbox where channel = ?1 and update_id = ?2
               and (chat_id <> ?3 or message_id is distinct from ?4
                    or (text <> ?5 and text <> '' and ?5 <> ''))";
    let (channel, chat_id) = (&incoming.chat.channel, &incoming.chat.id);
    let (update_id, message_id) = (&incoming.update_id, &incoming.message_id);
    let number = message_id.as_ref().map(MessageId::as_str);
    let values = params![channel.as_str(), update_id, chat_id, number, incoming.text];
    if let Some(stored_task) = connection.query_optional(sql, values, |row| row.get::<String>(0))? {
        tracing::error!(
            %channel, chat_id, ?update_id, ?message_id, stored_task,
            "an update's ID came again with another message, which is taken for a repetition and not run"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{TestDatabase, incoming, test_chat};

    #[test]
    fn a_skipped_message_is_kept_with_its_reason_and_never_run() {
        let database = TestDatabase::new();
        let stored = store_skipped(&database, &incoming(test_chat(1), "hello"), "too old", &database.run);
        assert!(stored.unwrap().is_some());
        assert_eq!(database.texts("select error from inbox where state = 'skipped'"), ["too old"]);
    }

    #[test]
    fn an_invalid_state_cannot_be_stored() {
        let database = TestDatabase::new();
        database.enqueue(test_chat(1), "hello");
        database.refuses(&[
            "update inbox set state = 'lost'",
            "update inbox set state = 'in_progress'",
            "update inbox set state = 'in_progress', attempt = 1",
            "update inbox set state = 'done', finished_at_ms = 1",
            "update inbox set state = 'dead', finished_at_ms = 1",
            "update inbox set cancel_requested_by = 'control'",
            "update inbox set attempt_base = 1",
        ]);
    }

    #[test]
    fn an_invalid_transition_is_refused() {
        let database = TestDatabase::new();
        database.enqueue(test_chat(1), "hello");
        database.refuses(&[
            "update inbox set state = 'in_progress', lease_until_ms = 1, attempt = 2",
            "update inbox set state = 'done', finished_at_ms = 1, attempt = 1",
            "update inbox set state = 'dead', finished_at_ms = 1, error = 'e'",
            "update inbox set attempt = 1",
            "update inbox set requeues = 1",
        ]);
        let run = "update inbox set state = 'in_progress', lease_until_ms = 1, attempt = attempt + 1";
        database.execute(run, []).unwrap();
        database.refuses(&[
            "update inbox set state = 'skipped', lease_until_ms = null, finished_at_ms = 1, error = 'e'",
            "update inbox set state = 'queued', lease_until_ms = null, attempt = 0",
            "update inbox set attempt = 2",
        ]);
        let end = "update inbox set state = 'dead', lease_until_ms = null, finished_at_ms = 1, error = 'e'";
        database.execute(end, []).unwrap();
        database.refuses(&[
            "update inbox set state = 'queued', finished_at_ms = null",
            "update inbox set state = 'queued', finished_at_ms = null, requeues = 1",
            "update inbox set state = 'queued', finished_at_ms = null, requeues = 1, attempt = 0",
            "update inbox set state = 'queued', finished_at_ms = null, requeues = 2, attempt_base = 1",
            "update inbox set state = 'done'",
            "update inbox set state = 'cancelled'",
        ]);
    }
}
