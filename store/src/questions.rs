//! Questions about approvals: which chats were asked, in which rows of the outbox, so that each is asked once
//! and reads what became of it.

use channel::{Chat, Content, Delivery};
use protocol::EventId;
use rusqlite::{Connection, OptionalExtension as _, params};

use super::columns::{chat, message_id};
use super::{StoreError, outbox};

/// A question that waits for an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    pub approval: EventId,
    pub chat: Chat,
    /// The row with the buttons.
    outbox: i64,
}

pub fn was_asked(connection: &Connection, approval: &EventId) -> Result<bool, StoreError> {
    let sql = "select exists (select 1 from questions where approval_id = ?1)";
    Ok(connection.prepare_cached(sql)?.query_row([approval.as_str()], |row| row.get(0))?)
}

/// Asks a chat, unless it was asked before.
pub fn ask(
    connection: &Connection,
    approval: &EventId,
    chat: &Chat,
    contents: Vec<Content>,
    run: &EventId,
) -> Result<(), StoreError> {
    let sql = "insert into questions (approval_id, channel, chat_id) values (?1, ?2, ?3)
               on conflict do nothing";
    let (channel, id) = (chat.channel.as_str(), chat.id.as_str());
    if connection.prepare_cached(sql)?.execute(params![approval.as_str(), channel, id])? == 0 {
        return Ok(());
    }
    let rows = outbox::queue(connection, None, chat, contents, Delivery::Push, Some(run))?;
    let sql = "update questions set outbox_seq = ?4 where approval_id = ?1 and channel = ?2 and chat_id = ?3";
    connection.prepare_cached(sql)?.execute(params![approval.as_str(), channel, id, rows.last()])?;
    Ok(())
}

pub fn open(connection: &Connection) -> Result<Vec<Question>, StoreError> {
    let sql = "select approval_id, channel, chat_id, outbox_seq from questions where is_open order by rowid";
    let mut query = connection.prepare_cached(sql)?;
    let rows =
        query.query_map([], |row| Ok((row.get::<_, String>(0)?, chat(row, 1)?, row.get::<_, i64>(3)?)))?;
    let rows = rows.collect::<Result<Vec<_>, _>>()?.into_iter();
    Ok(rows
        .filter_map(|(approval, chat, outbox)| {
            Some(Question { approval: approval.parse().ok()?, chat, outbox })
        })
        .collect())
}

/// Replaces the questions about an approval, and their buttons, by what became of it. One that has not left
/// yet is not sent.
pub fn close(
    connection: &Connection,
    approval: &EventId,
    text: &str,
    run: &EventId,
) -> Result<(), StoreError> {
    for question in open(connection)?.into_iter().filter(|question| question.approval == *approval) {
        let sql = "select message_id from outbox where seq = ?1";
        let mut query = connection.prepare_cached(sql)?;
        let sent = query.query_row([question.outbox], |row| message_id(row, 0)).optional()?;
        let content = match sent.flatten() {
            Some(message_id) => Content::Edit { message_id, text: text.to_owned() },
            None => {
                outbox::withdraw(connection, question.outbox)?;
                Content::Text(text.to_owned())
            }
        };
        outbox::queue(connection, None, &question.chat, vec![content], Delivery::Push, Some(run))?;
    }
    let sql = "update questions set is_open = 0 where approval_id = ?1";
    connection.prepare_cached(sql)?.execute([approval.as_str()])?;
    Ok(())
}
