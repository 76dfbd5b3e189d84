//! The effects of calls: which were made, with their answers, and what bounds them.

use channel::Chat;
use protocol::effect::Answer;
use protocol::{EventId, TaskId, now_ms};

use super::StoreError;
use super::columns::json;
use super::sql::{Connection, params};

/// No request is repeated after this time.
const KEPT_MS: i64 = 24 * 3600 * 1000;

/// The answer to an effect that was made before.
pub fn answer(connection: &Connection, call: &EventId) -> Result<Option<Answer>, StoreError> {
    let sql = "select answer from effects where call_id = ?1";
    let found = connection.query_optional(sql, [call.as_str()], |row| json(row, 0))?;
    Ok(found.flatten())
}

/// Notes that an effect was made, in the transaction that makes it.
pub fn note(connection: &Connection, call: &EventId, answer: &Answer) -> Result<(), StoreError> {
    let now = now_ms();
    connection.execute("delete from effects where created_at_ms < ?1", [now - KEPT_MS])?;
    let sql = "insert into effects (call_id, answer, created_at_ms) values (?1, ?2, ?3)";
    connection.execute(sql, params![call.as_str(), serde_json::to_string(answer)?, now])?;
    Ok(())
}

/// Whether a task runs now, in this chat.
pub fn is_running(connection: &Connection, task: &TaskId, chat: &Chat) -> Result<bool, StoreError> {
    let sql = "select exists (select 1 from inbox where id = ?1 and channel = ?2 and chat_id = ?3
                              and state = 'in_progress')";
    let known = [task.as_str(), chat.channel.as_str(), &chat.id];
    Ok(connection.query_row(sql, known, |row| row.get(0))?)
}

/// How many messages wait to be sent to a chat that are no part of a reply.
pub fn waiting(connection: &Connection, chat: &Chat) -> Result<u32, StoreError> {
    let sql = "select count(*) from outbox
               where channel = ?1 and chat_id = ?2 and state = 'queued' and task_id is null";
    let known = [chat.channel.as_str(), &chat.id];
    Ok(connection.query_row(sql, known, |row| row.get(0))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{TestDatabase, test_chat};

    #[test]
    fn an_effect_is_known_by_its_call_and_a_task_runs_in_its_own_chat_alone() {
        let database = TestDatabase::new();
        let (call, made) = (EventId::new(), Answer::Queued { outbox_id: 7, message_id: None });
        assert_eq!(answer(&database, &call).unwrap(), None);
        note(&database, &call, &made).unwrap();
        assert_eq!(answer(&database, &call).unwrap(), Some(made.clone()));
        assert!(note(&database, &call, &made).is_err());

        let task = database.enqueue(test_chat(1), "hello");
        assert!(!is_running(&database, &task, &test_chat(1)).unwrap());
        let sql = "update inbox set state = 'in_progress', attempt = 1, lease_until_ms = 1 where id = ?1";
        database.execute(sql, [task.as_str()]).unwrap();
        assert!(is_running(&database, &task, &test_chat(1)).unwrap());
        assert!(!is_running(&database, &task, &test_chat(2)).unwrap());
        assert_eq!(waiting(&database, &test_chat(1)).unwrap(), 0);
    }
}
