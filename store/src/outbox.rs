//! Outgoing messages: a reply in as many rows as its channel needs, or one message that somebody sent.
//!
//! A row is added in the transaction of its cause; [`super::delivery`] sends it afterwards.

use channel::content::Media;
use channel::{Channels, Chat, Content, Delivery};
use protocol::event::{ReplyQueued, ReplySent};
use protocol::{Event, EventId, MessageId, ReplyFormat, TaskId, now_ms};
use serde::Serialize;
use texts::Text;

use super::sql::{Connection, params};
use super::{StoreError, columns, events, languages, outgoing_files};

/// A row as `GET /outbox/{id}` shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OutboxRow {
    pub outbox_id: i64,
    pub chat: String,
    /// `text`, `edit`, `document`, `voice` or `reaction`.
    pub kind: String,
    /// `queued`, `sent` or `dead`.
    pub status: String,
    /// How often sending it has failed.
    pub failures: u32,
    /// Why it failed the last time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Its ID in the chat, once it was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_id: Option<MessageId>,
}

/// What a task's user reads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reply<'a> {
    pub task: &'a TaskId,
    pub chat: &'a Chat,
    pub text: &'a str,
    /// How the text is written.
    pub format: ReplyFormat,
}

/// Queues a task's reply as the messages that its channel sends it as.
pub(crate) fn queue_reply(
    connection: &Connection,
    channels: &Channels,
    reply: &Reply<'_>,
    parent: Option<&EventId>,
) -> Result<(), StoreError> {
    let Reply { task, chat, text, format } = *reply;
    // No channel accepts an empty message.
    let language = languages::of(connection, chat)?;
    let empty = Text::EmptyReply.to(language);
    let text = if text.trim().is_empty() { &empty } else { text };
    let (contents, delivery) = match channels.get(&chat.channel) {
        Some(channel) => (channel.decorate(text, format, language), channel.delivery()),
        // Kept whole for a program that has this channel.
        None => (vec![Content::Text(text.to_owned())], Delivery::Off),
    };
    queue(connection, Some(task), chat, contents, delivery, parent).map(|_| ())
}

/// Queues messages that belong together, and returns the numbers of their rows: each file of an album has
/// one. A pulled channel takes only the texts of a task's reply, because clients fetch nothing else; they
/// count as sent at once.
pub fn queue(
    connection: &Connection,
    task: Option<&TaskId>,
    chat: &Chat,
    contents: Vec<Content>,
    delivery: Delivery,
    parent: Option<&EventId>,
) -> Result<Vec<i64>, StoreError> {
    let rows: Vec<(usize, Content)> = contents.into_iter().flat_map(rows_of).collect();
    let (of, mut first) = (rows.len(), None);
    let queue_row = |(part, (place, content)): (u32, (usize, Content))| {
        let album = first.filter(|_| place > 0);
        let row = NewRow { task, chat, content, part, of, album, is_sent: delivery == Delivery::Pull };
        if row.is_sent && !matches!((task, &row.content), (Some(_), Content::Text(_))) {
            return Err(StoreError::NotAReply(chat.channel.clone()));
        }
        let (seq, queued) = insert(connection, &row, parent)?;
        first = first.filter(|_| place > 0).or(Some(seq));
        if let (true, Some(task)) = (row.is_sent, task) {
            events::record(connection, ReplySent { message_id: None }, Some(&queued), task)?;
        }
        Ok(seq)
    };
    (1..).zip(rows).map(queue_row).collect()
}

/// The rows of a content, each with its place in its album.
fn rows_of(content: Content) -> Vec<(usize, Content)> {
    match content {
        Content::Album(files) => files.into_iter().map(Content::Document).enumerate().collect(),
        other => vec![(0, other)],
    }
}

/// Queues a message that leaves behind all others of its chat, and not before so many milliseconds; returns
/// the number of its row. For a channel that pushes.
pub fn queue_notice(
    connection: &Connection,
    chat: &Chat,
    content: Content,
    delay_ms: i64,
    run: &EventId,
) -> Result<i64, StoreError> {
    let seqs = queue(connection, None, chat, vec![content], Delivery::Push, Some(run))?;
    let seq = seqs.last().copied().unwrap_or_default();
    let sql = "update outbox set is_notice = 1, available_at_ms = available_at_ms + ?2 where seq = ?1";
    connection.execute(sql, [seq, delay_ms])?;
    Ok(seq)
}

pub fn row(connection: &Connection, outbox_id: i64) -> Result<Option<OutboxRow>, StoreError> {
    let sql = "select chat_id, kind, state, attempt, error, message_id from outbox where seq = ?1";
    Ok(connection.query_optional(sql, [outbox_id], |row| {
        Ok(OutboxRow {
            outbox_id,
            chat: row.get(0)?,
            kind: row.get(1)?,
            status: row.get(2)?,
            failures: row.get(3)?,
            error: row.get(4)?,
            message_id: columns::message_id(row, 5)?,
        })
    })?)
}

/// Gives up a message that is not wanted any more, if it has not left.
pub(crate) fn withdraw(connection: &Connection, outbox_id: i64) -> Result<(), StoreError> {
    let sql = "update outbox set state = 'dead', error = 'not wanted any more', finished_at_ms = ?2,
                                 updated_at_ms = ?2
               where seq = ?1 and state = 'queued'";
    connection.execute(sql, params![outbox_id, now_ms()])?;
    Ok(())
}

/// The reply to a task's user when it last ended: all messages, in order.
pub(crate) fn reply_of(connection: &Connection, task: &TaskId) -> Result<Option<String>, StoreError> {
    let sql = "select text from outbox
               where task_id = ?1 and round = (select requeues from inbox where id = ?1) order by part";
    let parts = connection.query_all(sql, [task.as_str()], |row| row.get::<String>(0))?;
    Ok((!parts.is_empty()).then(|| parts.join("\n")))
}

struct NewRow<'a> {
    task: Option<&'a TaskId>,
    chat: &'a Chat,
    content: Content,
    part: u32,
    of: usize,
    /// The first row of its album, if that is another one.
    album: Option<i64>,
    is_sent: bool,
}

impl NewRow<'_> {
    fn reply_queued(&self) -> ReplyQueued {
        let Self { chat, content, part, of, .. } = self;
        let file = content.file();
        ReplyQueued {
            kind: content.kind().to_owned(),
            text: content.text().to_owned(),
            target_message_id: content.target().cloned(),
            file_name: file.map(|file| file.name.clone()),
            size_bytes: file.map(|file| usize::try_from(file.body.size_bytes()).unwrap_or(usize::MAX)),
            channel: chat.channel.as_str().to_owned(),
            chat_id: chat.id.clone(),
            part: *part,
            of: *of,
        }
    }
}

/// Adds a row and its `reply.queued`. Returns the number of the one and the ID of the other.
fn insert(
    connection: &Connection,
    row: &NewRow<'_>,
    parent: Option<&EventId>,
) -> Result<(i64, EventId), StoreError> {
    let NewRow { task, chat, content, part, is_sent, .. } = row;
    let file = content.file();
    let file_id = file.map(|file| outgoing_files::of(connection, &file.body)).transpose()?;
    let entities = content.entities().map(serde_json::to_string).transpose()?;
    let caption_entities = content.caption_entities().map(serde_json::to_string).transpose()?;
    let buttons = content.buttons().map(serde_json::to_string).transpose()?;
    let queued = Event::now(row.reply_queued(), parent, *task);
    events::append(connection, &queued)?;
    let now = now_ms();
    let (state, finished_at) = if *is_sent { ("sent", Some(now)) } else { ("queued", None) };
    let sql = "insert into outbox (task_id, round, part, channel, chat_id, kind, text, target_message_id,
                                   file_name, file_id, entities, is_big, state, available_at_ms, event_id,
                                   created_at_ms, updated_at_ms, finished_at_ms, buttons,
                                   caption_entities, media, album)
               values (?1, coalesce((select requeues from inbox where id = ?1), 0), ?2, ?3, ?4, ?5, ?6, ?7,
                       ?8, ?9, ?14, ?15, ?10, ?11, ?12, ?11, ?11, ?13, ?16, ?17, ?18, ?19)
               returning seq";
    let values = params![
        task.map(TaskId::as_str),
        part,
        chat.channel.as_str(),
        chat.id,
        content.kind(),
        content.text(),
        content.target().map(MessageId::as_str),
        file.map(|file| file.name.as_str()),
        file_id,
        state,
        now,
        queued.id.as_str(),
        finished_at,
        entities,
        matches!(content, Content::Reaction { is_big: true, .. }),
        buttons,
        caption_entities,
        file.and_then(|file| file.media).map(Media::name),
        row.album,
    ];
    let seq = connection.query_row(sql, values, |row| row.get(0))?;
    Ok((seq, queued.id))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{TestDatabase, channels, local_chat, test_chat};

    fn replied(chat: &Chat, text: &str) -> (TestDatabase, TaskId) {
        let database = TestDatabase::new();
        let task = database.enqueue(chat.clone(), "hello");
        let reply = Reply { task: &task, chat, text, format: ReplyFormat::Markdown };
        queue_reply(&database, &channels(), &reply, None).unwrap();
        (database, task)
    }

    #[test]
    fn a_reply_of_a_pulled_channel_is_sent_once_it_is_stored() {
        let (database, task) = replied(&local_chat(), "answer");
        assert_eq!(reply_of(&database, &task).unwrap().as_deref(), Some("answer"));
        let sent = "select count(*) from events where type = 'reply.sent'";
        assert_eq!(database.column::<i64>(sent), [1]);
    }

    #[test]
    fn a_pulled_channel_takes_nothing_but_the_texts_of_a_reply() {
        let (database, task) = replied(&test_chat(1), "answer");
        let text = Content::Text("a".to_owned());
        let reaction = Content::Reaction { message_id: 7.into(), emoji: "👀".to_owned(), is_big: false };
        for (task, content, expected) in
            [(Some(&task), text.clone(), true), (None, text, false), (Some(&task), reaction, false)]
        {
            database.execute("delete from outbox", []).unwrap();
            let described = format!("{content:?} of {task:?}");
            let queued = queue(&database, task, &test_chat(1), vec![content], Delivery::Pull, None);
            assert_eq!(queued.is_ok(), expected, "{described}");
        }
    }

    #[test]
    fn an_empty_reply_says_so_and_a_reply_of_an_unknown_channel_waits() {
        let (database, _) = replied(&test_chat(1), "  \n");
        let rows = database.texts("select text || ' ' || state from outbox");
        assert_eq!(rows, ["(The answer is empty.) queued"]);
    }

    #[test]
    fn an_invalid_row_cannot_be_stored() {
        let database = TestDatabase::new();
        let edit = vec![Content::Edit { message_id: 7.into(), text: "better".to_owned() }];
        database.queue(&test_chat(1), edit);
        database.refuses(&[
            "update outbox set kind = 'telepathy'",
            "update outbox set kind = 'text'",
            "update outbox set kind = 'document'",
            "update outbox set target_message_id = null",
            "update outbox set text = ''",
            "update outbox set channel = ''",
            "update outbox set entities = '[]'",
            "update outbox set album = 0",
            "update outbox set kind = 'text', target_message_id = null, entities = '{}'",
            "update outbox set caption_entities = '[]'",
            "update outbox set message_id = 8",
            "update outbox set state = 'sent'",
            "update outbox set state = 'dead', finished_at_ms = 1",
        ]);
        let sent = "update outbox set state = 'sent', finished_at_ms = 1, message_id = 7";
        database.execute(sent, []).unwrap();
        database.refuses(&["update outbox set state = 'queued', finished_at_ms = null, message_id = null"]);
    }
}
