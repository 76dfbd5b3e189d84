//! Messages that arrived while the supervisor was down: only the newest ones are run.

use protocol::event::TaskSkipped;
use protocol::{EventId, TaskId, now_ms};
use rusqlite::{Connection, params};

use super::{StoreError, events};
use crate::channel::ChannelName;

/// Skips the oldest of the queued tasks after `since_seq` if there are more than `most`.
pub(crate) fn keep_newest(
    connection: &Connection,
    channel: &ChannelName,
    since_seq: i64,
    most: u32,
    run: &EventId,
) -> Result<usize, StoreError> {
    let reason = format!("more than {most} messages waited at start; this one is not among the newest");
    let sql = "select id from inbox where state = 'queued' and channel = ?1 and seq > ?2 and attempt = 0
               order by seq desc limit -1 offset ?3";
    let mut query = connection.prepare_cached(sql)?;
    let rows =
        query.query_map(params![channel.as_str(), since_seq, most], |row| super::columns::task_id(row, 0))?;
    let surplus = rows.collect::<Result<Vec<TaskId>, _>>()?;
    for task in &surplus {
        let sql = "update inbox set state = 'skipped', error = ?2, finished_at_ms = ?3, updated_at_ms = ?3
                   where id = ?1";
        connection.prepare_cached(sql)?.execute(params![task.as_str(), reason, now_ms()])?;
        let skipped = TaskSkipped { channel: None, chat_id: None, reason: reason.clone() };
        events::record(connection, skipped, Some(run), task)?;
    }
    Ok(surplus.len())
}

/// The newest row of the inbox; later rows have higher numbers.
pub(crate) fn newest_seq(connection: &Connection) -> Result<i64, StoreError> {
    Ok(connection.query_row("select coalesce(max(seq), 0) from inbox", [], |row| row.get(0))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::fixture::{CHANNEL, TestDatabase, test_chat};

    #[test]
    fn the_newest_messages_of_a_backlog_are_kept_and_the_others_skipped() {
        let database = TestDatabase::new();
        database.enqueue(test_chat(1), "0");
        let since = newest_seq(&database).unwrap();
        for text in ["1", "2", "3", "4", "5"] {
            database.enqueue(test_chat(1), text);
        }
        assert_eq!(keep_newest(&database, &CHANNEL, since, 2, &database.run).unwrap(), 3);
        let queued = database.texts("select text from inbox where state = 'queued' order by seq");
        assert_eq!(queued, ["0", "4", "5"]);
    }
}
