//! Questions whose answer is the result of a call: what a chat was asked, and who may answer. They are rows
//! of the [approvals](super::approvals), which keep what was decided.

use channel::Chat;
use protocol::question::Question;
use protocol::{EventId, MessageId, PersonId};

use super::StoreError;
use super::columns::{json, message_id};
use super::sql::{Connection, Row, params};

/// A question that a chat was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    pub approval: String,
    pub question: Question,
    /// The person who asked for its task; none for a task of nobody's message.
    pub asker: Option<PersonId>,
    /// The message with the question, once it was sent.
    pub message: Option<MessageId>,
}

const COLUMNS: &str = "select approval_id, asks, asker, message_id
                       from questions left join outbox on outbox.seq = outbox_seq";

/// Says that what chats were asked as an approval is a question.
pub fn note(
    connection: &Connection,
    approval: &EventId,
    question: &Question,
    asker: Option<&PersonId>,
) -> Result<(), StoreError> {
    let sql = "update questions set asks = ?2, asker = ?3 where approval_id = ?1";
    let asks = serde_json::to_string(question)?;
    connection.execute(sql, params![approval.as_str(), asks, asker.map(PersonId::as_str)])?;
    Ok(())
}

/// The open questions of a chat that have reached it, the newest first.
pub fn in_chat(connection: &Connection, chat: &Chat) -> Result<Vec<Asked>, StoreError> {
    let sql = format!(
        "{COLUMNS} where is_open and asks is not null and message_id is not null
                     and questions.channel = ?1 and questions.chat_id = ?2 order by questions.rowid desc"
    );
    Ok(connection.query_all(&sql, params![chat.channel.as_str(), chat.id], asked)?)
}

/// A question of a chat, whether it is open or not.
pub fn one(connection: &Connection, approval: &str, chat: &Chat) -> Result<Option<Asked>, StoreError> {
    let sql = format!(
        "{COLUMNS} where approval_id = ?1 and asks is not null
                     and questions.channel = ?2 and questions.chat_id = ?3"
    );
    Ok(connection.query_optional(&sql, params![approval, chat.channel.as_str(), chat.id], asked)?)
}

fn asked(row: &Row<'_>) -> crate::sql::Result<Asked> {
    Ok(Asked {
        approval: row.get(0)?,
        question: json(row, 1)?.unwrap_or_default(),
        asker: row.get::<Option<String>>(2)?.map(PersonId::from),
        message: message_id(row, 3)?,
    })
}
