//! Ends an attempt at a task: state, reply, history and events in the caller's transaction.
//!
//! The attempt's number fences off stale results: one that comes too late matches no row.

use std::time::Duration;

use channel::Channels;
use protocol::event::{
    AttemptFailed, RetryScheduled, TaskCancelled, TaskClaimed, TaskDead, TaskDone, TaskParked,
};
use protocol::{EventBody, EventId, Parked, ReplyFormat, millis, now_ms};

use super::claim::{Claimed, after};
use super::outbox::Reply;
use super::sql::{Connection, params};
use super::{StoreError, additions, approvals, cancel, conversation, events, outbox, parked};

/// What happens to a task after an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// It is done.
    Done {
        /// The reply to the user.
        reply: String,
        /// How it is written.
        format: ReplyFormat,
    },
    /// It was cancelled.
    Cancelled {
        /// The reply to the user.
        reply: String,
    },
    /// It is retried.
    Retry {
        /// Why this attempt failed.
        error: String,
        /// The pause before the next attempt.
        after: Duration,
    },
    /// It waits for a person and continues with this.
    Parked(Box<Parked>),
    /// It failed for good.
    Dead {
        /// Why this attempt failed.
        error: String,
        /// The reply to the user.
        reply: String,
    },
}

/// Ends an attempt. Returns false and changes nothing if another attempt has the task by now.
pub fn end(
    connection: &Connection,
    channels: &Channels,
    task: &Claimed,
    ending: &Ending,
) -> Result<bool, StoreError> {
    let claimed = events::newest_of::<TaskClaimed>(connection, &task.id)?;
    let cancelled_by = cancel::requested_by(connection, &task.id, task.attempt)?;
    let ending = &match &cancelled_by {
        Some(_) => as_cancelled(connection, task, ending)?,
        None => ending.clone(),
    };
    if !leave_progress(connection, task, ending)? {
        return Ok(false);
    }
    record(connection, task, ending, cancelled_by, claimed.as_ref())?;
    if let Some((reply, format)) = ending.reply() {
        approvals::withdraw(connection, &task.id)?;
        let asked = additions::asked(connection, &task.id, &task.text)?;
        conversation::keep(connection, &task.chat, &task.id, &asked, reply)?;
        let reply = Reply { task: &task.id, chat: &task.chat, text: reply, format };
        outbox::queue_reply(connection, channels, &reply, claimed.as_ref())?;
    }
    Ok(true)
}

impl Ending {
    /// The reply to the user, if there is one: a model's answer, or our own words.
    fn reply(&self) -> Option<(&str, ReplyFormat)> {
        match self {
            Self::Done { reply, format } => Some((reply, *format)),
            Self::Cancelled { reply } | Self::Dead { reply, .. } => Some((reply, ReplyFormat::Plain)),
            Self::Retry { .. } | Self::Parked(_) => None,
        }
    }
}

/// An attempt's end after a cancel request: a reply stands; what would be retried or given up is cancelled.
fn as_cancelled(connection: &Connection, task: &Claimed, ending: &Ending) -> Result<Ending, StoreError> {
    match ending {
        Ending::Done { .. } | Ending::Cancelled { .. } => Ok(ending.clone()),
        Ending::Retry { .. } | Ending::Dead { .. } | Ending::Parked(_) => {
            Ok(Ending::Cancelled { reply: cancel::reply_for(connection, &task.id, &task.chat)? })
        }
    }
}

fn leave_progress(connection: &Connection, task: &Claimed, ending: &Ending) -> Result<bool, StoreError> {
    let now = now_ms();
    let parked_until = match ending {
        Ending::Parked(turn) if is_running(connection, task)? => parked::keep(connection, &task.id, turn)?,
        _ => now,
    };
    let (state, error, available_at, finished_at) = match ending {
        Ending::Done { .. } => ("done", None, now, Some(now)),
        Ending::Cancelled { .. } => ("cancelled", None, now, Some(now)),
        Ending::Retry { error, after: pause } => ("queued", Some(error), after(now, *pause), None),
        Ending::Parked(_) => ("queued", None, parked_until, None),
        Ending::Dead { error, .. } => ("dead", Some(error), now, Some(now)),
    };
    let is_no_try = matches!(ending, Ending::Parked(_));
    // What a shutdown interrupted runs again at once, and has not failed.
    let fails = matches!(ending, Ending::Retry { after: pause, .. } if !pause.is_zero());
    let sql = "update inbox
               set state = ?3, error = ?4, available_at_ms = ?5, finished_at_ms = ?6, lease_until_ms = null,
                   updated_at_ms = ?7, attempt_base = attempt_base + ?8,
                   failing_since_ms = case when ?9 = 1 then coalesce(failing_since_ms, ?7) end
               where id = ?1 and attempt = ?2 and state = 'in_progress'";
    let values = params![
        task.id.as_str(),
        task.attempt,
        state,
        error,
        available_at,
        finished_at,
        now,
        is_no_try,
        fails
    ];
    let changed = connection.execute(sql, values)?;
    Ok(changed == 1)
}

fn is_running(connection: &Connection, task: &Claimed) -> Result<bool, StoreError> {
    let sql = "select exists (select 1 from inbox where id = ?1 and attempt = ?2 and state = 'in_progress')";
    Ok(connection.query_row(sql, params![task.id.as_str(), task.attempt], |row| row.get(0))?)
}

fn record(
    connection: &Connection,
    task: &Claimed,
    ending: &Ending,
    cancelled_by: Option<String>,
    claimed: Option<&EventId>,
) -> Result<(), StoreError> {
    let attempt = task.attempt;
    let body: EventBody = match ending {
        Ending::Done { .. } => TaskDone { attempt }.into(),
        Ending::Cancelled { .. } => TaskCancelled { attempt: Some(attempt), by: cancelled_by }.into(),
        Ending::Retry { error, after } => {
            let failed = AttemptFailed { attempt, error: error.clone() };
            RetryScheduled::Attempt { failed, delay_ms: millis(*after) }.into()
        }
        Ending::Parked(parked) => {
            let approval_ids = parked.awaited().map(|(id, _)| id.clone()).collect();
            TaskParked { attempt, approval_ids }.into()
        }
        Ending::Dead { error, .. } => TaskDead { attempt, error: error.clone() }.into(),
    };
    events::record(connection, body, claimed, &task.id)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Store;
    use crate::fixture::{TestDatabase, channels, dead, done, local_chat, retry, test_chat};

    #[test]
    fn a_done_task_has_a_reply_a_history_and_events() {
        let (database, task) = TestDatabase::with_claimed(test_chat(1));
        assert!(database.end(&task, done("answer")));
        let history = database.texts("select role || ' ' || text from history order by seq");
        assert_eq!(history, ["user hello", "assistant answer"]);
        assert_eq!(database.texts("select state || ' ' || text from outbox"), ["queued answer"]);
        let types = database.texts("select type from events where task_id is not null order by seq");
        assert_eq!(types, ["task.queued", "task.claimed", "task.done", "reply.queued"]);
    }

    #[test]
    fn a_stale_worker_never_finishes_another_attempt_of_the_task() {
        let (database, first) = TestDatabase::with_claimed(test_chat(1));
        assert!(database.end(&first, retry(0)));
        let second = database.claim();
        assert_eq!(second.attempt, 2);
        assert!(!database.end(&first, done("late")));
        assert!(database.end(&second, done("in time")));
        assert!(!database.end(&second, done("twice")));
        assert_eq!(database.texts("select text from outbox"), ["in time"]);
    }

    #[test]
    fn a_dead_task_tells_the_user_once() {
        let (database, task) = TestDatabase::with_claimed(test_chat(1));
        assert!(database.end(&task, dead()));
        assert_eq!(database.texts("select text from outbox"), ["I could not do it."]);
        let audit = database.texts("select message from task_audit where phase = 'failed'");
        assert_eq!(audit, ["task.dead: no model"]);
    }

    #[tokio::test]
    async fn a_reply_that_cannot_be_stored_leaves_the_task_in_progress() {
        let (database, task) = TestDatabase::with_claimed(local_chat());
        let store = Store::open(database.location()).unwrap();
        let refused = store.write(move |tx| {
            let first = end(tx, &channels(), &task, &done("answer"))?;
            tx.execute("insert into kv (key, value) values ('a', null)", [])?;
            Ok(first)
        });
        assert!(refused.await.is_err());
        assert_eq!(database.texts("select state from inbox"), ["in_progress"]);
        assert_eq!(database.column::<i64>("select count(*) from outbox"), [0]);
    }
}
