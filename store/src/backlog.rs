//! Messages that arrived while the supervisor was down: only the newest ones of each chat are run, and each
//! chat reads how many were not.
//!
//! They come in several transactions, so the counts are stored until the chats have their message, and no
//! message runs before all have come: which ones are the newest is known only then.

use channel::{ChannelName, Chat};
use protocol::event::TaskSkipped;
use protocol::{EventId, now_ms};

use super::columns::{chat, task_id};
use super::sql::{Connection, params};
use super::{StoreError, events, kv};

/// How long messages wait for the rest of the backlog, should the rest not come.
const HELD_MS: i64 = 30_000;

/// Where the backlog of a channel begins: at the newest task before it, also after a restart in its midst.
pub fn begin(connection: &Connection, channel: &ChannelName) -> Result<i64, StoreError> {
    let key = begin_key(channel);
    if let Some(since) = kv::get(connection, &key)?.and_then(|since| since.parse().ok()) {
        return Ok(since);
    }
    let since = newest_seq(connection)?;
    kv::set(connection, &key, &since.to_string())?;
    Ok(since)
}

/// Keeps the queued tasks after `since_seq` from running for a while.
pub fn hold(connection: &Connection, channel: &ChannelName, since_seq: i64) -> Result<(), StoreError> {
    set_due(connection, channel, since_seq, now_ms() + HELD_MS)
}

/// All have come: the rest of them runs.
pub fn end(connection: &Connection, channel: &ChannelName, since_seq: i64) -> Result<(), StoreError> {
    set_due(connection, channel, since_seq, now_ms())?;
    kv::remove(connection, &begin_key(channel))
}

/// Those that wait for their files are left alone.
fn set_due(
    connection: &Connection,
    channel: &ChannelName,
    since_seq: i64,
    due_ms: i64,
) -> Result<(), StoreError> {
    let sql = "update inbox set available_at_ms = ?3, updated_at_ms = ?4
               where state = 'queued' and channel = ?1 and seq > ?2 and attempt = 0
                   and not exists (select 1 from attachments
                                   where task_id = inbox.id and attachments.state = 'waiting')";
    connection.execute(sql, params![channel.as_str(), since_seq, due_ms, now_ms()])?;
    Ok(())
}

/// Skips all but the newest `most` of each chat's tasks after `since_seq`, and counts them. What runs already
/// is one of the `most`.
pub fn keep_newest(
    connection: &Connection,
    channel: &ChannelName,
    since_seq: i64,
    most: u32,
    run: &EventId,
) -> Result<usize, StoreError> {
    let reason = format!("more than {most} messages waited at start; this one is not among the newest");
    let sql = "with begun as (select chat_id, count(*) as number from inbox
                              where channel = ?1 and seq > ?2 and attempt > 0 group by chat_id)
               select id, channel, waiting.chat_id from (
                   select id, channel, chat_id, seq,
                          row_number() over (partition by chat_id order by seq desc) as place
                   from inbox where state = 'queued' and channel = ?1 and seq > ?2 and attempt = 0) as waiting
               left join begun on begun.chat_id = waiting.chat_id
               where place + coalesce(number, 0) > ?3 order by seq";
    let values = params![channel.as_str(), since_seq, most];
    let surplus = connection.query_all(sql, values, |row| Ok((task_id(row, 0)?, chat(row, 1)?)))?;
    for (task, chat) in &surplus {
        let sql = "update inbox set state = 'skipped', error = ?2, finished_at_ms = ?3, updated_at_ms = ?3
                   where id = ?1";
        connection.execute(sql, params![task.as_str(), reason, now_ms()])?;
        let skipped = TaskSkipped { channel: None, chat_id: None, reason: reason.clone(), part: None };
        events::record(connection, skipped, Some(run), task)?;
        count_skipped(connection, chat)?;
    }
    Ok(surplus.len())
}

/// Counts a message that was skipped and could be run.
pub fn count_skipped(connection: &Connection, chat: &Chat) -> Result<(), StoreError> {
    let key = format!("{}{}", prefix(&chat.channel), chat.id);
    let count: u64 = kv::get(connection, &key)?.and_then(|count| count.parse().ok()).unwrap_or(0);
    kv::set(connection, &key, &(count + 1).to_string())
}

/// How many messages of each chat were skipped, once: the caller tells the chats.
pub fn take_skipped(connection: &Connection, channel: &ChannelName) -> Result<Vec<(Chat, u64)>, StoreError> {
    let prefix = prefix(channel);
    let counts = kv::beginning_with(connection, &prefix)?;
    let of_chat = |(id, count): (String, String)| {
        kv::remove(connection, &format!("{prefix}{id}"))?;
        Ok((Chat::new(channel.clone(), id), count.parse().unwrap_or(0)))
    };
    counts.into_iter().map(of_chat).collect()
}

fn begin_key(channel: &ChannelName) -> String {
    format!("backlog.begin.{channel}")
}

fn prefix(channel: &ChannelName) -> String {
    format!("backlog.skipped.{channel}.")
}

/// The newest row of the inbox; later rows have higher numbers.
fn newest_seq(connection: &Connection) -> Result<i64, StoreError> {
    Ok(connection.query_row("select coalesce(max(seq), 0) from inbox", [], |row| row.get(0))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{CHANNEL, TestDatabase, test_chat};

    #[test]
    fn the_newest_messages_of_each_chat_are_kept_and_the_others_skipped_and_counted() {
        let database = TestDatabase::new();
        database.enqueue(test_chat(1), "0");
        let since = newest_seq(&database).unwrap();
        for (chat, text) in [(1, "1"), (2, "a"), (1, "2"), (2, "b"), (1, "3"), (1, "4"), (1, "5")] {
            database.enqueue(test_chat(chat), text);
        }
        assert_eq!(keep_newest(&database, &CHANNEL, since, 2, &database.run).unwrap(), 3);
        let queued = database.texts("select text from inbox where state = 'queued' order by seq");
        assert_eq!(queued, ["0", "a", "b", "4", "5"]);
        count_skipped(&database, &test_chat(2)).unwrap();
        let counts = take_skipped(&database, &CHANNEL).unwrap();
        assert_eq!(counts, [(test_chat(1), 3), (test_chat(2), 1)]);
        assert_eq!(take_skipped(&database, &CHANNEL).unwrap(), []);
    }

    #[test]
    fn what_has_begun_counts_and_nothing_begins_before_all_have_come() {
        let database = TestDatabase::new();
        let since = begin(&database, &CHANNEL).unwrap();
        for text in ["1", "2", "3", "4"] {
            database.enqueue(test_chat(1), text);
        }
        assert_eq!(database.claim().text, "1");
        assert_eq!(begin(&database, &CHANNEL).unwrap(), since, "a restart goes on with the same backlog");
        hold(&database, &CHANNEL, since).unwrap();
        assert_eq!(keep_newest(&database, &CHANNEL, since, 2, &database.run).unwrap(), 2);
        assert_eq!(database.texts("select text from inbox where state = 'queued'"), ["4"]);
        let held = database.column::<i64>("select available_at_ms from inbox where state = 'queued'");
        assert!(held[0] > now_ms() + HELD_MS / 2);
        end(&database, &CHANNEL, since).unwrap();
        let due = database.column::<i64>("select available_at_ms from inbox where state = 'queued'");
        assert!(due[0] <= now_ms());
        database.enqueue(test_chat(1), "later");
        assert!(begin(&database, &CHANNEL).unwrap() > since);
    }
}
