//! What leaves: rows that are sent one by one, in order per chat.
//!
//! Sending is a step of its own, after the commit that made the row. A message that was sent just before
//! a crash, and not yet marked, is sent once more: one message may come twice, none is lost.

use std::time::Duration;

use protocol::{EventId, EventType, TaskId, now_ms};
use rusqlite::{Connection, OptionalExtension, params};
use serde_json::json;

use super::claim::after;
use super::columns::{chat, task_id};
use super::{StoreError, events};
use crate::channel::{Channel, Chat};

/// What a reply without any text leaves as: no channel accepts an empty message.
const EMPTY_REPLY: &str = "(The answer is empty.)";

/// A message that is to be sent.
#[derive(Debug, Clone)]
pub struct Outgoing {
    /// The row.
    pub seq: i64,
    /// Whose reply it is.
    pub task: TaskId,
    /// Who gets it.
    pub chat: Chat,
    /// What it says.
    pub text: String,
    /// How often sending has failed.
    pub attempt: u32,
    /// Its `reply.queued`.
    pub event: EventId,
}

/// What there is to send.
#[derive(Debug)]
pub enum Next {
    /// This, now.
    Message(Box<Outgoing>),
    /// Nothing before this time, in milliseconds since the epoch; none: nothing at all.
    Nothing {
        /// When the next retry is due.
        until_ms: Option<i64>,
    },
}

/// Queues a text, in as many messages as its channel needs. For the local channel the row is the
/// delivery: whoever asked fetches it from here.
pub fn queue(
    connection: &Connection,
    task: &TaskId,
    chat: &Chat,
    text: &str,
    parent: Option<&EventId>,
) -> Result<(), StoreError> {
    let text = if text.trim().is_empty() { EMPTY_REPLY } else { text };
    let parts = chat.channel.parts(text);
    let of = parts.len();
    for (part, text) in (1..).zip(parts) {
        let payload = json!({"channel": chat.channel.as_str(), "chat_id": chat.id, "part": part, "of": of, "text": text});
        let queued = events::record(connection, EventType::ReplyQueued, parent, task, payload)?;
        insert(connection, task, chat, part, &text, &queued)?;
        if chat.channel == Channel::Local {
            events::record(connection, EventType::ReplySent, Some(&queued), task, json!({}))?;
        }
    }
    Ok(())
}

/// The oldest message of a channel that may leave now. Later ones of the same chat wait for it.
pub fn next(connection: &Connection, channel: Channel) -> Result<Next, StoreError> {
    const FIRST_OF_ITS_CHAT: &str = "state = 'queued' and channel = ?1 and not exists (
        select 1 from outbox as earlier
        where earlier.state = 'queued' and earlier.channel = message.channel
            and earlier.chat_id = message.chat_id and earlier.seq < message.seq)";
    let sql = format!(
        "select seq, task_id, channel, chat_id, text, attempt, event_id from outbox as message
         where {FIRST_OF_ITS_CHAT} and available_at_ms <= ?2 order by seq limit 1"
    );
    let due = connection
        .prepare_cached(&sql)?
        .query_row(params![channel.as_str(), now_ms()], outgoing)
        .optional()?;
    if let Some(message) = due {
        return Ok(Next::Message(Box::new(message)));
    }
    let sql = format!("select min(available_at_ms) from outbox as message where {FIRST_OF_ITS_CHAT}");
    let until_ms = connection.prepare_cached(&sql)?.query_row([channel.as_str()], |row| row.get(0))?;
    Ok(Next::Nothing { until_ms })
}

/// Marks a message as delivered.
pub fn mark_sent(connection: &Connection, message: &Outgoing) -> Result<(), StoreError> {
    let sql = "update outbox set state = 'sent', finished_at_ms = ?2 where seq = ?1 and state = 'queued'";
    if connection.prepare_cached(sql)?.execute(params![message.seq, now_ms()])? == 1 {
        events::record(connection, EventType::ReplySent, Some(&message.event), &message.task, json!({}))?;
    }
    Ok(())
}

/// Puts a message off after a failure.
pub fn put_off(
    connection: &Connection,
    message: &Outgoing,
    error: &str,
    pause: Duration,
) -> Result<(), StoreError> {
    let sql = "update outbox set attempt = attempt + 1, available_at_ms = ?2, error = ?3
               where seq = ?1 and state = 'queued'";
    connection.prepare_cached(sql)?.execute(params![message.seq, after(now_ms(), pause), error])?;
    let delay_ms = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
    let payload = json!({"attempt": message.attempt + 1, "error": error, "delay_ms": delay_ms});
    events::record(connection, EventType::RetryScheduled, Some(&message.event), &message.task, payload)?;
    Ok(())
}

/// Gives a message up: it can never be delivered.
pub fn give_up(connection: &Connection, message: &Outgoing, error: &str) -> Result<(), StoreError> {
    let sql = "update outbox set state = 'dead', error = ?2, finished_at_ms = ?3 where seq = ?1 and state = 'queued'";
    connection.prepare_cached(sql)?.execute(params![message.seq, error, now_ms()])?;
    let payload = json!({"attempt": message.attempt + 1, "error": error});
    events::record(connection, EventType::RetryExhausted, Some(&message.event), &message.task, payload)?;
    Ok(())
}

/// What a task's user was told: all its messages, in order.
pub fn reply_of(connection: &Connection, task: &TaskId) -> Result<Option<String>, StoreError> {
    let mut query = connection.prepare_cached("select text from outbox where task_id = ?1 order by part")?;
    let parts = query.query_map([task.as_str()], |row| row.get(0))?.collect::<Result<Vec<String>, _>>()?;
    Ok((!parts.is_empty()).then(|| parts.join("\n")))
}

fn insert(
    connection: &Connection,
    task: &TaskId,
    chat: &Chat,
    part: u32,
    text: &str,
    event: &EventId,
) -> Result<(), StoreError> {
    let now = now_ms();
    let (state, finished_at) = match chat.channel {
        Channel::Telegram => ("queued", None),
        Channel::Local => ("sent", Some(now)),
    };
    let sql = "insert into outbox (task_id, channel, chat_id, part, text, state, available_at_ms, event_id,
                                   created_at_ms, finished_at_ms)
               values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?7, ?9)";
    connection.prepare_cached(sql)?.execute(params![
        task.as_str(),
        chat.channel.as_str(),
        chat.id,
        part,
        text,
        state,
        now,
        event.as_str(),
        finished_at
    ])?;
    Ok(())
}

fn outgoing(row: &rusqlite::Row<'_>) -> rusqlite::Result<Outgoing> {
    let event: String = row.get(6)?;
    Ok(Outgoing {
        seq: row.get(0)?,
        task: task_id(row, 1)?,
        chat: chat(row, 2)?,
        text: row.get(4)?,
        attempt: row.get(5)?,
        event: event.parse().unwrap_or_else(|_| EventId::new()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::fixture::Fixture;
    use crate::store::inbox::{Arrival, enqueue};

    async fn queue_text(fixture: &Fixture, chat: Chat, text: &'static str) -> TaskId {
        let run = fixture.run.clone();
        let queued = fixture.store.write(move |tx| {
            let arrival = Arrival { chat: chat.clone(), update_id: None, text: "hello".to_owned() };
            let task = enqueue(tx, &arrival, &run)?.unwrap();
            queue(tx, &task, &chat, text, None)?;
            Ok(task)
        });
        queued.await.unwrap()
    }

    async fn next_message(fixture: &Fixture) -> Option<Outgoing> {
        match fixture.store.write(|tx| next(tx, Channel::Telegram)).await.unwrap() {
            Next::Message(message) => Some(*message),
            Next::Nothing { .. } => None,
        }
    }

    #[tokio::test]
    async fn a_message_that_is_put_off_holds_back_its_own_chat_alone() {
        let fixture = Fixture::new().await;
        for (chat, text) in [(1, "first"), (1, "second"), (2, "other")] {
            queue_text(&fixture, Chat::telegram(chat), text).await;
        }
        let first = next_message(&fixture).await.unwrap();
        assert_eq!(first.text, "first");
        fixture.store.write(move |tx| put_off(tx, &first, "flood", Duration::from_secs(60))).await.unwrap();
        let other = next_message(&fixture).await.unwrap();
        assert_eq!(other.text, "other");
        fixture.store.write(move |tx| mark_sent(tx, &other)).await.unwrap();
        assert!(next_message(&fixture).await.is_none());
    }

    #[tokio::test]
    async fn a_sent_message_is_marked_once_with_its_event() {
        let fixture = Fixture::new().await;
        queue_text(&fixture, Chat::telegram(1), "hello").await;
        let message = next_message(&fixture).await.unwrap();
        for _ in 0..2 {
            let message = message.clone();
            fixture.store.write(move |tx| mark_sent(tx, &message)).await.unwrap();
        }
        let sent: Vec<i64> = fixture.column("select count(*) from events where type = 'reply.sent'").await;
        assert_eq!(sent, [1]);
    }

    #[tokio::test]
    async fn a_message_that_is_given_up_lets_the_next_one_leave() {
        let fixture = Fixture::new().await;
        queue_text(&fixture, Chat::telegram(1), "never").await;
        queue_text(&fixture, Chat::telegram(1), "after").await;
        let message = next_message(&fixture).await.unwrap();
        fixture.store.write(move |tx| give_up(tx, &message, "blocked")).await.unwrap();
        assert_eq!(next_message(&fixture).await.unwrap().text, "after");
    }

    #[tokio::test]
    async fn a_local_reply_is_delivered_by_its_row() {
        let fixture = Fixture::new().await;
        let task = queue_text(&fixture, Chat::local("local"), "answer").await;
        let reply = fixture.store.write(move |tx| reply_of(tx, &task)).await.unwrap();
        assert_eq!(reply.as_deref(), Some("answer"));
        let sent: Vec<i64> = fixture.column("select count(*) from events where type = 'reply.sent'").await;
        assert_eq!(sent, [1]);
    }

    #[tokio::test]
    async fn an_empty_reply_says_that_it_is_empty() {
        let fixture = Fixture::new().await;
        queue_text(&fixture, Chat::telegram(1), "  \n").await;
        assert_eq!(next_message(&fixture).await.unwrap().text, EMPTY_REPLY);
    }
}
