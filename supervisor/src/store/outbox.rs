//! What is to leave: a reply in as many rows as its channel needs, or one thing that somebody asked for.
//!
//! A row is made in the transaction that made the reason for it; [`super::delivery`] has what becomes of
//! it afterwards.

use protocol::event::{ReplyQueued, ReplySent};
use protocol::{Event, EventId, TaskId, now_ms};
use rusqlite::{Connection, OptionalExtension, params};

use super::content::{Content, File};
use super::{StoreError, events};
use crate::channel::{Channel, Chat};

/// What a reply without any text leaves as: no channel accepts an empty message.
const EMPTY_REPLY: &str = "(The answer is empty.)";
/// A reply of more messages than this leaves as its first one and a file with the whole.
const MOST_MESSAGES: usize = 8;

/// How something that leaves is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Departure {
    /// Its chat.
    pub chat_id: String,
    /// What it is: `text`, `edit`, `document`, `voice` or `reaction`.
    pub kind: String,
    /// Its state: `queued`, `sent` or `dead`.
    pub state: String,
    /// How often sending it has failed.
    pub attempt: u32,
    /// Why, the last time.
    pub error: Option<String>,
    /// Its number in the chat, once it was sent.
    pub message_id: Option<i64>,
}

/// Queues a task's reply. For the local channel the row is the delivery: whoever asked fetches it from here.
pub fn queue(
    connection: &Connection,
    task: &TaskId,
    chat: &Chat,
    text: &str,
    parent: Option<&EventId>,
) -> Result<(), StoreError> {
    for row in rows(Some(task), chat, reply(chat.channel, text)) {
        let queued = insert(connection, &row, parent)?;
        if chat.channel == Channel::Local {
            events::record(connection, ReplySent { message_id: None }, Some(&queued), task)?;
        }
    }
    Ok(())
}

/// Queues what somebody asked for, and returns the numbers of its rows: a long text needs several.
pub fn queue_one(
    connection: &Connection,
    chat: &Chat,
    content: Content,
    parent: &EventId,
) -> Result<Vec<i64>, StoreError> {
    let contents = match content {
        Content::Text(text) => chat.channel.parts(&text).into_iter().map(Content::Text).collect(),
        other => vec![other],
    };
    let queue_row = |row: &NewRow<'_>| {
        insert(connection, row, Some(parent))?;
        Ok(connection.last_insert_rowid())
    };
    rows(None, chat, contents).iter().map(queue_row).collect()
}

/// How something that leaves is.
pub fn departure(connection: &Connection, seq: i64) -> Result<Option<Departure>, StoreError> {
    let sql = "select chat_id, kind, state, attempt, error, message_id from outbox where seq = ?1";
    let found = connection.prepare_cached(sql)?.query_row([seq], |row| {
        Ok(Departure {
            chat_id: row.get(0)?,
            kind: row.get(1)?,
            state: row.get(2)?,
            attempt: row.get(3)?,
            error: row.get(4)?,
            message_id: row.get(5)?,
        })
    });
    Ok(found.optional()?)
}

/// What a task's user was told at its last end: all its messages, in order.
pub fn reply_of(connection: &Connection, task: &TaskId) -> Result<Option<String>, StoreError> {
    let sql = "select text from outbox
               where task_id = ?1 and round = (select requeues from inbox where id = ?1) order by part";
    let mut query = connection.prepare_cached(sql)?;
    let parts = query.query_map([task.as_str()], |row| row.get(0))?.collect::<Result<Vec<String>, _>>()?;
    Ok((!parts.is_empty()).then(|| parts.join("\n")))
}

/// What a reply leaves as.
fn reply(channel: Channel, text: &str) -> Vec<Content> {
    let text = if text.trim().is_empty() { EMPTY_REPLY } else { text };
    let mut parts = channel.parts(text);
    let of = parts.len();
    if of <= MOST_MESSAGES {
        return parts.into_iter().map(Content::Text).collect();
    }
    let file = File {
        name: "answer.md".to_owned(),
        caption: format!("The whole answer; as text it would be {of} messages."),
        bytes: text.as_bytes().to_vec(),
    };
    vec![Content::Text(parts.swap_remove(0)), Content::Document(file)]
}

/// A row that is to be made.
struct NewRow<'a> {
    task: Option<&'a TaskId>,
    chat: &'a Chat,
    content: Content,
    part: u32,
    of: usize,
}

fn rows<'a>(task: Option<&'a TaskId>, chat: &'a Chat, contents: Vec<Content>) -> Vec<NewRow<'a>> {
    let of = contents.len();
    (1..).zip(contents).map(|(part, content)| NewRow { task, chat, content, part, of }).collect()
}

/// Adds a row with its `reply.queued`, whose id it returns.
fn insert(
    connection: &Connection,
    row: &NewRow<'_>,
    parent: Option<&EventId>,
) -> Result<EventId, StoreError> {
    let NewRow { task, chat, content, part, of } = row;
    let file = content.file();
    let reply = ReplyQueued {
        kind: content.kind().to_owned(),
        text: content.text().to_owned(),
        target_message_id: content.target(),
        file_name: file.map(|file| file.name.clone()),
        size_bytes: file.map(|file| file.bytes.len()),
        channel: chat.channel.as_str().to_owned(),
        chat_id: chat.id.clone(),
        part: *part,
        of: *of,
    };
    let queued = Event::now(reply, parent, *task);
    events::append(connection, &queued)?;
    let now = now_ms();
    let (state, finished_at) = match chat.channel {
        Channel::Telegram => ("queued", None),
        Channel::Local => ("sent", Some(now)),
    };
    let sql = "insert into outbox (task_id, round, part, channel, chat_id, kind, text, target_message_id, file_name,
                                   content, state, available_at_ms, event_id, created_at_ms, updated_at_ms,
                                   finished_at_ms)
               values (?1, coalesce((select requeues from inbox where id = ?1), 0), ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9,
                       ?10, ?11, ?12, ?11, ?11, ?13)";
    connection.prepare_cached(sql)?.execute(params![
        task.map(TaskId::as_str),
        part,
        chat.channel.as_str(),
        chat.id,
        content.kind(),
        content.text(),
        content.target(),
        file.map(|file| file.name.as_str()),
        file.map(|file| file.bytes.as_slice()),
        state,
        now,
        queued.id.as_str(),
        finished_at
    ])?;
    Ok(queued.id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::fixture::Fixture;
    use crate::store::inbox::{Arrival, enqueue};

    async fn queue_text(fixture: &Fixture, chat: Chat, text: String) -> TaskId {
        let run = fixture.run.clone();
        let queued = fixture.store.write(move |tx| {
            let arrival =
                Arrival { chat: chat.clone(), update_id: None, message_id: None, text: "hello".to_owned() };
            let task = enqueue(tx, &arrival, &run)?.unwrap();
            queue(tx, &task, &chat, &text, None)?;
            Ok(task)
        });
        queued.await.unwrap()
    }

    #[tokio::test]
    async fn a_local_reply_is_delivered_by_its_row() {
        let fixture = Fixture::new().await;
        let task = queue_text(&fixture, Chat::local("local"), "answer".to_owned()).await;
        let reply = fixture.store.write(move |tx| reply_of(tx, &task)).await.unwrap();
        assert_eq!(reply.as_deref(), Some("answer"));
        let sent: Vec<i64> = fixture.column("select count(*) from events where type = 'reply.sent'").await;
        assert_eq!(sent, [1]);
    }

    #[tokio::test]
    async fn an_empty_reply_says_that_it_is_empty() {
        let fixture = Fixture::new().await;
        queue_text(&fixture, Chat::telegram(1), "  \n".to_owned()).await;
        let texts: Vec<String> = fixture.column("select text from outbox").await;
        assert_eq!(texts, [EMPTY_REPLY]);
    }

    #[tokio::test]
    async fn a_very_long_reply_leaves_as_its_beginning_and_a_file_with_the_whole() {
        let fixture = Fixture::new().await;
        let whole = "a line of an endless answer\n".repeat(2000);
        queue_text(&fixture, Chat::telegram(1), whole.clone()).await;
        let kinds: Vec<String> = fixture.column("select kind from outbox order by part").await;
        assert_eq!(kinds, ["text", "document"]);
        let files: Vec<Vec<u8>> = fixture.column("select content from outbox where kind = 'document'").await;
        assert_eq!(files, [whole.into_bytes()]);
    }

    #[tokio::test]
    async fn what_makes_no_sense_can_not_leave() {
        let fixture = Fixture::new().await;
        let run = fixture.run.clone();
        let edit = Content::Edit { message_id: 7, text: "better".to_owned() };
        fixture.store.write(move |tx| queue_one(tx, &Chat::telegram(1), edit, &run)).await.unwrap();
        for sql in [
            "update outbox set kind = 'telepathy'",
            "update outbox set kind = 'text'",
            "update outbox set kind = 'document'",
            "update outbox set target_message_id = null",
            "update outbox set text = ''",
            "update outbox set channel = 'local'",
            "update outbox set message_id = 8",
            "update outbox set state = 'sent'",
            "update outbox set state = 'dead', finished_at_ms = 1",
        ] {
            let stored = fixture.store.write(move |tx| Ok(tx.execute(sql, [])?)).await;
            assert!(stored.is_err(), "{sql}");
        }
        let sent = "update outbox set state = 'sent', finished_at_ms = 1, message_id = 7";
        fixture.store.write(move |tx| Ok(tx.execute(sent, [])?)).await.unwrap();
        let again = "update outbox set state = 'queued', finished_at_ms = null, message_id = null";
        assert!(fixture.store.write(move |tx| Ok(tx.execute(again, [])?)).await.is_err());
    }
}
