//! The tasks that have not begun although their chat's turn has come: what each waits for, and who is before
//! it.
//!
//! A chat sees one of them, the next that it will run; those behind it wait for that one.

use channel::{ChannelName, Chat};
use protocol::{TaskId, now_ms};

use super::StoreError;
use super::attachments::ALBUM_PAUSE_MS;
use super::columns::{self, task_id};
use super::sql::{Connection, Row, params};

/// The next task of a chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InLine {
    pub task: TaskId,
    pub chat: Chat,
    /// Since when it waits for this, in milliseconds since the epoch.
    pub since_ms: i64,
    pub waits_for: WaitsFor,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WaitsFor {
    /// A free worker.
    Worker {
        /// How many tasks run, or will run before it.
        before: u32,
    },
    /// A file that came with its message.
    File {
        /// Its name, or what it is.
        name: String,
    },
    /// Further messages of its sender.
    Sender,
}

/// The next tasks of a channel's chats, in the order in which they will be run.
pub fn of_channel(connection: &Connection, channel: &ChannelName) -> Result<Vec<InLine>, StoreError> {
    let mut all = all(connection)?;
    all.retain(|next| next.chat.channel == *channel);
    Ok(all)
}

/// The next task of a chat.
pub fn in_chat(connection: &Connection, chat: &Chat) -> Result<Option<InLine>, StoreError> {
    Ok(all(connection)?.into_iter().find(|next| next.chat == *chat))
}

/// What a row says of a task.
struct Next {
    task: TaskId,
    chat: Chat,
    available_at_ms: i64,
    created_at_ms: i64,
    has_begun: bool,
    is_due: bool,
    is_parked: bool,
    /// Whether further messages still belong to it.
    is_gathering: bool,
}

fn all(connection: &Connection) -> Result<Vec<InLine>, StoreError> {
    let now = now_ms();
    let running = "select count(*) from inbox indexed by inbox_in_progress
                   where state = 'in_progress' /* mine: inbox */";
    let mut before: u32 = connection.query_row(running, [], |row| row.get(0))?;
    // As tasks are claimed: see `claim.rs`.
    let sql = "select task.id, task.channel, task.chat_id, available_at_ms, created_at_ms, attempt > 0,
                      max(available_at_ms, coalesce(gather_until_ms, 0)) <= ?1 or updated_at_ms > ?1,
                      exists (select 1 from parked where task_id = task.id),
                      coalesce(gather_until_ms, 0) > ?1
               from chat_turns as turn cross join inbox as task on task.seq = turn.next_seq
               where turn.next_seq is not null /* here: turn */ order by turn.last_turn, turn.next_seq";
    let mut line = Vec::new();
    for next in connection.query_all(sql, [now], next)? {
        let (since_ms, waits_for) = if next.is_due {
            before += 1;
            if next.is_parked {
                continue;
            }
            (next.available_at_ms.min(now), WaitsFor::Worker { before: before - 1 })
        } else if !next.has_begun
            && let Some(name) = file_of(connection, &next, now)?
        {
            (next.created_at_ms, WaitsFor::File { name })
        } else if next.is_gathering {
            // No more than typing is shown meanwhile.
            (now, WaitsFor::Sender)
        } else {
            continue;
        };
        line.push(InLine { task: next.task, chat: next.chat, since_ms, waits_for });
    }
    Ok(line)
}

fn next(row: &Row<'_>) -> crate::sql::Result<Next> {
    Ok(Next {
        task: task_id(row, 0)?,
        chat: columns::chat(row, 1)?,
        available_at_ms: row.get(3)?,
        created_at_ms: row.get(4)?,
        has_begun: row.get(5)?,
        is_due: row.get(6)?,
        is_parked: row.get(7)?,
        is_gathering: row.get(8)?,
    })
}

/// The file that a task waits for, or the last of an album of which another part may come.
fn file_of(connection: &Connection, next: &Next, now: i64) -> Result<Option<String>, StoreError> {
    let sql = "select coalesce(file_name, 'the ' || kind) from attachments
               where task_id = ?1 and (state = 'waiting' or ?2 = 1)
               order by state = 'waiting' desc, seq limit 1";
    let is_almost_due = !next.is_gathering && next.available_at_ms <= now + ALBUM_PAUSE_MS;
    Ok(connection.query_optional(sql, params![next.task.as_str(), is_almost_due], |row| row.get(0))?)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use channel::attachment::Attachment;

    use super::*;
    use crate::attachments::{self, Fetched, NotFetched, Origin};
    use crate::fixture::{CHANNEL, TestDatabase, attachment, local_chat, retry, test_chat};
    use crate::parts;

    fn line(database: &TestDatabase) -> Vec<(String, WaitsFor)> {
        let line = of_channel(database, &CHANNEL).unwrap();
        line.into_iter().map(|next| (next.chat.id, next.waits_for)).collect()
    }

    fn behind(chat: &str, before: u32) -> (String, WaitsFor) {
        (chat.to_owned(), WaitsFor::Worker { before })
    }

    #[test]
    fn each_chat_has_one_task_in_line_behind_what_runs_and_what_runs_before_it() {
        let database = TestDatabase::new();
        for chat in ["a", "b", "b", "c", "d"] {
            database.enqueue(test_chat(chat), "hello");
        }
        database.enqueue(local_chat(), "hello");
        database.enqueue(test_chat("e"), "hello");
        let (a, _) = (database.claim(), database.claim());
        assert_eq!(line(&database), [behind("c", 2), behind("d", 3), behind("e", 5)]);
        assert_eq!(in_chat(&database, &test_chat("b")).unwrap(), None, "one of its tasks runs");
        assert!(database.end(&a, retry(30)));
        assert_eq!(line(&database), [behind("c", 1), behind("d", 2), behind("e", 4)]);
        database.execute("update inbox set available_at_ms = 0 where state = 'queued'", []).unwrap();
        assert_eq!(line(&database).last().unwrap(), &behind("a", 5));
    }

    #[test]
    fn a_task_that_waits_for_more_of_its_sender_is_not_in_the_way_of_others() {
        let database = TestDatabase::new();
        let task = database.enqueue(test_chat("a"), "hello");
        parts::wait(&database, &task, Duration::from_secs(60), 1).unwrap();
        database.enqueue(test_chat("b"), "hello");
        assert_eq!(line(&database), [("a".to_owned(), WaitsFor::Sender), behind("b", 0)]);
        parts::end(&database, &test_chat("a"), None).unwrap();
        assert_eq!(line(&database), [behind("a", 0), behind("b", 1)]);
    }

    #[test]
    fn a_task_waits_for_its_file_under_the_name_that_its_sender_gave_it() {
        for (file_name, expected) in [(Some("film.mp4"), "film.mp4"), (None, "the video")] {
            let database = TestDatabase::new();
            let task = database.enqueue(test_chat(1), "look");
            let file_name = file_name.map(str::to_owned);
            let file = Attachment { file_name, ..attachment("video") };
            let origin = Origin { message_id: None, said: "", album: None, directory: "/inbox" };
            attachments::add(&database, &task, &origin, &[file]).unwrap();
            let name = expected.to_owned();
            assert_eq!(line(&database), [("1".to_owned(), WaitsFor::File { name })]);
            let [file] = attachments::due(&database, &[CHANNEL], 1).unwrap().try_into().unwrap();
            attachments::settle(&database, &file, &Fetched::Failed(NotFetched::GivenUp)).unwrap();
            assert_eq!(line(&database), [behind("1", 0)]);
        }
    }
}
