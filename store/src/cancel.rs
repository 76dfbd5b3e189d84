//! Cancels tasks. A waiting task is cancelled at once; a running one gets a cancel request, and its attempt
//! ends as soon as the worker has stopped.
//!
//! The request is in the task's row, so it survives a crash: such an attempt is never retried.

use channel::{Channels, Chat};
use protocol::event::{TaskCancelled, TaskQueued};
use protocol::{PastCall, PastCallStatus, ReplyFormat, TaskId, now_ms};
use texts::{Language, Text};

use super::columns::{chat, task_id};
use super::outbox::Reply;
use super::sql::{Connection, params};
use super::{StoreError, approvals, conversation, events, languages, outbox, prior_context};

/// The most calls that a reply names; the event tree has all of them.
const MAX_CALLS_NAMED: usize = 10;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cancellation {
    /// It was waiting and is cancelled.
    Cancelled,
    /// It is running and will be stopped.
    Asked,
    Ended {
        state: String,
    },
    NoSuchTask,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InChat {
    /// Whether a running task will be stopped.
    pub running: bool,
    /// Whether one that waited for a person was cancelled.
    pub parked: bool,
    /// The texts of the waiting tasks that were cancelled, the newest first.
    pub queued: Vec<String>,
    /// The texts of those that still wait, the newest first.
    pub left: Vec<String>,
}

struct Open {
    id: TaskId,
    chat: Chat,
    text: String,
    runs: bool,
    /// It has begun, and waits for a person.
    is_parked: bool,
}

/// Cancels a task. Its chat gets one reply: now if the task was waiting, else when it has stopped.
pub fn task(
    connection: &Connection,
    channels: &Channels,
    id: &TaskId,
    by: &str,
) -> Result<Cancellation, StoreError> {
    let Some((task, state)) = find(connection, id)? else { return Ok(Cancellation::NoSuchTask) };
    let (cancellation, reply) = cancel(connection, &task, state, by)?;
    if let Some(reply) = reply {
        let cancelled = events::newest_of::<TaskCancelled>(connection, &task.id)?;
        let reply = Reply { task: &task.id, chat: &task.chat, text: &reply, format: ReplyFormat::Plain };
        outbox::queue_reply(connection, channels, &reply, cancelled.as_ref())?;
    }
    Ok(cancellation)
}

/// Cancels a task if it is of this chat. The caller sends the reply, which only a waiting task has.
pub fn in_its_chat(
    connection: &Connection,
    id: &TaskId,
    chat: &Chat,
    by: &str,
) -> Result<(Cancellation, Option<String>), StoreError> {
    match find(connection, id)? {
        Some((task, state)) if task.chat == *chat => cancel(connection, &task, state, by),
        _ => Ok((Cancellation::NoSuchTask, None)),
    }
}

fn find(connection: &Connection, id: &TaskId) -> Result<Option<(Open, String)>, StoreError> {
    let sql = "select id, channel, chat_id, text, state, exists (select 1 from parked where task_id = id)
               from inbox where id = ?1";
    Ok(connection.query_optional(sql, [id.as_str()], |row| Ok((open(row)?, row.get(4)?)))?)
}

fn cancel(
    connection: &Connection,
    task: &Open,
    state: String,
    by: &str,
) -> Result<(Cancellation, Option<String>), StoreError> {
    match state.as_str() {
        "queued" => Ok((Cancellation::Cancelled, Some(cancel_waiting(connection, task, by)?))),
        "in_progress" => ask(connection, task, by).map(|()| (Cancellation::Asked, None)),
        _ => Ok((Cancellation::Ended { state }, None)),
    }
}

/// Cancels a chat's running task, else its newest waiting one; with `all`, every one. The caller replies.
pub fn in_chat(connection: &Connection, chat: &Chat, all: bool, by: &str) -> Result<InChat, StoreError> {
    let open = open_in(connection, chat)?;
    let runs = open.iter().any(|task| task.runs || task.is_parked);
    let mut done = InChat::default();
    for task in open {
        if task.runs {
            ask(connection, &task, by)?;
            done.running = true;
        } else if task.is_parked {
            cancel_waiting(connection, &task, by)?;
            done.parked = true;
        } else if all || (!runs && done.queued.is_empty()) {
            cancel_waiting(connection, &task, by)?;
            done.queued.push(task.text);
        } else {
            done.left.push(task.text);
        }
    }
    Ok(done)
}

/// Who asked to cancel this attempt, if anyone.
pub fn requested_by(
    connection: &Connection,
    task: &TaskId,
    attempt: u32,
) -> Result<Option<String>, StoreError> {
    let sql =
        "select cancel_requested_by from inbox where id = ?1 and attempt = ?2 and state = 'in_progress'";
    let by = connection.query_optional(sql, params![task.as_str(), attempt], |row| row.get(0));
    Ok(by?.flatten())
}

/// The reply for a cancelled task whose worker gave none.
pub fn reply_for(connection: &Connection, task: &TaskId, chat: &Chat) -> Result<String, StoreError> {
    let calls = prior_context::trace(connection, task)?;
    Ok(describe(&calls, languages::of(connection, chat)?))
}

fn open(row: &crate::sql::Row<'_>) -> crate::sql::Result<Open> {
    let state: String = row.get(4)?;
    let runs = state == "in_progress";
    let is_parked = !runs && row.get(5)?;
    Ok(Open { id: task_id(row, 0)?, chat: chat(row, 1)?, text: row.get(3)?, runs, is_parked })
}

/// The open tasks of a chat, newest first.
fn open_in(connection: &Connection, chat: &Chat) -> Result<Vec<Open>, StoreError> {
    let sql = "select id, channel, chat_id, text, state, exists (select 1 from parked where task_id = id)
               from inbox
               where channel = ?1 and chat_id = ?2 and state in ('queued', 'in_progress') order by seq desc";
    Ok(connection.query_all(sql, params![chat.channel.as_str(), chat.id], open)?)
}

fn ask(connection: &Connection, task: &Open, by: &str) -> Result<(), StoreError> {
    let sql = "update inbox set cancel_requested_by = ?2
               where id = ?1 and state = 'in_progress' and cancel_requested_by is null";
    connection.execute(sql, params![task.id.as_str(), by])?;
    Ok(())
}

/// Cancels a waiting task and returns the reply.
fn cancel_waiting(connection: &Connection, task: &Open, by: &str) -> Result<String, StoreError> {
    let reply = reply_for(connection, &task.id, &task.chat)?;
    let sql = "update inbox set state = 'cancelled', finished_at_ms = ?2, updated_at_ms = ?2
               where id = ?1 and state = 'queued'";
    connection.execute(sql, params![task.id.as_str(), now_ms()])?;
    let queued = events::newest_of::<TaskQueued>(connection, &task.id)?;
    let cancelled = TaskCancelled { attempt: None, by: Some(by.to_owned()) };
    events::record(connection, cancelled, queued.as_ref(), &task.id)?;
    approvals::withdraw(connection, &task.id)?;
    conversation::keep(connection, &task.chat, &task.id, &task.text, &reply)?;
    Ok(reply)
}

fn describe(calls: &[PastCall], language: Language) -> String {
    if calls.is_empty() {
        return Text::CancelledBefore.to(language);
    }
    let named: Vec<String> = calls
        .iter()
        .rev()
        .take(MAX_CALLS_NAMED)
        .rev()
        .map(|call| {
            let tool = call.tool_name.as_str();
            let call = match call.status {
                PastCallStatus::Done => Text::CallDone { tool },
                PastCallStatus::Failed => Text::CallFailed { tool },
                PastCallStatus::Interrupted => Text::CallInterrupted { tool },
            };
            call.to(language)
        })
        .collect();
    let (count, all) = (i64::try_from(named.len()).unwrap_or(i64::MAX), &named.join(", "));
    let text = match calls.len() > MAX_CALLS_NAMED {
        true => Text::CancelledAfterLast { count, calls: all },
        false => Text::CancelledAfter { calls: all },
    };
    text.to(language)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{TestDatabase, call_started, channels, retry, test_chat};

    fn cancel(database: &TestDatabase, id: &TaskId) -> Cancellation {
        task(database, &channels(), id, "control").unwrap()
    }

    fn cancel_in_chat(database: &TestDatabase, all: bool) -> InChat {
        in_chat(database, &test_chat(1), all, "telegram").unwrap()
    }

    #[test]
    fn a_waiting_task_is_cancelled_at_once_and_its_user_is_told_once() {
        let database = TestDatabase::new();
        let id = database.enqueue(test_chat(1), "hello");
        assert_eq!(cancel(&database, &id), Cancellation::Cancelled);
        assert_eq!(cancel(&database, &id), Cancellation::Ended { state: "cancelled".to_owned() });
        let replies = database.texts("select text from outbox");
        assert_eq!(replies, ["This was cancelled before anything was done."]);
        let types = database.texts("select type from events where task_id is not null");
        assert_eq!(types, ["task.queued", "task.cancelled", "reply.queued"]);
    }

    #[test]
    fn a_task_is_cancelled_from_its_own_chat_alone() {
        let (database, running) = TestDatabase::with_claimed(test_chat(1));
        let from = |chat| in_its_chat(&database, &running.id, &test_chat(chat), "telegram").unwrap();
        assert_eq!(from(2), (Cancellation::NoSuchTask, None));
        assert_eq!(requested_by(&database, &running.id, 1).unwrap(), None);
        assert_eq!(from(1), (Cancellation::Asked, None));
        assert_eq!(requested_by(&database, &running.id, 1).unwrap().as_deref(), Some("telegram"));
    }

    #[test]
    fn an_attempt_with_a_cancel_request_is_never_retried() {
        let (database, running) = TestDatabase::with_claimed(test_chat(1));
        for _ in 0..2 {
            assert_eq!(cancel(&database, &running.id), Cancellation::Asked);
        }
        database.append(call_started("bash", ""), None, Some(&running.id));
        assert!(database.end(&running, retry(0)));
        assert_eq!(database.texts("select state from inbox"), ["cancelled"]);
        let reply = "This was cancelled. Until then it had called tools, all of them: bash (interrupted).";
        assert_eq!(database.texts("select text from outbox"), [reply]);
        let by = database.texts("select payload ->> 'by' from events where type = 'task.cancelled'");
        assert_eq!(by, ["control"]);
    }

    #[test]
    fn a_chats_running_task_is_cancelled_before_its_waiting_ones_and_other_chats_are_left_alone() {
        let database = TestDatabase::new();
        for chat in [1, 1, 1, 2] {
            database.enqueue(test_chat(chat), "hello");
        }
        let texts = |count: usize| vec!["hello".to_owned(); count];
        let done = |running, queued, left| InChat {
            running,
            queued: texts(queued),
            left: texts(left),
            parked: false,
        };
        assert_eq!(cancel_in_chat(&database, false), done(false, 1, 2));
        database.claim();
        assert_eq!(cancel_in_chat(&database, false), done(true, 0, 1));
        assert_eq!(cancel_in_chat(&database, true), done(true, 1, 0));
        let states = database.texts("select state from inbox order by seq");
        assert_eq!(states, ["in_progress", "cancelled", "cancelled", "queued"]);
    }
}
