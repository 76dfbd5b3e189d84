//! Delivers the rows of the outbox, in order per chat: each is sent, retried or given up.
//!
//! Sending happens after the commit that made the row. A message that was sent just before a crash and not
//! yet marked is sent again: a message may come twice, none is lost.

use std::time::Duration;

use channel::{ChannelName, Chat, Content};
use protocol::event::{AttemptFailed, ReplySent, RetryExhausted, RetryScheduled};
use protocol::{Event, EventBody, EventId, MessageId, TaskId, millis, now_ms};

use super::claim::after;
use super::columns::{chat, content, known, message_id, task_id};
use super::sql::{Connection, params};
use super::{StoreError, events, kv};

#[derive(Debug, Clone)]
pub struct OutgoingMessage {
    pub seq: i64,
    /// The rows of an album's further files, each with its `reply.queued`.
    pub further: Vec<(i64, EventId)>,
    /// The task whose reply it is; none if somebody sent it through the control port.
    pub task: Option<TaskId>,
    pub chat: Chat,
    pub content: Content,
    /// How often sending has failed.
    pub attempt: u32,
    /// The message of the chat that it answers: of a reply, the first part has it.
    pub answers: Option<MessageId>,
    /// Its `reply.queued`.
    pub event: EventId,
}

/// The first message of a chat's line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    pub seq: i64,
    pub chat_id: String,
    /// When it is due, in milliseconds since the epoch.
    pub available_at_ms: i64,
}

/// The oldest queued message of each chat of a channel that this node speaks for, notices behind all others;
/// later ones wait for it. Those that another node is sending are left out.
pub fn heads(connection: &Connection, channel: &ChannelName) -> Result<Vec<Head>, StoreError> {
    // From chat to chat by the index, past all that waits in each. A row that was updated in the future was
    // delayed before the clock was set back: it is due.
    let sql = "with recursive line(chat_id) as (
                   select min(chat_id) from outbox where state = 'queued' and channel = ?1
                   union all
                   select (select min(chat_id) from outbox
                           where state = 'queued' and channel = ?1 and chat_id > line.chat_id)
                   from line where line.chat_id is not null)
               select seq, outbox.chat_id, case when updated_at_ms > ?2 then ?2 else available_at_ms end
               from line join outbox on seq = (
                   select seq from outbox
                   where state = 'queued' and channel = ?1 and chat_id = line.chat_id
                   order by is_notice, seq limit 1)
               where (sender is null or sender = ?3 or sender_until_ms <= ?2) /* spoken for: outbox */";
    Ok(connection.query_all(sql, params![channel.as_str(), now_ms(), connection.node()], |row| {
        Ok(Head { seq: row.get(0)?, chat_id: row.get(1)?, available_at_ms: row.get(2)? })
    })?)
}

/// The task whose answer is first in the line of a chat; none if no answer is in it.
pub fn answer_in_line(connection: &Connection, chat: &Chat) -> Result<Option<TaskId>, StoreError> {
    let sql = "select task_id from outbox
               where state = 'queued' and channel = ?1 and chat_id = ?2
                   and task_id is not null and is_notice = 0
               order by seq limit 1";
    Ok(connection.query_optional(sql, params![chat.channel.as_str(), chat.id], |row| task_id(row, 0))?)
}

impl OutgoingMessage {
    /// Its row, or those of an album, each with its `reply.queued`.
    fn rows(&self) -> impl Iterator<Item = (i64, &EventId)> {
        let further = self.further.iter().map(|(seq, event)| (*seq, event));
        std::iter::once((self.seq, &self.event)).chain(further)
    }

    /// An album of these, if there is more than one.
    fn with(mut self, further: Vec<Self>) -> Self {
        if further.is_empty() {
            return self;
        }
        let contents = std::iter::once(&self).chain(&further).map(|message| &message.content);
        self.content = Content::Album(contents.filter_map(|content| content.file().cloned()).collect());
        self.further = further.into_iter().map(|message| (message.seq, message.event)).collect();
        self
    }
}

/// For so long after a node has loaded a message, no other node sends it.
pub const SENDER_LEASE: Duration = Duration::from_secs(30);

/// Makes this node the one that sends a message, for [`SENDER_LEASE`]. Returns false if another one sends it,
/// or the chat is another node's by now.
fn take(connection: &Connection, seq: i64) -> Result<bool, StoreError> {
    // The only node of a file sends everything.
    let Some(node) = connection.node() else { return Ok(true) };
    let sql = "update outbox set sender = ?2, sender_until_ms = server_ms() + ?3
               where seq = ?1 and state = 'queued'
                   and (sender is null or sender = ?2 or sender_until_ms < server_ms())
                   /* spoken for: outbox */";
    let lease = i64::try_from(SENDER_LEASE.as_millis()).unwrap_or(i64::MAX);
    Ok(connection.execute(sql, params![seq, node, lease])? == 1)
}

/// A queued message with all its content, which this node sends. The first row of an album is the whole
/// album.
pub fn load(connection: &Connection, seq: i64) -> Result<Option<OutgoingMessage>, StoreError> {
    let sql = "select seq, task_id, channel, chat_id, attempt, event_id, kind, text, target_message_id,
                      file_name, outbox.file_id, entities, is_big, size_bytes, buttons,
                      caption_entities, media,
                      (select message_id from inbox where id = task_id and part = 1)
               from outbox left join outgoing_files on outgoing_files.file_id = outbox.file_id
               where seq in (select ?1 union all
                             select seq from outbox where album = ?1 and state = 'queued')
                   and state = 'queued'
               order by seq";
    if !take(connection, seq)? {
        return Ok(None);
    }
    let mut rows = connection.query_all(sql, [seq], outgoing)?.into_iter();
    let first = rows.next().filter(|first| first.seq == seq);
    Ok(first.map(|first| first.with(rows.collect())))
}

/// Marks a message as sent, or those of an album, with the IDs that the channel gave; the bytes of files are
/// not needed any more.
pub fn mark_sent(
    connection: &Connection,
    message: &OutgoingMessage,
    message_ids: &[MessageId],
) -> Result<(), StoreError> {
    let sql = "update outbox set state = 'sent', message_id = ?3, file_id = null, updated_at_ms = ?2,
                                 finished_at_ms = ?2
               where seq = ?1 and state = 'queued'";
    let ids = message_ids.iter().map(Some).chain(std::iter::repeat(None));
    for ((seq, event), id) in message.rows().zip(ids) {
        let marked = params![seq, now_ms(), id.map(MessageId::as_str)];
        if connection.execute(sql, marked)? == 1 {
            record(connection, ReplySent { message_id: id.cloned() }, message, event)?;
        }
    }
    Ok(())
}

/// Delays a message after a failure; one that had no answer, at most until the channel can be reached.
pub fn put_off(
    connection: &Connection,
    message: &OutgoingMessage,
    error: &str,
    pause: Duration,
    is_unanswered: bool,
) -> Result<(), StoreError> {
    let key = format!("{}{}", unanswered(&message.chat.channel), message.seq);
    match is_unanswered {
        true => kv::set(connection, &key, "")?,
        false => kv::remove(connection, &key)?,
    }
    let now = now_ms();
    let sql = "update outbox set attempt = attempt + 1, available_at_ms = ?2, error = ?3, updated_at_ms = ?4,
                                 sender = null
               where seq = ?1 and state = 'queued'";
    if connection.execute(sql, params![message.seq, after(now, pause), error, now])? == 1 {
        let scheduled = RetryScheduled::Attempt { failed: failed(message, error), delay_ms: millis(pause) };
        record(connection, scheduled, message, &message.event)?;
    }
    Ok(())
}

/// Makes each file of an album a message of its own, because the channel did not take them together.
pub fn take_apart(connection: &Connection, message: &OutgoingMessage, error: &str) -> Result<(), StoreError> {
    let sql = "update outbox set album = null where album = ?1 and state = 'queued'";
    connection.execute(sql, [message.seq])?;
    put_off(connection, message, error, Duration::ZERO, false)
}

/// Makes the messages due that are only put off because the channel did not answer.
pub fn make_unanswered_due(connection: &Connection, channel: &ChannelName) -> Result<(), StoreError> {
    let prefix = unanswered(channel);
    let sql = "update outbox set available_at_ms = ?2, updated_at_ms = ?2
               where seq = ?1 and state = 'queued' and available_at_ms > ?2";
    for (seq, _) in kv::beginning_with(connection, &prefix)? {
        let row: i64 = seq.parse().unwrap_or(0);
        connection.execute(sql, params![row, now_ms()])?;
        kv::remove(connection, &format!("{prefix}{seq}"))?;
    }
    Ok(())
}

/// The keys of the messages that are put off because there was no answer begin like this.
fn unanswered(channel: &ChannelName) -> String {
    format!("unanswered.{channel}.")
}

/// Gives up on a message that cannot be delivered, with all files of an album.
pub fn give_up(connection: &Connection, message: &OutgoingMessage, error: &str) -> Result<(), StoreError> {
    let sql = "update outbox set state = 'dead', attempt = attempt + 1, error = ?2, updated_at_ms = ?3,
                                 finished_at_ms = ?3
               where seq = ?1 and state = 'queued'";
    for (seq, event) in message.rows() {
        if connection.execute(sql, params![seq, error, now_ms()])? == 1 {
            record(connection, RetryExhausted::Attempt(failed(message, error)), message, event)?;
        }
    }
    Ok(())
}

fn failed(message: &OutgoingMessage, error: &str) -> AttemptFailed {
    AttemptFailed { attempt: message.attempt + 1, error: error.to_owned() }
}

fn record(
    connection: &Connection,
    body: impl Into<EventBody>,
    message: &OutgoingMessage,
    parent: &EventId,
) -> Result<(), StoreError> {
    events::append(connection, &Event::now(body, Some(parent), message.task.as_ref()))
}

fn outgoing(row: &crate::sql::Row<'_>) -> crate::sql::Result<OutgoingMessage> {
    Ok(OutgoingMessage {
        seq: row.get(0)?,
        further: Vec::new(),
        task: known(row, 1)?,
        chat: chat(row, 2)?,
        attempt: row.get(4)?,
        event: known(row, 5)?.unwrap_or_else(EventId::new),
        content: content(row, 6)?,
        answers: message_id(row, 17)?,
    })
}

#[cfg(test)]
mod tests {
    use channel::content::{Button, File, FileBody, Media, StoredFile};
    use channel::formatting::{Entity, FormattedText, Style};

    use super::*;
    use crate::fixture::{self, CHANNEL, TestDatabase, test_chat};
    use crate::{outgoing_files, resend};

    const MINUTE: Duration = Duration::from_secs(60);

    fn queue(database: &TestDatabase, chat: i64, content: Content) {
        database.queue(&test_chat(chat), vec![content]);
    }

    fn with_texts(texts: &[(i64, &str)]) -> TestDatabase {
        let database = TestDatabase::new();
        for (chat, text) in texts {
            queue(&database, *chat, Content::Text((*text).to_owned()));
        }
        database
    }

    /// The due message of the chat whose line comes first.
    fn next_message(database: &TestDatabase) -> Option<OutgoingMessage> {
        let heads = heads(database, &CHANNEL).unwrap();
        let due =
            heads.into_iter().filter(|head| head.available_at_ms <= now_ms()).min_by_key(|head| head.seq)?;
        load(database, due.seq).unwrap()
    }

    #[test]
    fn a_message_that_waits_for_a_retry_blocks_only_its_own_chat() {
        let database = with_texts(&[(1, "first"), (1, "second"), (2, "other")]);
        let first = next_message(&database).unwrap();
        assert_eq!(first.content.text(), "first");
        put_off(&database, &first, "flood", MINUTE, false).unwrap();
        let other = next_message(&database).unwrap();
        assert_eq!(other.content.text(), "other");
        mark_sent(&database, &other, &[1.into()]).unwrap();
        assert!(next_message(&database).is_none());
    }

    #[test]
    fn each_chat_has_one_head_however_much_waits_and_other_channels_have_none() {
        let texts: Vec<(i64, String)> = (0..100).map(|number| (number % 3, number.to_string())).collect();
        let texts: Vec<(i64, &str)> = texts.iter().map(|(chat, text)| (*chat, text.as_str())).collect();
        let database = with_texts(&texts);
        let heads = heads(&database, &CHANNEL).unwrap();
        let heads: Vec<(i64, &str)> = heads.iter().map(|head| (head.seq, head.chat_id.as_str())).collect();
        assert_eq!(heads, [(1, "0"), (2, "1"), (3, "2")]);
        assert_eq!(super::heads(&database, &ChannelName::new("other")).unwrap(), []);
        assert!(load(&database, 101).unwrap().is_none());
    }

    #[test]
    fn a_clock_that_was_set_back_delays_no_message() {
        let database = with_texts(&[(1, "first")]);
        put_off(&database, &next_message(&database).unwrap(), "flood", MINUTE, false).unwrap();
        let hour_ahead = "update outbox set available_at_ms = available_at_ms + 3600000,
                                            updated_at_ms = updated_at_ms + 3600000";
        database.execute(hour_ahead, []).unwrap();
        assert!(next_message(&database).is_some());
    }

    #[test]
    fn after_a_break_what_had_no_answer_is_due_in_order_and_what_was_told_to_wait_is_not() {
        let database = with_texts(&[(1, "first"), (1, "second"), (2, "flood"), (3, "refused later")]);
        for chat in ["1", "2", "3"] {
            let head = heads(&database, &CHANNEL).unwrap().into_iter().find(|head| head.chat_id == chat);
            let message = load(&database, head.unwrap().seq).unwrap().unwrap();
            put_off(&database, &message, "no answer", MINUTE, chat != "2").unwrap();
            if chat == "3" {
                put_off(&database, &message, "flood", MINUTE, false).unwrap();
            }
        }
        assert!(next_message(&database).is_none());
        make_unanswered_due(&database, &ChannelName::new("other")).unwrap();
        assert!(next_message(&database).is_none());
        make_unanswered_due(&database, &CHANNEL).unwrap();
        for expected in ["first", "second"] {
            let next = next_message(&database).unwrap();
            assert_eq!(next.content.text(), expected);
            mark_sent(&database, &next, &[]).unwrap();
        }
        assert!(next_message(&database).is_none());
        assert_eq!(database.column::<i64>("select count(*) from kv where key like 'unanswered.%'"), [0]);
    }

    #[test]
    fn a_sent_message_is_marked_once_with_its_event_and_its_number() {
        let database = with_texts(&[(1, "hello")]);
        let message = next_message(&database).unwrap();
        for number in [41, 42] {
            mark_sent(&database, &message, &[number.into()]).unwrap();
        }
        let sent = "select cast(payload ->> 'message_id' as text) from events where type = 'reply.sent'";
        assert_eq!(database.column::<String>(sent), ["41"]);
    }

    fn album(names: &[&str]) -> Content {
        let file = |name: &&str| File {
            media: Some(Media::Photo),
            ..fixture::file(name, FileBody::Bytes(vec![1, 2, 3]))
        };
        Content::Album(names.iter().map(file).collect())
    }

    /// The names of the files of the next message.
    fn next_files(database: &TestDatabase) -> Vec<String> {
        let content = next_message(database).unwrap().content;
        match content {
            Content::Album(files) => files.into_iter().map(|file| file.name).collect(),
            other => other.file().into_iter().map(|file| file.name.clone()).collect(),
        }
    }

    #[test]
    fn an_album_is_one_message_whose_rows_are_marked_with_their_own_numbers() {
        let database = with_texts(&[(1, "first")]);
        queue(&database, 1, album(&["a", "b", "c"]));
        queue(&database, 1, album(&["d", "e"]));
        mark_sent(&database, &next_message(&database).unwrap(), &[]).unwrap();
        let message = next_message(&database).unwrap();
        assert_eq!(next_files(&database), ["a", "b", "c"]);
        put_off(&database, &message, "flood", MINUTE, false).unwrap();
        assert!(next_message(&database).is_none(), "the rest of the album waits, too");
        // One number is missing.
        mark_sent(&database, &message, &[41.into(), 42.into()]).unwrap();
        let sent =
            "select coalesce(sent.payload ->> 'message_id', '-') || ' ' || (row.payload ->> 'file_name')
                    from events as sent join events as row on row.id = sent.parent_id
                    where sent.type = 'reply.sent' and row.payload ->> 'kind' = 'document'
                    order by sent.seq";
        assert_eq!(database.texts(sent), ["41 a", "42 b", "- c"]);
        assert_eq!(next_files(&database), ["d", "e"]);
        give_up(&database, &next_message(&database).unwrap(), "blocked").unwrap();
        assert!(next_message(&database).is_none());
        let dead = "select file_name from outbox where state = 'dead' order by seq";
        assert_eq!(database.texts(dead), ["d", "e"]);
        resend::resend(&database, &resend::Which::AllDead(true), "cli", &database.run).unwrap();
        assert_eq!(next_files(&database), ["d", "e"], "they are an album again");
    }

    #[test]
    fn an_album_that_is_taken_apart_leaves_one_by_one_and_one_file_alone_is_no_album() {
        let database = TestDatabase::new();
        queue(&database, 1, album(&["a", "b"]));
        take_apart(&database, &next_message(&database).unwrap(), "it is mixed").unwrap();
        for name in ["a", "b"] {
            assert_eq!(next_files(&database), [name]);
            mark_sent(&database, &next_message(&database).unwrap(), &[7.into()]).unwrap();
        }
        queue(&database, 1, album(&["a", "b"]));
        let first = "update outbox set state = 'dead', error = 'no', finished_at_ms = 1
                     where file_name = 'a' and state = 'queued'";
        database.execute(first, []).unwrap();
        assert!(matches!(next_message(&database).unwrap().content, Content::Document(_)));
    }

    /// A content with the bytes of its file.
    fn as_it_came(database: &TestDatabase, mut content: Content) -> Content {
        if let Content::Document(file) | Content::Voice(file) = &mut content {
            let FileBody::Stored(StoredFile { id, size_bytes }) = &file.body else { panic!("{file:?}") };
            let bytes = outgoing_files::part(database, id, 0).unwrap().unwrap();
            assert_eq!(*size_bytes, 3);
            file.body = FileBody::Bytes(bytes);
        }
        content
    }

    #[test]
    fn every_kind_is_read_back_as_it_was_stored_and_a_sent_file_leaves_the_database() {
        let database = TestDatabase::new();
        let bytes = || FileBody::Bytes(vec![0, 255, 10]);
        let file = |caption| File { caption, ..fixture::file("a.bin", bytes()) };
        let link = Style::TextLink { url: "https://example.org/".to_owned() };
        let pre = Style::Pre { language: Some("rust".to_owned()) };
        let entities = [(0, link), (5, pre)].map(|(offset, style)| Entity { offset, length: 5, style });
        let formatted = || FormattedText { text: "hello world".to_owned(), entities: entities.to_vec() };
        for content in [
            Content::Text("hello".to_owned()),
            Content::Formatted(formatted()),
            Content::Question { text: formatted(), buttons: vec![vec![Button::new("Yes", "y".to_owned())]] },
            Content::Edit { message_id: 7.into(), text: "better".to_owned() },
            Content::Document(file(formatted())),
            Content::Document(File { media: Some(Media::Photo), ..file(formatted()) }),
            Content::Document(File { media: Some(Media::Audio), ..file(FormattedText::plain("")) }),
            Content::Voice(file(FormattedText::plain("hello"))),
            Content::Voice(file(FormattedText::plain(""))),
            Content::Reaction { message_id: 7.into(), emoji: "👀".to_owned(), is_big: true },
        ] {
            queue(&database, 1, content.clone());
            let message = next_message(&database).unwrap();
            assert_eq!(as_it_came(&database, message.content.clone()), content);
            mark_sent(&database, &message, &[]).unwrap();
        }
        let left = "select (select count(*) from outgoing_files) + (select count(*) from outgoing_parts)";
        assert_eq!(database.column::<i64>(left), [0]);
    }
}
