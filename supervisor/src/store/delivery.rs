//! What becomes of a row that is to leave: sent, put off, or given up, in order per chat.
//!
//! Sending is a step of its own, after the commit that made the row. What was sent just before a crash, and
//! not yet marked, is sent once more: one message may come twice, none is lost.

use std::time::Duration;

use protocol::event::{AttemptFailed, ReplySent, RetryExhausted, RetryScheduled};
use protocol::{Event, EventBody, EventId, TaskId, millis, now_ms};
use rusqlite::{Connection, OptionalExtension, params};

use super::claim::after;
use super::columns::{chat, content};
use super::{StoreError, events};
use crate::channel::{ChannelName, Chat, Content};

/// Something that is to be sent.
#[derive(Debug, Clone)]
pub struct Outgoing {
    /// The row.
    pub seq: i64,
    /// Whose reply it is; none if somebody asked for it at the control port.
    pub task: Option<TaskId>,
    /// Who gets it.
    pub chat: Chat,
    /// What it is.
    pub content: Content,
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

/// The oldest message of a channel that may leave now. Later ones of the same chat wait for it.
pub fn next(connection: &Connection, channel: &ChannelName) -> Result<Next, StoreError> {
    const FIRST_OF_ITS_CHAT: &str = "state = 'queued' and channel = ?1 and not exists (
        select 1 from outbox as earlier
        where earlier.state = 'queued' and earlier.channel = message.channel
            and earlier.chat_id = message.chat_id and earlier.seq < message.seq)";
    // A row that was changed later than now was put off before the clock was set back: it is due.
    let sql = format!(
        "select seq, task_id, channel, chat_id, attempt, event_id, kind, text, target_message_id, file_name, content
         from outbox as message
         where {FIRST_OF_ITS_CHAT} and (available_at_ms <= ?2 or updated_at_ms > ?2) order by seq limit 1"
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

/// Marks a message as delivered, with the number that the channel gave to it. A file's bytes have done
/// their work and leave the database.
pub fn mark_sent(
    connection: &Connection,
    message: &Outgoing,
    message_id: Option<i64>,
) -> Result<(), StoreError> {
    let sql = "update outbox set state = 'sent', message_id = ?3, content = null, updated_at_ms = ?2,
                                 finished_at_ms = ?2
               where seq = ?1 and state = 'queued'";
    if connection.prepare_cached(sql)?.execute(params![message.seq, now_ms(), message_id])? == 1 {
        record(connection, ReplySent { message_id }, message)?;
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
    let now = now_ms();
    let sql = "update outbox set attempt = attempt + 1, available_at_ms = ?2, error = ?3, updated_at_ms = ?4
               where seq = ?1 and state = 'queued'";
    if connection.prepare_cached(sql)?.execute(params![message.seq, after(now, pause), error, now])? == 1 {
        let failed = failed(message, error);
        record(connection, RetryScheduled::Attempt { failed, delay_ms: millis(pause) }, message)?;
    }
    Ok(())
}

/// Gives a message up: it can not be delivered.
pub fn give_up(connection: &Connection, message: &Outgoing, error: &str) -> Result<(), StoreError> {
    let sql = "update outbox set state = 'dead', attempt = attempt + 1, error = ?2, updated_at_ms = ?3,
                                 finished_at_ms = ?3
               where seq = ?1 and state = 'queued'";
    if connection.prepare_cached(sql)?.execute(params![message.seq, error, now_ms()])? == 1 {
        record(connection, RetryExhausted::Attempt(failed(message, error)), message)?;
    }
    Ok(())
}

fn failed(message: &Outgoing, error: &str) -> AttemptFailed {
    AttemptFailed { attempt: message.attempt + 1, error: error.to_owned() }
}

fn record(connection: &Connection, body: impl Into<EventBody>, message: &Outgoing) -> Result<(), StoreError> {
    events::append(connection, &Event::now(body, Some(&message.event), message.task.as_ref()))
}

fn outgoing(row: &rusqlite::Row<'_>) -> rusqlite::Result<Outgoing> {
    let (task, event): (Option<String>, String) = (row.get(1)?, row.get(5)?);
    Ok(Outgoing {
        seq: row.get(0)?,
        task: task.and_then(|task| task.parse().ok()),
        chat: chat(row, 2)?,
        attempt: row.get(4)?,
        event: event.parse().unwrap_or_else(|_| EventId::new()),
        content: content(row, 6)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channel::Delivery;
    use crate::channel::content::File;
    use crate::store::fixture::{CHANNEL, Fixture, test_chat};
    use crate::store::outbox;

    async fn queue(fixture: &Fixture, id: i64, content: Content) {
        let run = fixture.run.clone();
        fixture
            .store
            .write(move |tx| {
                outbox::queue(tx, None, &test_chat(id), vec![content], Delivery::Push, Some(&run))
            })
            .await
            .unwrap();
    }

    async fn queue_text(fixture: &Fixture, id: i64, text: &str) {
        queue(fixture, id, Content::Text(text.to_owned())).await;
    }

    async fn next_message(fixture: &Fixture) -> Option<Outgoing> {
        match fixture.store.write(|tx| next(tx, &CHANNEL)).await.unwrap() {
            Next::Message(message) => Some(*message),
            Next::Nothing { .. } => None,
        }
    }

    #[tokio::test]
    async fn a_message_that_is_put_off_holds_back_its_own_chat_alone() {
        let fixture = Fixture::new().await;
        for (chat, text) in [(1, "first"), (1, "second"), (2, "other")] {
            queue_text(&fixture, chat, text).await;
        }
        let first = next_message(&fixture).await.unwrap();
        assert_eq!(first.content.text(), "first");
        fixture.store.write(move |tx| put_off(tx, &first, "flood", Duration::from_secs(60))).await.unwrap();
        let other = next_message(&fixture).await.unwrap();
        assert_eq!(other.content.text(), "other");
        fixture.store.write(move |tx| mark_sent(tx, &other, Some(1))).await.unwrap();
        assert!(next_message(&fixture).await.is_none());
    }

    #[tokio::test]
    async fn a_clock_that_was_set_back_holds_no_message_back() {
        let fixture = Fixture::new().await;
        queue_text(&fixture, 1, "first").await;
        let first = next_message(&fixture).await.unwrap();
        fixture.store.write(move |tx| put_off(tx, &first, "flood", Duration::from_secs(60))).await.unwrap();
        let hour_ahead = "update outbox set available_at_ms = available_at_ms + 3600000,
                                            updated_at_ms = updated_at_ms + 3600000";
        fixture.store.write(move |tx| Ok(tx.execute(hour_ahead, [])?)).await.unwrap();
        assert!(next_message(&fixture).await.is_some());
    }

    #[tokio::test]
    async fn a_sent_message_is_marked_once_with_its_event_and_its_number() {
        let fixture = Fixture::new().await;
        queue_text(&fixture, 1, "hello").await;
        let message = next_message(&fixture).await.unwrap();
        for number in [41, 42] {
            let message = message.clone();
            fixture.store.write(move |tx| mark_sent(tx, &message, Some(number))).await.unwrap();
        }
        let sent: Vec<i64> =
            fixture.column("select payload ->> 'message_id' from events where type = 'reply.sent'").await;
        assert_eq!(sent, [41]);
    }

    #[tokio::test]
    async fn a_message_that_is_given_up_lets_the_next_one_leave() {
        let fixture = Fixture::new().await;
        queue_text(&fixture, 1, "never").await;
        queue_text(&fixture, 1, "after").await;
        let message = next_message(&fixture).await.unwrap();
        fixture.store.write(move |tx| give_up(tx, &message, "blocked")).await.unwrap();
        assert_eq!(next_message(&fixture).await.unwrap().content.text(), "after");
    }

    #[tokio::test]
    async fn every_kind_comes_out_as_it_went_in_and_a_sent_file_leaves_its_bytes() {
        let fixture = Fixture::new().await;
        let file = || File { name: "a.bin".to_owned(), caption: String::new(), bytes: vec![0, 255, 10] };
        let contents = [
            Content::Text("hello".to_owned()),
            Content::Edit { message_id: 7, text: "better".to_owned() },
            Content::Document(file()),
            Content::Voice(file()),
            Content::Reaction { message_id: 7, emoji: "👀".to_owned() },
        ];
        for content in contents {
            queue(&fixture, 1, content.clone()).await;
            let message = next_message(&fixture).await.unwrap();
            assert_eq!(message.content, content);
            fixture.store.write(move |tx| mark_sent(tx, &message, None)).await.unwrap();
        }
        let bytes: Vec<i64> = fixture.column("select count(*) from outbox where content is not null").await;
        assert_eq!(bytes, [0]);
    }
}
