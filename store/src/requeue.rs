//! Requeues a task that has ended, at its old place in the queue.
//!
//! Attempt numbers continue, so a result of an earlier attempt is never taken for a later one; the limit on
//! attempts counts from the requeue. The task replies again, and its old messages leave the chat's history,
//! which is for the model. The events keep everything.

use channel::Chat;
use protocol::event::{Requeued as RequeuedBy, TaskQueued};
use protocol::{EventId, TaskId, now_ms};
use serde::{Deserialize, Serialize};

use super::columns::task_id;
use super::sql::{Connection, params};
use super::{StoreError, conversation, events};

/// The most tasks that one call requeues, so that the writer is never busy for long.
pub const MOST_AT_ONCE: usize = 1000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Requeued {
    Queued,
    Open {
        state: String,
    },
    /// It is done, and `force` was not set.
    Done,
    /// It was stored without a text, so there is nothing to run.
    NothingToRun,
    NoSuchTask,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    Done,
    Dead,
    Cancelled,
    Skipped,
}

/// What `POST /tasks/requeue` takes.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Filter {
    pub state: Ended,
    /// Only those that ended at this time or later, in milliseconds since the epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_ms: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chat_id: Option<String>,
    /// Required for tasks that are done, because they run again; the callers check it.
    #[serde(default)]
    pub force: bool,
}

/// What `POST /tasks/requeue` responds with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequeuedMany {
    /// Oldest first; at most [`MOST_AT_ONCE`].
    pub task_ids: Vec<TaskId>,
    /// Whether more tasks match: call again.
    pub more: bool,
}

/// Requeues a task. A task that is done needs `force`, because it would be done twice.
pub fn task(
    connection: &Connection,
    id: &TaskId,
    force: bool,
    by: &str,
    run: &EventId,
) -> Result<Requeued, StoreError> {
    let sql = "select state, text <> '' from inbox where id = ?1";
    let found = connection.query_optional(sql, [id.as_str()], |row| Ok((row.get::<String>(0)?, row.get(1)?)));
    match found? {
        None => Ok(Requeued::NoSuchTask),
        Some((state, _)) if state == "queued" || state == "in_progress" => Ok(Requeued::Open { state }),
        Some((state, _)) if state == "done" && !force => Ok(Requeued::Done),
        Some((_, false)) => Ok(Requeued::NothingToRun),
        Some((_, true)) => requeue(connection, id, by, run).map(|()| Requeued::Queued),
    }
}

/// Requeues a chat's newest task that died or was skipped, and returns its text.
pub fn newest_in_chat(
    connection: &Connection,
    chat: &Chat,
    by: &str,
    run: &EventId,
) -> Result<Option<String>, StoreError> {
    let sql = "select id, text from inbox
               where channel = ?1 and chat_id = ?2 and state in ('dead', 'skipped') and text <> ''
               order by seq desc limit 1";
    let newest = connection.query_optional(sql, params![chat.channel.as_str(), chat.id], |row| {
        Ok((task_id(row, 0)?, row.get(1)?))
    });
    let Some((id, text)) = newest? else { return Ok(None) };
    requeue(connection, &id, by, run)?;
    Ok(Some(text))
}

/// Requeues all tasks that match and have a text, oldest first.
pub fn matching(
    connection: &Connection,
    filter: &Filter,
    by: &str,
    run: &EventId,
) -> Result<RequeuedMany, StoreError> {
    // The state is part of the query's text, because SQLite uses a partial index only then.
    let sql = format!(
        "select id from inbox where state = '{}' and text <> '' and finished_at_ms >= ?1
             and (?2 is null or chat_id = ?2)
         order by seq limit ?3",
        filter.state.as_str()
    );
    let limit = i64::try_from(MOST_AT_ONCE + 1).unwrap_or(i64::MAX);
    let since = filter.since_ms.unwrap_or(i64::MIN);
    let mut task_ids =
        connection.query_all(&sql, params![since, filter.chat_id, limit], |row| task_id(row, 0))?;
    let more = task_ids.len() > MOST_AT_ONCE;
    task_ids.truncate(MOST_AT_ONCE);
    task_ids.iter().try_for_each(|task| requeue(connection, task, by, run))?;
    Ok(RequeuedMany { task_ids, more })
}

impl Ended {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Dead => "dead",
            Self::Cancelled => "cancelled",
            Self::Skipped => "skipped",
        }
    }
}

fn requeue(connection: &Connection, id: &TaskId, by: &str, run: &EventId) -> Result<(), StoreError> {
    let sql = "update inbox
               set state = 'queued', steps_aside = 0, attempt_base = attempt, requeues = requeues + 1,
                   cancel_requested_by = null, failing_since_ms = null,
                   available_at_ms = ?2, updated_at_ms = ?2, finished_at_ms = null
               where id = ?1 and state in ('done', 'dead', 'cancelled', 'skipped')
               returning channel, chat_id, text, requeues, attempt";
    let queued = connection.query_row(sql, params![id.as_str(), now_ms()], |row| {
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
    conversation::forget(connection, id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attempt::Ending;
    use crate::claim::Claimed;
    use crate::fixture::{TestDatabase, dead, done, incoming, test_chat};
    use crate::inbox::{status, store_skipped};

    fn ended(database: &TestDatabase, ending: Ending) -> Claimed {
        database.enqueue(test_chat(1), "hello");
        let task = database.claim();
        assert!(database.end(&task, ending));
        task
    }

    fn requeue_task(database: &TestDatabase, id: &TaskId, force: bool) -> Requeued {
        task(database, id, force, "control", &database.run).unwrap()
    }

    #[test]
    fn a_dead_task_is_tried_anew_and_answers_once_more() {
        let database = TestDatabase::new();
        let first = ended(&database, dead());
        assert_eq!(requeue_task(&database, &first.id, false), Requeued::Queued);
        assert_eq!(requeue_task(&database, &first.id, false), Requeued::Open { state: "queued".to_owned() });
        let again = database.claim();
        assert_eq!((again.attempt, again.tries), (2, 1));
        assert!(!database.end(&first, done("stale")), "a result of an earlier attempt is not taken");
        assert!(database.end(&again, done("now it works")));
        let replies = database.texts("select text from outbox order by seq");
        assert_eq!(replies, ["I could not do it.", "now it works"]);
        assert_eq!(database.texts("select text from history order by seq"), ["hello", "now it works"]);
        let status = status(&database, &first.id).unwrap().unwrap();
        assert_eq!(status.reply.as_deref(), Some("now it works"));
    }

    #[test]
    fn a_message_without_text_cannot_be_run() {
        let database = TestDatabase::new();
        let skipped = store_skipped(&database, &incoming(test_chat(1), ""), "a sticker", &database.run);
        assert_eq!(requeue_task(&database, &skipped.unwrap().unwrap(), true), Requeued::NothingToRun);
    }

    #[test]
    fn of_a_chat_the_newest_one_that_failed_or_was_skipped_is_requeued() {
        let database = TestDatabase::new();
        ended(&database, dead());
        store_skipped(&database, &incoming(test_chat(1), "skipped"), "too old", &database.run).unwrap();
        store_skipped(&database, &incoming(test_chat(1), ""), "a command", &database.run).unwrap();
        store_skipped(&database, &incoming(test_chat(2), "another chat's"), "too old", &database.run)
            .unwrap();
        for expected in [Some("skipped"), Some("hello"), None] {
            let newest = newest_in_chat(&database, &test_chat(1), "test", &database.run).unwrap();
            assert_eq!(newest.as_deref(), expected);
        }
    }

    #[test]
    fn many_are_requeued_by_state_time_and_chat() {
        let database = TestDatabase::new();
        for ending in [dead(), dead(), done("ok")] {
            ended(&database, ending);
        }
        for (since_ms, chat_id, expected) in
            [(Some(now_ms() + 60_000), None, 0), (None, Some("2"), 0), (None, Some("1"), 2), (None, None, 0)]
        {
            let chat_id = chat_id.map(str::to_owned);
            let filter = Filter { state: Ended::Dead, since_ms, chat_id, force: false };
            let many = matching(&database, &filter, "control", &database.run).unwrap();
            assert_eq!(many.task_ids.len(), expected, "{filter:?}");
        }
        let reasons = database.texts(
            "select payload ->> 'reason' from events
             where type = 'task.queued' and payload ->> 'by' = 'control'",
        );
        assert_eq!(reasons, ["requeued", "requeued"]);
    }

    #[test]
    fn one_call_requeues_a_bounded_number_and_reports_that_more_are_left() {
        let database = TestDatabase::new();
        for _ in 0..=MOST_AT_ONCE {
            store_skipped(&database, &incoming(test_chat(1), "hello"), "too old", &database.run).unwrap();
        }
        let filter = Filter { state: Ended::Skipped, since_ms: None, chat_id: None, force: false };
        let many = matching(&database, &filter, "control", &database.run).unwrap();
        assert_eq!((many.task_ids.len(), many.more), (MOST_AT_ONCE, true));
    }
}
