//! Tasks of several messages: a long text in pieces, a burst of forwards, a file and its question.
//!
//! Further messages belong to a task until its sender has been quiet for a while. It is not run before.

use std::time::Duration;

use channel::Chat;
use protocol::{MessageId, TaskId, now_ms};

use super::StoreError;
use super::claim::after;
use super::columns::task_id;
use super::inbox::IncomingMessage;
use super::sql::{Connection, params};

/// A task gets no further message beyond so many, or beyond so many characters.
const MOST_PARTS: u32 = 100;
const MOST_CHARS: u32 = 100_000;

/// The task that waits for further messages of this sender, for one that was sent at this time.
pub fn open_task(
    connection: &Connection,
    chat: &Chat,
    user: Option<&str>,
    sent_at: i64,
) -> Result<Option<TaskId>, StoreError> {
    // One that was changed in the future is due, because the clock was set back.
    let sql = "select id from inbox
               where channel = ?1 and chat_id = ?2 and gather_until_ms > ?3 and updated_at_ms <= ?3
                   and user_id is not distinct from ?4 and gather_sent_until >= ?5
                   and state = 'queued' and attempt = 0
                   and length(text) < ?6 and (select count(*) from parts where task_id = inbox.id) < ?7
               order by seq desc limit 1";
    let (channel, now) = (chat.channel.as_str(), now_ms());
    Ok(connection.query_optional(
        sql,
        params![channel, chat.id, now, user, sent_at, MOST_CHARS, MOST_PARTS],
        |row| task_id(row, 0),
    )?)
}

/// Keeps a task waiting for messages that come within `quiet` after one of this time, in seconds since the
/// epoch.
pub fn wait(connection: &Connection, task: &TaskId, quiet: Duration, sent_at: i64) -> Result<(), StoreError> {
    let sql = "update inbox set gather_until_ms = ?2, gather_sent_until = ?3, updated_at_ms = ?4
               where id = ?1 and state = 'queued' and attempt = 0";
    let now = now_ms();
    // Channels tell the time of a message in whole seconds.
    let seconds = i64::try_from(quiet.as_millis().div_ceil(1000)).unwrap_or(i64::MAX);
    let (until, sent_until) = (after(now, quiet), sent_at.saturating_add(seconds));
    connection.execute(sql, params![task.as_str(), until, sent_until, now])?;
    Ok(())
}

/// Nothing more of this sender belongs to a task that waits: it can run.
pub fn end(connection: &Connection, chat: &Chat, user: Option<&str>) -> Result<(), StoreError> {
    let sql = "update inbox set gather_until_ms = null
               where channel = ?1 and chat_id = ?2 and gather_until_ms is not null
                   and user_id is not distinct from ?3
                   and state = 'queued'";
    connection.execute(sql, params![chat.channel.as_str(), chat.id, user])?;
    Ok(())
}

/// Whether the newest part of a task is a piece that was cut, so that another one follows.
pub fn ends_cut(connection: &Connection, task: &TaskId) -> Result<bool, StoreError> {
    let sql = "select is_cut from parts where task_id = ?1 order by seq desc limit 1";
    let found = connection.query_optional(sql, [task.as_str()], |row| row.get(0))?;
    Ok(found.unwrap_or(false))
}

/// Adds a message to a task, which may be its first.
pub fn add(
    connection: &Connection,
    task: &TaskId,
    message: &IncomingMessage,
    is_cut: bool,
) -> Result<(), StoreError> {
    let sql = "insert into parts (task_id, message_id, text, forwarded_from, is_cut)
               values (?1, ?2, ?3, ?4, ?5)";
    let forwarded_from = message.origin.as_ref().and_then(|origin| origin.forwarded_from.as_ref());
    let values = params![
        task.as_str(),
        message.message_id.as_ref().map(MessageId::as_str),
        message.text,
        forwarded_from,
        is_cut
    ];
    connection.execute(sql, values)?;
    Ok(())
}

/// Makes what a task says so far its first parts, unless it has some.
pub fn begin(connection: &Connection, task: &TaskId) -> Result<(), StoreError> {
    let has_parts = "select exists (select 1 from parts where task_id = ?1)";
    if connection.query_row(has_parts, [task.as_str()], |row| row.get(0))? {
        return Ok(());
    }
    let of_files = "insert into parts (task_id, message_id, text, forwarded_from)
                    select task_id, attachments.message_id, said, origin ->> 'forwarded_from'
                    from attachments join inbox on inbox.id = task_id
                    where attachments.seq in (select min(seq) from attachments where task_id = ?1
                                              group by message_id)
                    order by attachments.seq";
    let alone = "insert into parts (task_id, message_id, text, forwarded_from)
                 select id, message_id, text, origin ->> 'forwarded_from' from inbox where id = ?1";
    if connection.execute(of_files, [task.as_str()])? == 0 {
        connection.execute(alone, [task.as_str()])?;
    }
    Ok(())
}

/// Replaces what a part says. Returns whether there is such a part.
pub fn replace(
    connection: &Connection,
    task: &TaskId,
    message_id: &MessageId,
    text: &str,
) -> Result<bool, StoreError> {
    let sql = "update parts set text = ?3 where task_id = ?1 and message_id = ?2";
    Ok(connection.execute(sql, params![task.as_str(), message_id.as_str(), text])? > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::Claim;
    use crate::fixture::{TestDatabase, incoming, test_chat};
    use crate::said;

    const QUIET: Duration = Duration::from_millis(60_000);

    /// A task that waits for more of what was sent at 100.
    fn waiting() -> (TestDatabase, TaskId) {
        let database = TestDatabase::new();
        let task = database.enqueue(test_chat(1), "one");
        wait(&database, &task, QUIET, 100).unwrap();
        (database, task)
    }

    fn open(database: &TestDatabase, sent_at: i64) -> Option<TaskId> {
        open_task(database, &test_chat(1), None, sent_at).unwrap()
    }

    fn say(database: &TestDatabase, task: &TaskId, message: &IncomingMessage, is_cut: bool) {
        begin(database, task).unwrap();
        add(database, task, message, is_cut).unwrap();
        said::write(database, task).unwrap();
    }

    #[test]
    fn a_task_is_open_for_its_sender_and_chat_while_it_waits_and_says_when_it_is_due() {
        let (database, task) = waiting();
        match database.try_claim() {
            Claim::Nothing { until_ms: Some(due) } => assert!(due > now_ms() + 50_000),
            other => panic!("{other:?}"),
        }
        assert_eq!(open(&database, 160), Some(task.clone()));
        assert_eq!(open(&database, 161), None, "it was sent too long after the one before");
        assert_eq!(open_task(&database, &test_chat(2), None, 100).unwrap(), None);
        assert_eq!(open_task(&database, &test_chat(1), Some("test:2"), 100).unwrap(), None);
        end(&database, &test_chat(1), Some("test:2")).unwrap();
        assert!(open(&database, 100).is_some(), "another sender ends nothing");
        end(&database, &test_chat(1), None).unwrap();
        assert_eq!(open(&database, 100), None);
        assert_eq!(database.claim().id, task);
    }

    #[test]
    fn a_quiet_time_that_is_over_and_a_clock_that_was_set_back_end_it() {
        let (database, task) = waiting();
        database.execute("update inbox set gather_until_ms = 1", []).unwrap();
        assert_eq!(open(&database, 100), None);
        wait(&database, &task, QUIET, 100).unwrap();
        database.execute("update inbox set updated_at_ms = updated_at_ms + 3600000", []).unwrap();
        assert_eq!(open(&database, 100), None);
        assert_eq!(database.claim().id, task);
    }

    #[test]
    fn a_task_takes_no_endless_number_of_messages() {
        let (database, task) = waiting();
        begin(&database, &task).unwrap();
        for number in 1..MOST_PARTS {
            assert!(open(&database, 100).is_some(), "{number}");
            add(&database, &task, &incoming(test_chat(1), "more"), false).unwrap();
        }
        assert_eq!(open(&database, 100), None);
        let (database, task) = waiting();
        say(&database, &task, &incoming(test_chat(1), &"x".repeat(100_000)), false);
        assert_eq!(open(&database, 100), None);
    }
}
