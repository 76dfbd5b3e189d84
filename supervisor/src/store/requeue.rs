//! Putting a task that has ended back into the queue, at its old place.
//!
//! Its attempts are numbered on, so no result of an earlier attempt can ever be taken for one of a later;
//! the bound on attempts counts from here. It answers once more, and what was said about it before leaves
//! the chat's history, which is for the model; the events keep everything.

use protocol::event::{Requeued as RequeuedBy, TaskQueued};
use protocol::{EventId, TaskId, now_ms};
use rusqlite::{Connection, OptionalExtension, params};
use serde::{Deserialize, Serialize};

use super::columns::task_id;
use super::{StoreError, events, history};

/// One call puts back at most this many tasks, so that the one writer is never busy for long.
pub const MOST_AT_ONCE: usize = 1000;

/// What became of a wish to put a task back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Requeued {
    /// It waits in the queue again.
    Queued,
    /// It has not ended.
    Open {
        /// How it is.
        state: String,
    },
    /// It is done, and doing it again was not asked for.
    Done,
    /// Its row was kept without a text: there is nothing to run.
    NothingToRun,
    /// There is no such task.
    NoSuchTask,
}

/// A state in which tasks end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// With an answer.
    Done,
    /// With its last attempt.
    Dead,
    /// By a person.
    Cancelled,
    /// Without having been run.
    Skipped,
}

/// Which tasks to put back.
#[derive(Debug, Clone)]
pub struct Filter {
    /// How they ended.
    pub state: Ended,
    /// Only those that ended at this time or later, in milliseconds since the epoch.
    pub since_ms: Option<i64>,
    /// Only those of this chat.
    pub chat_id: Option<String>,
}

/// The tasks that were put back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Many {
    /// These, oldest first.
    pub tasks: Vec<TaskId>,
    /// Whether more of them are left.
    pub more: bool,
}

/// Puts one task back. A task that is done is put back only by `force`: it would be done twice.
pub fn task(
    connection: &Connection,
    id: &TaskId,
    force: bool,
    by: &str,
    run: &EventId,
) -> Result<Requeued, StoreError> {
    let sql = "select state, text <> '' from inbox where id = ?1";
    let found = connection
        .prepare_cached(sql)?
        .query_row([id.as_str()], |row| Ok((row.get::<_, String>(0)?, row.get(1)?)));
    match found.optional()? {
        None => Ok(Requeued::NoSuchTask),
        Some((state, _)) if state == "queued" || state == "in_progress" => Ok(Requeued::Open { state }),
        Some((state, _)) if state == "done" && !force => Ok(Requeued::Done),
        Some((_, false)) => Ok(Requeued::NothingToRun),
        Some((_, true)) => put_back(connection, id, by, run).map(|()| Requeued::Queued),
    }
}

/// Puts back all tasks that match and have something to run, the oldest first.
pub fn matching(
    connection: &Connection,
    filter: &Filter,
    by: &str,
    run: &EventId,
) -> Result<Many, StoreError> {
    // The state stands in the text of the query, because only so its own index can be used.
    let sql = format!(
        "select id from inbox where state = '{}' and text <> '' and finished_at_ms >= ?1
             and (?2 is null or chat_id = ?2)
         order by seq limit ?3",
        filter.state.as_str()
    );
    let mut query = connection.prepare_cached(&sql)?;
    let limit = i64::try_from(MOST_AT_ONCE + 1).unwrap_or(i64::MAX);
    let since = filter.since_ms.unwrap_or(i64::MIN);
    let rows = query.query_map(params![since, filter.chat_id, limit], |row| task_id(row, 0))?;
    let mut tasks = rows.collect::<Result<Vec<_>, _>>()?;
    let more = tasks.len() > MOST_AT_ONCE;
    tasks.truncate(MOST_AT_ONCE);
    tasks.iter().try_for_each(|task| put_back(connection, task, by, run))?;
    Ok(Many { tasks, more })
}

impl Ended {
    /// The state as it stands in the table.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Dead => "dead",
            Self::Cancelled => "cancelled",
            Self::Skipped => "skipped",
        }
    }
}

fn put_back(connection: &Connection, id: &TaskId, by: &str, run: &EventId) -> Result<(), StoreError> {
    let sql = "update inbox
               set state = 'queued', attempt_base = attempt, requeues = requeues + 1, cancel_requested_by = null,
                   available_at_ms = ?2, updated_at_ms = ?2, finished_at_ms = null
               where id = ?1 and state in ('done', 'dead', 'cancelled', 'skipped')
               returning channel, chat_id, text, requeues, attempt";
    let queued = connection.prepare_cached(sql)?.query_row(params![id.as_str(), now_ms()], |row| {
        let requeued = RequeuedBy {
            reason: "requeued".to_owned(),
            by: by.to_owned(),
            requeues: row.get(3)?,
            attempt: row.get(4)?,
        };
        let (channel, chat_id, text) = (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok(TaskQueued { channel, chat_id, text, message_id: None, requeued: Some(requeued) })
    })?;
    events::record(connection, queued, Some(run), id)?;
    history::forget(connection, id)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::store::attempt::{self, Ending};
    use crate::store::claim::{self, Claim, Claimed};
    use crate::store::fixture::{Fixture, channels, test_chat};
    use crate::store::inbox::{Arrival, enqueue, store_skipped};

    fn arrival(text: &str) -> Arrival {
        Arrival { chat: test_chat(1), update_id: None, message_id: None, text: text.to_owned() }
    }

    async fn claim_one(fixture: &Fixture) -> Claimed {
        let run = fixture.run.clone();
        match fixture.store.write(move |tx| claim::claim(tx, Duration::from_secs(60), &run)).await.unwrap() {
            Claim::Task(task) => *task,
            Claim::Nothing { .. } => panic!("nothing was claimed"),
        }
    }

    async fn end(fixture: &Fixture, task: &Claimed, ending: Ending) -> bool {
        let task = task.clone();
        fixture.store.write(move |tx| attempt::end(tx, &channels(), &task, &ending)).await.unwrap()
    }

    async fn ended(fixture: &Fixture, ending: Ending) -> Claimed {
        let run = fixture.run.clone();
        fixture.store.write(move |tx| enqueue(tx, &arrival("hello"), &run)).await.unwrap();
        let task = claim_one(fixture).await;
        assert!(end(fixture, &task, ending).await);
        task
    }

    fn dead() -> Ending {
        Ending::Dead { error: "no model".to_owned(), reply: "I could not.".to_owned() }
    }

    fn done(reply: &str) -> Ending {
        Ending::Done { reply: reply.to_owned() }
    }

    async fn requeue(fixture: &Fixture, id: &TaskId, force: bool) -> Requeued {
        let (id, run) = (id.clone(), fixture.run.clone());
        fixture.store.write(move |tx| task(tx, &id, force, "control", &run)).await.unwrap()
    }

    #[tokio::test]
    async fn a_dead_task_is_tried_anew_and_answers_once_more() {
        let fixture = Fixture::new().await;
        let first = ended(&fixture, dead()).await;
        assert_eq!(requeue(&fixture, &first.id, false).await, Requeued::Queued);
        assert_eq!(requeue(&fixture, &first.id, false).await, Requeued::Open { state: "queued".to_owned() });
        let again = claim_one(&fixture).await;
        assert_eq!((again.attempt, again.tries), (2, 1));
        assert!(!end(&fixture, &first, done("stale")).await, "a result of before is not taken");
        assert!(end(&fixture, &again, done("now it works")).await);
        let told: Vec<String> = fixture.column("select text from outbox order by seq").await;
        assert_eq!(told, ["I could not.", "now it works"]);
        let said: Vec<String> = fixture.column("select text from history order by seq").await;
        assert_eq!(said, ["hello", "now it works"]);
        let id = first.id.clone();
        let status =
            fixture.store.write(move |tx| crate::store::inbox::status(tx, &id)).await.unwrap().unwrap();
        assert_eq!(status.reply.as_deref(), Some("now it works"));
    }

    #[tokio::test]
    async fn a_done_task_is_put_back_only_by_force() {
        let fixture = Fixture::new().await;
        let task = ended(&fixture, done("ok")).await;
        assert_eq!(requeue(&fixture, &task.id, false).await, Requeued::Done);
        assert_eq!(requeue(&fixture, &task.id, true).await, Requeued::Queued);
        assert_eq!(requeue(&fixture, &TaskId::new(), true).await, Requeued::NoSuchTask);
    }

    #[tokio::test]
    async fn a_message_that_was_kept_without_its_text_can_not_be_run() {
        let fixture = Fixture::new().await;
        let run = fixture.run.clone();
        let skipped =
            fixture.store.write(move |tx| store_skipped(tx, &arrival(""), "a sticker", &run)).await.unwrap();
        assert_eq!(requeue(&fixture, &skipped.unwrap(), true).await, Requeued::NothingToRun);
    }

    async fn requeue_many(fixture: &Fixture, filter: Filter) -> usize {
        let run = fixture.run.clone();
        let many = fixture.store.write(move |tx| matching(tx, &filter, "control", &run)).await.unwrap();
        many.tasks.len()
    }

    #[tokio::test]
    async fn many_are_put_back_by_state_time_and_chat() {
        let fixture = Fixture::new().await;
        ended(&fixture, dead()).await;
        ended(&fixture, dead()).await;
        ended(&fixture, done("ok")).await;
        let filter = Filter { state: Ended::Dead, since_ms: None, chat_id: None };
        let later = Filter { since_ms: Some(now_ms() + 60_000), ..filter.clone() };
        assert_eq!(requeue_many(&fixture, later).await, 0);
        assert_eq!(
            requeue_many(&fixture, Filter { chat_id: Some("2".to_owned()), ..filter.clone() }).await,
            0
        );
        assert_eq!(
            requeue_many(&fixture, Filter { chat_id: Some("1".to_owned()), ..filter.clone() }).await,
            2
        );
        assert_eq!(requeue_many(&fixture, filter).await, 0);
        let reasons: Vec<String> =
            fixture.column("select payload ->> 'reason' from events where type = 'task.queued' and payload ->> 'by' = 'control'").await;
        assert_eq!(reasons, ["requeued", "requeued"]);
    }

    #[tokio::test]
    async fn one_call_puts_back_a_bounded_number_and_says_that_more_are_left() {
        let fixture = Fixture::new().await;
        let run = fixture.run.clone();
        let many = fixture.store.write(move |tx| {
            for _ in 0..=MOST_AT_ONCE {
                store_skipped(tx, &arrival("hello"), "too old", &run)?;
            }
            matching(tx, &Filter { state: Ended::Skipped, since_ms: None, chat_id: None }, "control", &run)
        });
        let many = many.await.unwrap();
        assert_eq!((many.tasks.len(), many.more), (MOST_AT_ONCE, true));
    }
}
