//! The numbers of messages that a chat is known to have, for channels that count them.
//!
//! A message whose sending had no answer may be there under an unknown number: it is above those that were
//! known before, and none of those that were sent since.

use channel::Chat;
use protocol::MessageId;

use super::StoreError;
use super::sql::{Connection, params};

/// More of what a chat said is not looked at.
const NEWEST_RECEIVED: u32 = 20;
/// More of what was sent to all chats is not looked at.
const NEWEST_SENT: u32 = 500;

/// The highest number that is known in a chat.
pub fn highest(connection: &Connection, chat: &Chat) -> Result<Option<MessageId>, StoreError> {
    let sql = "select max(cast(message_id as bigint)) from (
                   select message_id, channel from inbox
                   where chat_id = ?1 order by seq desc limit ?3) as newest
               where channel = ?2";
    let params = params![chat.id, chat.channel.as_str(), NEWEST_RECEIVED];
    let received: Option<i64> = connection.query_row(sql, params, |row| row.get(0))?;
    let sent = sent(connection, chat)?.into_iter().filter_map(|id| id.as_str().parse().ok());
    Ok(sent.chain(received).max().map(MessageId::from))
}

/// The messages that were sent to a chat lately.
pub fn sent(connection: &Connection, chat: &Chat) -> Result<Vec<MessageId>, StoreError> {
    let sql = "select message_id from outbox
               where seq > (select coalesce(max(seq), 0) from outbox) - ?3
                   and channel = ?1 and chat_id = ?2 and message_id is not null";
    let params = params![chat.channel.as_str(), chat.id, NEWEST_SENT];
    Ok(connection.query_all(sql, params, |row| Ok(MessageId::from(row.get::<String>(0)?)))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{TestDatabase, done, test_chat};

    #[test]
    fn the_highest_number_is_that_of_a_question_or_of_an_answer_in_the_chat_itself() {
        let database = TestDatabase::new();
        assert_eq!(highest(&database, &test_chat(1)).unwrap(), None);
        for chat in ["1", "2"] {
            database.enqueue(test_chat(chat), "hello");
            assert!(database.end(&database.claim(), done("ok")));
        }
        let number = |table: &str, chat: i64, number: i64| {
            let sql = format!("update {table} set message_id = '{number}' where chat_id = '{chat}'");
            database.execute(&sql, []).unwrap();
        };
        database.execute("update outbox set state = 'sent', finished_at_ms = 1", []).unwrap();
        number("inbox", 1, 9);
        number("inbox", 2, 99);
        assert_eq!(highest(&database, &test_chat(1)).unwrap(), Some(9.into()));
        number("outbox", 1, 10);
        number("outbox", 2, 98);
        assert_eq!(highest(&database, &test_chat(1)).unwrap(), Some(10.into()));
        assert_eq!(sent(&database, &test_chat(2)).unwrap(), [98.into()]);
    }
}
