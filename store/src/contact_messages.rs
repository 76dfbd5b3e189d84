//! Messages to contacts: which calls sent one, and what became of it.

use channel::{Chat, Content, Delivery};
use protocol::{EventId, SessionId};

use super::columns::known;
use super::sql::{Connection, params};
use super::{StoreError, outbox};

/// A message that has left, or never will.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    pub call: String,
    pub session: SessionId,
    pub contact_id: String,
    /// Whether all of it arrived.
    pub is_sent: bool,
}

/// The sender and the receiver of a message.
#[derive(Debug, Clone)]
pub struct NewMessage {
    pub call: EventId,
    pub session: SessionId,
    pub contact_id: String,
    pub chat: Chat,
}

/// Queues the message of a call, once, and returns the number of its first row.
pub fn queue(
    connection: &Connection,
    message: &NewMessage,
    contents: Vec<Content>,
    delivery: Delivery,
) -> Result<i64, StoreError> {
    let NewMessage { call, session, contact_id, chat } = message;
    let sql = "select first_outbox_seq from contact_messages where call_id = ?1";
    let known = connection.query_optional(sql, [call.as_str()], |row| row.get(0))?;
    if let Some(first) = known {
        return Ok(first);
    }
    let rows = outbox::queue(connection, None, chat, contents, delivery, Some(call))?;
    let (first, last) = (rows.first().copied().unwrap_or_default(), rows.last().copied().unwrap_or_default());
    let sql = "insert into contact_messages
           (call_id, session_id, contact_id, first_outbox_seq, last_outbox_seq, address)
               values (?1, ?2, ?3, ?4, ?5, ?6)";
    connection
        .execute(sql, params![call.as_str(), session.as_str(), contact_id, first, last, chat.address()])?;
    Ok(first)
}

/// Whether a session has written to a contact before, at this address.
pub fn has_met(
    connection: &Connection,
    session: &SessionId,
    contact_id: &str,
    address: &Chat,
) -> Result<bool, StoreError> {
    let sql = "select exists (select 1 from contact_messages
                              where session_id = ?1 and contact_id = ?2 and address = ?3)";
    let known = [session.as_str(), contact_id, &address.address()];
    Ok(connection.query_row(sql, known, |row| row.get(0))?)
}

/// The messages whose end is not settled yet, the oldest first.
pub fn ended(connection: &Connection) -> Result<Vec<Ended>, StoreError> {
    let sql = "select call_id, session_id, contact_id,
                      not exists (select 1 from outbox
                                  where seq between first_outbox_seq and last_outbox_seq and state = 'dead')
               from contact_messages
               where is_open and not exists (
                   select 1 from outbox
                   where seq between first_outbox_seq and last_outbox_seq and state = 'queued')
                   /* mine: contact_messages */
               order by first_outbox_seq";
    let messages = connection.query_all(sql, [], |row| {
        let (call, contact_id, is_sent) = (row.get(0)?, row.get(2)?, row.get(3)?);
        Ok(known(row, 1)?.map(|session| Ended { call, session, contact_id, is_sent }))
    })?;
    Ok(messages.into_iter().flatten().collect())
}

/// What became of a message stands in the file, or never will.
pub fn settle(connection: &Connection, call: &str) -> Result<(), StoreError> {
    let sql = "update contact_messages set is_open = 0 where call_id = ?1";
    connection.execute(sql, [call])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{TestDatabase, test_chat};

    #[test]
    fn a_call_sends_once_and_its_end_is_settled_once_all_parts_have_one() {
        let database = TestDatabase::new();
        let [session, other] = ["test:7", "test:8"].map(|session| session.parse::<SessionId>().unwrap());
        let message = NewMessage {
            call: database.append(crate::fixture::call_started("contacts_send", "."), None, None),
            session: session.clone(),
            contact_id: "anna".to_owned(),
            chat: test_chat(9),
        };
        let contents = || vec![Content::Text("one".to_owned()), Content::Text("two".to_owned())];
        let met = |session: &SessionId, contact: &str, chat: usize| {
            has_met(&database, session, contact, &test_chat(chat)).unwrap()
        };
        assert!(!met(&session, "anna", 9));
        let first = queue(&database, &message, contents(), Delivery::Push).unwrap();
        assert_eq!(queue(&database, &message, contents(), Delivery::Push).unwrap(), first);
        assert_eq!(database.texts("select text from outbox order by seq"), ["one", "two"]);
        assert!(met(&session, "anna", 9) && !met(&other, "anna", 9));
        assert!(!met(&session, "anna", 8), "another address is another person");
        assert!(!met(&session, "bert", 9), "and another name may be, too");

        let sent = "update outbox set state = 'sent', finished_at_ms = 1 where text = ?1";
        database.execute(sent, ["one"]).unwrap();
        assert_eq!(ended(&database).unwrap(), []);
        let dead = "update outbox set state = 'dead', error = 'no', finished_at_ms = 1 where text = 'two'";
        database.execute(dead, []).unwrap();
        let [end] = ended(&database).unwrap().try_into().unwrap();
        assert_eq!((end.contact_id.as_str(), &end.session, end.is_sent), ("anna", &session, false));
        settle(&database, &end.call).unwrap();
        assert_eq!(ended(&database).unwrap(), []);
        assert!(met(&session, "anna", 9));
    }
}
