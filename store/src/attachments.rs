//! Files that come with messages, and that a task waits for.
//!
//! A task is held in the queue, at its place, until each of its files is stored or has failed. Then its text
//! tells of them ([`said`]), and it is due.

use channel::attachment::Attachment;
use channel::{ChannelName, Chat};
use protocol::{MessageId, TaskId, now_ms};
use texts::{Language, Text};

use super::columns::{chat, task_id};
use super::sql::{Connection, Row, params};
use super::{StoreError, parts, said};

/// Where incoming files lie, beneath the root that they are kept in.
pub const INBOX: &str = "inbox";

/// How far away a task is held. Nothing waits for this time to come.
const HELD_MS: i64 = 10 * 365 * 24 * 3600 * 1000;

/// A file that has not come after this time is late, and so is one that was tried so often: after seven
/// seconds, if each attempt fails at once.
const LATE_MS: i64 = 20_000;
const LATE_ATTEMPTS: u32 = 4;

/// How long after the newest part of an album another one may come.
pub(crate) const ALBUM_PAUSE_MS: i64 = 1500;

/// The images that a model may be shown.
const IMAGES: &str = "'image/jpeg', 'image/png', 'image/gif', 'image/webp'";

/// The message that files came with.
#[derive(Debug, Clone)]
pub struct Origin<'a> {
    pub message_id: Option<&'a MessageId>,
    /// What the message says beside them.
    pub said: &'a str,
    /// Messages with one name belong together.
    pub album: Option<&'a str>,
    /// The directory that they are stored in.
    pub directory: &'a str,
}

/// A file to be fetched.
#[derive(Debug, Clone)]
pub struct Waiting {
    pub seq: i64,
    pub task: TaskId,
    pub chat: Chat,
    pub source: String,
    pub kind: String,
    /// What its sender calls it, or what it is.
    pub name: String,
    pub path: String,
    /// How often it was tried.
    pub attempt: u32,
}

/// What became of a file.
#[derive(Debug, Clone)]
pub enum Fetched {
    Stored {
        size_bytes: u64,
        /// Its transcript, or why there is none; nothing where it has no speech.
        transcript: Option<Result<String, String>>,
    },
    Failed(NotFetched),
    Later {
        at_ms: i64,
    },
}

/// Why a file is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotFetched {
    /// It was tried often enough.
    GivenUp,
    TooLarge {
        most_bytes: u64,
    },
    /// In words of the channel or of the tool server.
    Refused(String),
}

impl NotFetched {
    /// For the sender, and in English for the model.
    pub fn in_words(&self, language: Language) -> String {
        match self {
            Self::GivenUp => Text::FileGivenUp.to(language),
            Self::TooLarge { most_bytes } => {
                let megabytes = i64::try_from(most_bytes / 1_000_000).unwrap_or(i64::MAX);
                Text::FileTooManyMegabytes { megabytes }.to(language)
            }
            Self::Refused(why) => why.clone(),
        }
    }
}

/// Adds files to a task that is queued, and holds it.
pub fn add(
    connection: &Connection,
    task: &TaskId,
    origin: &Origin<'_>,
    files: &[Attachment],
) -> Result<(), StoreError> {
    let now = now_ms();
    let sql = "insert into attachments (task_id, message_id, said, source, kind, path, media_type, file_name,
                                        size_bytes, album, state, available_at_ms, created_at_ms)
               values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, 'waiting', ?11, ?11)";
    let mut insert = connection.prepare(sql)?;
    for (number, file) in files.iter().enumerate() {
        insert.execute(params![
            task.as_str(),
            origin.message_id.map(MessageId::as_str),
            origin.said,
            file.source,
            file.kind,
            path_of(origin, number, file),
            file.media_type,
            file.file_name,
            file.size_bytes.and_then(|bytes| i64::try_from(bytes).ok()),
            origin.album,
            now,
        ])?;
    }
    let hold = "update inbox set available_at_ms = ?2, updated_at_ms = ?3 where id = ?1 and state = 'queued'";
    connection.execute(hold, params![task.as_str(), now + HELD_MS, now])?;
    Ok(())
}

/// An unpredictable name.
fn path_of(origin: &Origin<'_>, number: usize, file: &Attachment) -> String {
    let (directory, message) = (origin.directory, origin.message_id.map_or("0", MessageId::as_str));
    let unique = TaskId::new();
    let unique = &unique.as_str()[unique.as_str().len() - 8..];
    format!("{directory}/{message}-{}-{unique}.{}", number + 1, file.ending())
}

/// The task of an album that has not begun, to which another part of it belongs.
pub fn open_album(connection: &Connection, chat: &Chat, album: &str) -> Result<Option<TaskId>, StoreError> {
    let sql = "select inbox.id from attachments join inbox on inbox.id = attachments.task_id
               where attachments.album = ?1 and inbox.channel = ?2 and inbox.chat_id = ?3
                     and inbox.state = 'queued' and inbox.attempt = 0 limit 1";
    Ok(connection
        .query_optional(sql, params![album, chat.channel.as_str(), chat.id], |row| task_id(row, 0))?)
}

/// Files that are waited for, as [`waiting`] reads them.
const WAITING: &str = "select attachments.seq as seq, task_id, inbox.channel, inbox.chat_id, source, kind,
                              path, attachments.attempt, coalesce(file_name, 'the ' || kind)
    from attachments join inbox on inbox.id = task_id
    where attachments.state = 'waiting' and inbox.state = 'queued'";

/// The files of these channels that are due, oldest first; those of tasks that will not run are left out.
pub fn due(
    connection: &Connection,
    channels: &[ChannelName],
    limit: usize,
) -> Result<Vec<Waiting>, StoreError> {
    let sql = format!(
        "{WAITING} and attachments.available_at_ms <= ?1
             and inbox.channel in (select value from json_each(?3)) /* here: inbox */
         order by attachments.seq limit ?2"
    );
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    Ok(connection.query_all(&sql, params![now_ms(), limit, names(channels)], waiting)?)
}

/// When the next file of these channels is to be tried again, or is late.
pub fn next_due(connection: &Connection, channels: &[ChannelName]) -> Result<Option<i64>, StoreError> {
    let sql = "with files as (
                   select attachments.available_at_ms, attachments.created_at_ms, steps_aside
                   from attachments join inbox on inbox.id = task_id
                   where attachments.state = 'waiting' and inbox.state = 'queued'
                         and inbox.channel in (select value from json_each(?1)) /* here: inbox */)
               select min(due_ms) from (
                   select available_at_ms as due_ms from files where available_at_ms > ?2
                   union all select created_at_ms + ?3 from files where steps_aside = 0) as due";
    let values = params![names(channels), now_ms(), LATE_MS];
    Ok(connection.query_row(sql, values, |row| row.get(0))?)
}

/// Makes the files of a channel due that wait for another attempt.
pub fn try_again(connection: &Connection, channel: &ChannelName) -> Result<(), StoreError> {
    let sql = "update attachments set available_at_ms = ?2
               where state = 'waiting' and available_at_ms > ?2
                     and task_id in (select id from inbox where state = 'queued' and channel = ?1)";
    connection.execute(sql, params![channel.as_str(), now_ms()])?;
    Ok(())
}

/// Lets later tasks of their chats go before the tasks whose files are late. Returns a file of each.
pub fn step_aside(connection: &Connection, channels: &[ChannelName]) -> Result<Vec<Waiting>, StoreError> {
    let sql = format!(
        "with late as (
             {WAITING} and steps_aside = 0
                 and (attachments.created_at_ms <= ?1 or attachments.attempt >= ?2)
                 and inbox.channel in (select value from json_each(?3)) /* here: inbox */)
         select * from late where seq in (select min(seq) from late group by task_id) order by seq"
    );
    let late: Vec<Waiting> =
        connection.query_all(&sql, params![now_ms() - LATE_MS, LATE_ATTEMPTS, names(channels)], waiting)?;
    for file in &late {
        connection.execute("update inbox set steps_aside = 1 where id = ?1", [file.task.as_str()])?;
    }
    Ok(late)
}

/// The names as an array in JSON.
fn names(channels: &[ChannelName]) -> String {
    serde_json::json!(channels.iter().map(ChannelName::as_str).collect::<Vec<_>>()).to_string()
}

fn waiting(row: &Row<'_>) -> crate::sql::Result<Waiting> {
    Ok(Waiting {
        seq: row.get(0)?,
        task: task_id(row, 1)?,
        chat: chat(row, 2)?,
        source: row.get(4)?,
        kind: row.get(5)?,
        path: row.get(6)?,
        attempt: row.get(7)?,
        name: row.get(8)?,
    })
}

/// Stores what became of a file, and releases its task if that was the last.
pub fn settle(connection: &Connection, file: &Waiting, fetched: &Fetched) -> Result<(), StoreError> {
    let sql = "update attachments set state = ?2, size_bytes = coalesce(?3, size_bytes), error = ?4,
                      transcript = ?5, transcript_error = ?6, attempt = attempt + 1,
                      available_at_ms = coalesce(?7, available_at_ms)
               where seq = ?1 and state = 'waiting'";
    let (state, size, error, at) = match fetched {
        Fetched::Stored { size_bytes, .. } => ("stored", i64::try_from(*size_bytes).ok(), None, None),
        Fetched::Failed(why) => ("failed", None, Some(why.in_words(Language::English)), None),
        Fetched::Later { at_ms } => ("waiting", None, None, Some(*at_ms)),
    };
    let (words, unheard) = match fetched {
        Fetched::Stored { transcript: Some(Ok(words)), .. } => (Some(words), None),
        Fetched::Stored { transcript: Some(Err(why)), .. } => (None, Some(why)),
        Fetched::Stored { transcript: None, .. } | Fetched::Failed(_) | Fetched::Later { .. } => (None, None),
    };
    connection.execute(sql, params![file.seq, state, size, error, words, unheard, at])?;
    release(connection, &file.task)
}

/// Gives a task its whole text, and lets it run, once it waits for no file.
pub fn release(connection: &Connection, task: &TaskId) -> Result<(), StoreError> {
    let sql = "select count(*) filter (where state = 'waiting'), max(created_at_ms), count(album) > 0
               from attachments where task_id = ?1";
    let (waiting, newest, is_album): (i64, Option<i64>, Option<bool>) =
        connection.query_row(sql, [task.as_str()], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let Some(newest) = newest.filter(|_| waiting == 0) else { return Ok(()) };
    let now = now_ms();
    let due = if is_album == Some(true) { now.max(newest + ALBUM_PAUSE_MS) } else { now };
    let sql = "update inbox set available_at_ms = ?2, updated_at_ms = ?3, steps_aside = 0
               where id = ?1 and state = 'queued'";
    connection.execute(sql, params![task.as_str(), due, now])?;
    said::write(connection, task)
}

/// Replaces what a message with files, or a part of a task, says, after its sender has corrected it.
pub fn replace_said(
    connection: &Connection,
    task: &TaskId,
    message_id: &MessageId,
    said: &str,
) -> Result<bool, StoreError> {
    let sql = "update attachments set said = ?3 where task_id = ?1 and message_id = ?2";
    let changed = connection.execute(sql, params![task.as_str(), message_id.as_str(), said])?;
    let is_found = parts::replace(connection, task, message_id, said)? || changed > 0;
    if is_found {
        said::write(connection, task)?;
    }
    Ok(is_found)
}

/// The images of a task, as paths.
pub fn images(connection: &Connection, task: &TaskId) -> Result<Vec<String>, StoreError> {
    let sql = format!(
        "select path from attachments where task_id = ?1 and state = 'stored' and media_type in ({IMAGES})
         order by seq"
    );
    Ok(connection.query_all(&sql, [task.as_str()], |row| row.get(0))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::Claim;
    use crate::fixture::{CHANNEL, TestDatabase, attachment, test_chat};

    fn photo(source: &str) -> Attachment {
        let media_type = Some("image/jpeg".to_owned());
        Attachment { source: source.to_owned(), media_type, ..attachment("photo") }
    }

    fn add(database: &TestDatabase, task: &TaskId, said: &str, album: Option<&str>, files: &[Attachment]) {
        let message_id = &12.into();
        let directory = "/state/inbox/test-1";
        let origin = Origin { message_id: Some(message_id), said, album, directory };
        super::add(database, task, &origin, files).unwrap();
    }

    #[test]
    fn a_task_waits_for_all_of_its_files_and_keeps_its_place() {
        let database = TestDatabase::new();
        let task = database.enqueue(test_chat(1), "look");
        add(&database, &task, "look", None, &[photo("a"), photo("b")]);
        database.enqueue(test_chat(1), "later");
        assert!(matches!(database.try_claim(), Claim::Nothing { until_ms: Some(_) }));
        let elsewhere = [ChannelName::new("other")];
        assert!(due(&database, &elsewhere, 9).unwrap().is_empty(), "a channel that is off keeps its files");
        let [first, second] = due(&database, &[CHANNEL], 9).unwrap().try_into().unwrap();
        settle(&database, &first, &Fetched::Stored { size_bytes: 8, transcript: None }).unwrap();
        assert!(matches!(database.try_claim(), Claim::Nothing { .. }));
        settle(&database, &second, &Fetched::Failed(NotFetched::Refused("It is gone.".to_owned()))).unwrap();
        let claimed = database.claim();
        assert_eq!(claimed.id, task);
        let expected =
            format!("- photo: {} (image/jpeg, 8 bytes)\n- photo: not stored. It is gone.\n]", first.path);
        assert!(
            claimed.text.starts_with("look\n\n[Files") && claimed.text.ends_with(&expected),
            "{}",
            claimed.text
        );
        assert!(first.path.starts_with("/state/inbox/test-1/12-1-") && first.path.ends_with(".jpg"));
        assert_eq!(images(&database, &task).unwrap(), [first.path]);
        assert!(due(&database, &[CHANNEL], 9).unwrap().is_empty());
    }

    #[test]
    fn a_task_whose_files_are_late_lets_later_ones_of_its_chat_go_first() {
        let database = TestDatabase::new();
        let (first, second) =
            (database.enqueue(test_chat(1), "look"), database.enqueue(test_chat(1), "hello"));
        add(&database, &first, "look", None, &[photo("a")]);
        let step_aside = || super::step_aside(&database, &[CHANNEL]).unwrap().len();
        assert_eq!(step_aside(), 0);
        assert!(next_due(&database, &[CHANNEL]).unwrap().unwrap() > now_ms() + LATE_MS / 2);
        assert!(matches!(database.try_claim(), Claim::Nothing { .. }));
        database.execute("update attachments set created_at_ms = created_at_ms - ?1", [LATE_MS]).unwrap();
        assert_eq!((step_aside(), step_aside()), (1, 0), "its chat is told once");
        let running = database.claim();
        assert_eq!(running.id, second);
        let [file] = due(&database, &[CHANNEL], 9).unwrap().try_into().unwrap();
        settle(&database, &file, &Fetched::Failed(NotFetched::Refused("gone".to_owned()))).unwrap();
        assert!(matches!(database.try_claim(), Claim::Nothing { .. }), "two of one chat never run at once");
        assert!(database.end(&running, crate::fixture::done("ok")));
        let third = database.enqueue(test_chat(1), "third");
        assert_eq!(database.claim().id, first, "its place is before {third} again");
    }

    #[test]
    fn an_album_is_one_task_until_it_begins() {
        let database = TestDatabase::new();
        let task = database.enqueue(test_chat(1), "");
        add(&database, &task, "all of us", Some("g"), &[photo("a")]);
        assert_eq!(open_album(&database, &test_chat(1), "g").unwrap(), Some(task));
        assert_eq!(open_album(&database, &test_chat(2), "g").unwrap(), None);
        assert_eq!(open_album(&database, &test_chat(1), "h").unwrap(), None);
        database.execute("update inbox set state = 'cancelled', finished_at_ms = 1", []).unwrap();
        assert_eq!(open_album(&database, &test_chat(1), "g").unwrap(), None);
        assert!(
            due(&database, &[CHANNEL], 9).unwrap().is_empty(),
            "nobody needs the files of a cancelled task"
        );
    }

    #[test]
    fn a_correction_replaces_what_was_said_and_a_file_can_be_tried_again() {
        let database = TestDatabase::new();
        let task = database.enqueue(test_chat(1), "look");
        add(&database, &task, "look", None, &[photo("a")]);
        let [file] = due(&database, &[CHANNEL], 9).unwrap().try_into().unwrap();
        settle(&database, &file, &Fetched::Later { at_ms: now_ms() + 60_000 }).unwrap();
        assert!(
            due(&database, &[CHANNEL], 9).unwrap().is_empty()
                && next_due(&database, &[CHANNEL]).unwrap().is_some()
        );
        database.execute("update attachments set available_at_ms = 0", []).unwrap();
        let [file] = due(&database, &[CHANNEL], 9).unwrap().try_into().unwrap();
        assert_eq!(file.attempt, 1);
        let transcript = Some(Ok("hello".to_owned()));
        settle(&database, &file, &Fetched::Stored { size_bytes: 8, transcript }).unwrap();
        assert!(replace_said(&database, &task, &12.into(), "look here").unwrap());
        let text = database.claim().text;
        assert!(text.starts_with("look here\n\n") && text.contains("It says: \"hello\""), "{text}");
    }
}
