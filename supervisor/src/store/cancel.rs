//! Cancelling: a task that waits is cancelled here and now; for one that runs it is noted who asked, and
//! its attempt ends as soon as the worker has stopped.
//!
//! The note lies in the task's row, so it holds whatever is killed in between: an attempt that was to be
//! cancelled is never tried again.

use protocol::event::{TaskCancelled, TaskQueued};
use protocol::{PastCall, PastCallStatus, TaskId, now_ms};
use rusqlite::{Connection, OptionalExtension, params};

use super::columns::{chat, task_id};
use super::{StoreError, events, history, outbox, prior_context};
use crate::channel::{Channels, Chat};

/// So many calls are named in a reply; the event tree has all of them.
const CALLS_TOLD: usize = 10;

/// What became of a wish to cancel a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cancellation {
    /// It had not begun, or waited for another attempt, and is cancelled.
    Cancelled,
    /// It runs, and is to be stopped.
    Asked,
    /// It has ended already.
    Ended {
        /// How.
        state: String,
    },
    /// There is no such task.
    NoSuchTask,
}

/// What was cancelled in a chat.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct InChat {
    /// Whether a running task is to be stopped.
    pub running: bool,
    /// How many tasks that waited are cancelled.
    pub queued: usize,
}

/// A task that has not ended.
struct Open {
    id: TaskId,
    chat: Chat,
    text: String,
    runs: bool,
}

/// Cancels a task. Whoever asked in its chat is told once: now if it waits, and when it has stopped if it
/// runs.
pub fn task(
    connection: &Connection,
    channels: &Channels,
    id: &TaskId,
    by: &str,
) -> Result<Cancellation, StoreError> {
    let sql = "select id, channel, chat_id, text, state from inbox where id = ?1";
    let found = connection.prepare_cached(sql)?.query_row([id.as_str()], |row| Ok((open(row)?, row.get(4)?)));
    let Some((task, state)) = found.optional()? else { return Ok(Cancellation::NoSuchTask) };
    let state: String = state;
    match state.as_str() {
        "queued" => {
            let reply = cancel_waiting(connection, &task, by)?;
            let cancelled = events::newest_of::<TaskCancelled>(connection, &task.id)?;
            outbox::queue_reply(connection, channels, &task.id, &task.chat, &reply, cancelled.as_ref())?;
            Ok(Cancellation::Cancelled)
        }
        "in_progress" => ask(connection, &task, by).map(|()| Cancellation::Asked),
        _ => Ok(Cancellation::Ended { state }),
    }
}

/// Cancels what runs in a chat, or else the newest that waits there; with `all`, both and everything. The
/// caller tells the chat.
pub fn in_chat(connection: &Connection, chat: &Chat, all: bool, by: &str) -> Result<InChat, StoreError> {
    let open = open_in(connection, chat)?;
    let runs = open.iter().any(|task| task.runs);
    let mut done = InChat::default();
    for task in open {
        if task.runs {
            ask(connection, &task, by)?;
            done.running = true;
        } else if all || (!runs && done.queued == 0) {
            cancel_waiting(connection, &task, by)?;
            done.queued += 1;
        }
    }
    Ok(done)
}

/// Who asked to cancel this attempt, if anybody did.
pub fn requested_by(
    connection: &Connection,
    task: &TaskId,
    attempt: u32,
) -> Result<Option<String>, StoreError> {
    let sql =
        "select cancel_requested_by from inbox where id = ?1 and attempt = ?2 and state = 'in_progress'";
    let by = connection.prepare_cached(sql)?.query_row(params![task.as_str(), attempt], |row| row.get(0));
    Ok(by.optional()?.flatten())
}

/// What is said about a cancelled task when its worker can not say it.
pub fn told(connection: &Connection, task: &TaskId) -> Result<String, StoreError> {
    Ok(in_words(&prior_context::trace(connection, task)?))
}

fn open(row: &rusqlite::Row<'_>) -> rusqlite::Result<Open> {
    let state: String = row.get(4)?;
    Ok(Open { id: task_id(row, 0)?, chat: chat(row, 1)?, text: row.get(3)?, runs: state == "in_progress" })
}

/// The open tasks of a chat, newest first.
fn open_in(connection: &Connection, chat: &Chat) -> Result<Vec<Open>, StoreError> {
    let sql = "select id, channel, chat_id, text, state from inbox
               where channel = ?1 and chat_id = ?2 and state in ('queued', 'in_progress') order by seq desc";
    let mut query = connection.prepare_cached(sql)?;
    let rows = query.query_map(params![chat.channel.as_str(), chat.id], open)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn ask(connection: &Connection, task: &Open, by: &str) -> Result<(), StoreError> {
    let sql = "update inbox set cancel_requested_by = ?2
               where id = ?1 and state = 'in_progress' and cancel_requested_by is null";
    connection.prepare_cached(sql)?.execute(params![task.id.as_str(), by])?;
    Ok(())
}

/// Ends a task that waits, and returns what is to be said about it.
fn cancel_waiting(connection: &Connection, task: &Open, by: &str) -> Result<String, StoreError> {
    let reply = told(connection, &task.id)?;
    let sql = "update inbox set state = 'cancelled', finished_at_ms = ?2, updated_at_ms = ?2
               where id = ?1 and state = 'queued'";
    connection.prepare_cached(sql)?.execute(params![task.id.as_str(), now_ms()])?;
    let queued = events::newest_of::<TaskQueued>(connection, &task.id)?;
    let cancelled = TaskCancelled { attempt: None, by: Some(by.to_owned()) };
    events::record(connection, cancelled, queued.as_ref(), &task.id)?;
    history::keep(connection, &task.chat, &task.id, &task.text, &reply)?;
    Ok(reply)
}

fn in_words(calls: &[PastCall]) -> String {
    if calls.is_empty() {
        return "This was cancelled before anything was done.".to_owned();
    }
    let named: Vec<String> = calls
        .iter()
        .rev()
        .take(CALLS_TOLD)
        .rev()
        .map(|call| {
            let end = match call.status {
                PastCallStatus::Done => "done",
                PastCallStatus::Failed => "failed",
                PastCallStatus::Interrupted => "interrupted",
            };
            format!("{} ({end})", call.tool_name)
        })
        .collect();
    let last = if calls.len() > CALLS_TOLD { format!("the last {CALLS_TOLD}") } else { "all".to_owned() };
    format!("This was cancelled. Until then it had called tools, {last} of them: {}.", named.join(", "))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use protocol::Event;

    use super::*;
    use crate::store::attempt::{self, Ending};
    use crate::store::claim::{self, Claim, Claimed};
    use crate::store::fixture::{Fixture, call_started, channels, test_chat};
    use crate::store::inbox::{Arrival, enqueue};

    async fn add(fixture: &Fixture, chat: Chat) -> TaskId {
        let run = fixture.run.clone();
        let arrival = Arrival { chat, update_id: None, message_id: None, text: "hello".to_owned() };
        fixture.store.write(move |tx| enqueue(tx, &arrival, &run)).await.unwrap().unwrap()
    }

    async fn claim_one(fixture: &Fixture) -> Claimed {
        let run = fixture.run.clone();
        match fixture.store.write(move |tx| claim::claim(tx, Duration::from_secs(60), &run)).await.unwrap() {
            Claim::Task(task) => *task,
            Claim::Nothing { .. } => panic!("nothing was claimed"),
        }
    }

    async fn cancel(fixture: &Fixture, id: &TaskId) -> Cancellation {
        let id = id.clone();
        fixture.store.write(move |tx| task(tx, &channels(), &id, "control")).await.unwrap()
    }

    #[tokio::test]
    async fn a_task_that_waits_is_cancelled_at_once_and_its_user_is_told_once() {
        let fixture = Fixture::new().await;
        let id = add(&fixture, test_chat(1)).await;
        assert_eq!(cancel(&fixture, &id).await, Cancellation::Cancelled);
        assert_eq!(cancel(&fixture, &id).await, Cancellation::Ended { state: "cancelled".to_owned() });
        let told: Vec<String> = fixture.column("select text from outbox").await;
        assert_eq!(told, ["This was cancelled before anything was done."]);
        let types: Vec<String> = fixture.column("select type from events where task_id is not null").await;
        assert_eq!(types, ["task.queued", "task.cancelled", "reply.queued"]);
    }

    #[tokio::test]
    async fn an_attempt_that_was_to_be_cancelled_is_never_tried_again() {
        let fixture = Fixture::new().await;
        let id = add(&fixture, test_chat(1)).await;
        let running = claim_one(&fixture).await;
        for _ in 0..2 {
            assert_eq!(cancel(&fixture, &id).await, Cancellation::Asked);
        }
        let started = Event::now(call_started("bash", ""), None, Some(&id));
        let ended = fixture.store.write(move |tx| {
            events::append(tx, &started)?;
            let retry = Ending::Retry { error: "killed".to_owned(), after: Duration::ZERO };
            attempt::end(tx, &channels(), &running, &retry)
        });
        assert!(ended.await.unwrap());
        let states: Vec<String> = fixture.column("select state from inbox").await;
        assert_eq!(states, ["cancelled"]);
        let told: Vec<String> = fixture.column("select text from outbox").await;
        assert_eq!(
            told,
            ["This was cancelled. Until then it had called tools, all of them: bash (interrupted)."]
        );
        let by: Vec<String> =
            fixture.column("select payload ->> 'by' from events where type = 'task.cancelled'").await;
        assert_eq!(by, ["control"]);
    }

    async fn cancel_in_chat(fixture: &Fixture, all: bool) -> InChat {
        fixture.store.write(move |tx| in_chat(tx, &test_chat(1), all, "telegram")).await.unwrap()
    }

    #[tokio::test]
    async fn in_a_chat_what_runs_is_cancelled_before_what_waits_and_another_chat_is_left_alone() {
        let fixture = Fixture::new().await;
        for chat in [1, 1, 1, 2] {
            add(&fixture, test_chat(chat)).await;
        }
        assert_eq!(cancel_in_chat(&fixture, false).await, InChat { running: false, queued: 1 });
        claim_one(&fixture).await;
        assert_eq!(cancel_in_chat(&fixture, false).await, InChat { running: true, queued: 0 });
        assert_eq!(cancel_in_chat(&fixture, true).await, InChat { running: true, queued: 1 });
        let states: Vec<String> = fixture.column("select state from inbox order by seq").await;
        assert_eq!(states, ["in_progress", "cancelled", "cancelled", "queued"]);
    }

    #[tokio::test]
    async fn what_is_not_there_is_not_cancelled() {
        let fixture = Fixture::new().await;
        assert_eq!(cancel(&fixture, &TaskId::new()).await, Cancellation::NoSuchTask);
        assert_eq!(cancel_in_chat(&fixture, true).await, InChat::default());
    }
}
