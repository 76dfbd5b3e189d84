//! Chats that got another ID: everything of theirs moves along.
//!
//! Events stay as they are, because they tell what was true then.

use channel::{ChannelName, Chat};
use protocol::event::ChatMoved;
use protocol::{Event, EventId};

use super::sql::{Connection, params};
use super::{StoreError, events, kv};

/// The tables whose rows belong to a chat.
const TABLES: [&str; 4] = ["inbox", "history", "outbox", "schedules"];

/// The tables in which a chat has one row. It replaces one that the new ID has already.
const ONE_ROW: [&str; 4] = ["chat_settings", "paired_chats", "pairing_codes", "strangers"];

/// Moves a chat's messages, history and replies to its new ID, and remembers it. Done once; a repetition
/// only moves what came in between.
pub fn move_to(
    connection: &Connection,
    from: &Chat,
    to: &str,
    parent: Option<&EventId>,
) -> Result<(), StoreError> {
    let values = params![from.channel.as_str(), from.id, to];
    for table in ONE_ROW {
        let replaced = format!(
            "delete from {table} where channel = ?1 and chat_id = ?3
             and exists (select 1 from {table} as moved where moved.channel = ?1 and moved.chat_id = ?2)"
        );
        connection.execute(&replaced, values)?;
    }
    for table in TABLES.into_iter().chain(ONE_ROW) {
        let moved = format!("update {table} set chat_id = ?3 where channel = ?1 and chat_id = ?2");
        connection.execute(&moved, values)?;
    }
    let key = format!("{}{}", prefix(&from.channel), from.id);
    if kv::get(connection, &key)?.as_deref() == Some(to) {
        return Ok(());
    }
    kv::set(connection, &key, to)?;
    let moved =
        ChatMoved { channel: from.channel.as_str().to_owned(), from: from.id.clone(), to: to.to_owned() };
    events::append(connection, &Event::now(moved, parent, None))
}

/// The chats that moved, from which ID to which, oldest ID first.
pub fn moved(connection: &Connection, channel: &ChannelName) -> Result<Vec<(String, String)>, StoreError> {
    kv::beginning_with(connection, &prefix(channel))
}

fn prefix(channel: &ChannelName) -> String {
    format!("chat.moved.{channel}.")
}

#[cfg(test)]
mod tests {
    use channel::Content;

    use super::*;
    use crate::fixture::{CHANNEL, TestDatabase, done, test_chat};

    #[test]
    fn everything_of_a_chat_moves_and_what_comes_late_follows() {
        let (database, task) = TestDatabase::with_claimed(test_chat(-1));
        database.enqueue(test_chat(-1), "waiting");
        database.enqueue(test_chat(2), "of another chat");
        let reply = vec![Content::Text("queued".to_owned())];
        database.queue(&test_chat(-1), reply);
        move_to(&database, &test_chat(-1), "-1001", Some(&database.run)).unwrap();
        assert!(database.end(&task, done("late")), "a task that ran meanwhile still ends");
        move_to(&database, &test_chat(-1), "-1001", Some(&database.run)).unwrap();
        for table in TABLES {
            let left = format!("select count(*) from {table} where chat_id = '-1'");
            assert_eq!(database.query_row(&left, [], |row| row.get::<i64>(0)).unwrap(), 0, "{table}");
        }
        assert_eq!(database.texts("select chat_id from inbox order by seq"), ["-1001", "-1001", "2"]);
        assert_eq!(moved(&database, &CHANNEL).unwrap(), [("-1".to_owned(), "-1001".to_owned())]);
        let events = "select count(*) from events where type = 'chat.moved'";
        assert_eq!(database.column::<i64>(events), [1]);
    }
}
