//! What arrives: each message becomes one row, whether it is run or not.

use protocol::event::{TaskQueued, TaskSkipped};
use protocol::{EventId, TaskId, now_ms};
use rusqlite::{Connection, OptionalExtension, params};

use super::{StoreError, events, outbox};
use crate::channel::Chat;

/// A message that arrived.
#[derive(Debug, Clone)]
pub struct Arrival {
    /// Where it came from.
    pub chat: Chat,
    /// The number that the channel gave to the update.
    pub update_id: Option<i64>,
    /// The message's number in its chat.
    pub message_id: Option<i64>,
    /// What it says.
    pub text: String,
}

/// How a task is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// Its state, as it stands in the table.
    pub state: String,
    /// Whether that is its last state.
    pub ended: bool,
    /// What its user was told.
    pub reply: Option<String>,
}

/// Stores a message as a task. None when it was stored before: an update that comes again is ignored.
pub fn enqueue(
    connection: &Connection,
    arrival: &Arrival,
    run: &EventId,
) -> Result<Option<TaskId>, StoreError> {
    let Some(task) = insert(connection, arrival, "queued", None)? else { return Ok(None) };
    let queued = TaskQueued {
        channel: arrival.chat.channel.as_str().to_owned(),
        chat_id: arrival.chat.id.clone(),
        text: arrival.text.clone(),
        message_id: arrival.message_id,
        requeued: None,
    };
    events::record(connection, queued, Some(run), &task)?;
    Ok(Some(task))
}

/// Stores a message that is deliberately not run, with the reason. None when it was stored before.
pub fn store_skipped(
    connection: &Connection,
    arrival: &Arrival,
    reason: &str,
    run: &EventId,
) -> Result<Option<TaskId>, StoreError> {
    let Some(task) = insert(connection, arrival, "skipped", Some(reason))? else { return Ok(None) };
    let skipped = TaskSkipped {
        channel: Some(arrival.chat.channel.as_str().to_owned()),
        chat_id: Some(arrival.chat.id.clone()),
        reason: reason.to_owned(),
    };
    events::record(connection, skipped, Some(run), &task)?;
    Ok(Some(task))
}

/// How a task is: its state, and what its user was told, once it has ended.
pub fn status(connection: &Connection, task: &TaskId) -> Result<Option<Status>, StoreError> {
    let mut query =
        connection.prepare_cached("select state, finished_at_ms is not null from inbox where id = ?1")?;
    let found = query.query_row([task.as_str()], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    let Some((state, ended)) = found else { return Ok(None) };
    let reply = if ended { outbox::reply_of(connection, task)? } else { None };
    Ok(Some(Status { state, ended, reply }))
}

fn insert(
    connection: &Connection,
    arrival: &Arrival,
    state: &str,
    error: Option<&str>,
) -> Result<Option<TaskId>, StoreError> {
    let (task, now) = (TaskId::new(), now_ms());
    let ended = (state == "skipped").then_some(now);
    let sql = "insert into inbox (id, channel, chat_id, update_id, text, state, error, available_at_ms,
                                  created_at_ms, updated_at_ms, finished_at_ms, message_id)
               values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8, ?8, ?9, ?10)
               on conflict (channel, update_id) where update_id is not null do nothing";
    let added = connection.prepare_cached(sql)?.execute(params![
        task.as_str(),
        arrival.chat.channel.as_str(),
        arrival.chat.id,
        arrival.update_id,
        arrival.text,
        state,
        error,
        now,
        ended,
        arrival.message_id,
    ])?;
    Ok((added == 1).then_some(task))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::fixture::{Fixture, test_chat};

    fn arrival(chat: &str, update_id: Option<i64>) -> Arrival {
        Arrival { chat: test_chat(chat), update_id, message_id: None, text: format!("from {chat}") }
    }

    async fn enqueue_one(fixture: &Fixture, arrival: Arrival) -> Option<TaskId> {
        let run = fixture.run.clone();
        fixture.store.write(move |tx| enqueue(tx, &arrival, &run)).await.unwrap()
    }

    #[tokio::test]
    async fn a_repeated_update_is_ignored() {
        let fixture = Fixture::new().await;
        assert!(enqueue_one(&fixture, arrival("1", Some(7))).await.is_some());
        assert!(enqueue_one(&fixture, arrival("1", Some(7))).await.is_none());
        let queued: Vec<i64> = fixture.column("select count(*) from events where type = 'task.queued'").await;
        assert_eq!(queued, [1]);
    }

    #[tokio::test]
    async fn a_skipped_message_is_kept_with_its_reason_and_never_run() {
        let fixture = Fixture::new().await;
        let run = fixture.run.clone();
        let stored =
            fixture.store.write(move |tx| store_skipped(tx, &arrival("1", Some(1)), "too old", &run));
        assert!(stored.await.unwrap().is_some());
        let reasons: Vec<String> = fixture.column("select error from inbox where state = 'skipped'").await;
        assert_eq!(reasons, ["too old"]);
    }

    async fn refuses(fixture: &Fixture, statements: &[&'static str]) {
        for sql in statements.iter().copied() {
            let stored = fixture.store.write(move |tx| Ok(tx.execute(sql, [])?)).await;
            assert!(stored.is_err(), "{sql}");
        }
    }

    #[tokio::test]
    async fn a_state_that_makes_no_sense_can_not_be_stored() {
        let fixture = Fixture::new().await;
        enqueue_one(&fixture, arrival("1", None)).await;
        let statements = [
            "update inbox set state = 'lost'",
            "update inbox set state = 'in_progress'",
            "update inbox set state = 'in_progress', attempt = 1",
            "update inbox set state = 'done', finished_at_ms = 1",
            "update inbox set state = 'dead', finished_at_ms = 1",
            "update inbox set cancel_requested_by = 'control'",
            "update inbox set attempt_base = 1",
        ];
        refuses(&fixture, &statements).await;
    }

    #[tokio::test]
    async fn a_task_can_go_only_its_ways() {
        let fixture = Fixture::new().await;
        enqueue_one(&fixture, arrival("1", None)).await;
        let from_queued = [
            "update inbox set state = 'in_progress', lease_until_ms = 1, attempt = 2",
            "update inbox set state = 'done', finished_at_ms = 1, attempt = 1",
            "update inbox set state = 'dead', finished_at_ms = 1, error = 'e'",
            "update inbox set attempt = 1",
            "update inbox set requeues = 1",
        ];
        refuses(&fixture, &from_queued).await;
        let run = "update inbox set state = 'in_progress', lease_until_ms = 1, attempt = attempt + 1";
        fixture.store.write(move |tx| Ok(tx.execute(run, [])?)).await.unwrap();
        let from_running = [
            "update inbox set state = 'skipped', lease_until_ms = null, finished_at_ms = 1, error = 'e'",
            "update inbox set state = 'queued', lease_until_ms = null, attempt = 0",
            "update inbox set attempt = 2",
        ];
        refuses(&fixture, &from_running).await;
        let end = "update inbox set state = 'dead', lease_until_ms = null, finished_at_ms = 1, error = 'e'";
        fixture.store.write(move |tx| Ok(tx.execute(end, [])?)).await.unwrap();
        let from_dead = [
            "update inbox set state = 'queued', finished_at_ms = null",
            "update inbox set state = 'queued', finished_at_ms = null, requeues = 1",
            "update inbox set state = 'queued', finished_at_ms = null, requeues = 1, attempt = 0",
            "update inbox set state = 'queued', finished_at_ms = null, requeues = 2, attempt_base = 1",
            "update inbox set state = 'done'",
            "update inbox set state = 'cancelled'",
        ];
        refuses(&fixture, &from_dead).await;
    }
}
