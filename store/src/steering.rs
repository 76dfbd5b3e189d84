//! What people say while a task of their chat runs, and its model reads before its next turn.
//!
//! A message goes through these states, and its row in the inbox is the truth at each of them:
//!
//! 1. *Queued*, as every message: a task of its own that waits for the one that runs.
//! 2. *Offered*: the slot that runs the task has sent it to the worker. Nothing is stored; the row is queued.
//! 3. *Added*: the worker has put it into the conversation and says so, and [`take`] makes it a part of the
//!    task, in the order of the worker's lines and so before the task's result. The row is skipped.
//!
//! A task that ends without the third step leaves the message queued: it is the next task. So does a worker
//! or supervisor that is killed before that step, and with it goes the conversation that the message was put
//! into; the next attempt is offered it again. After that step, each attempt reads what was added, in order.

use protocol::event::{TaskAdded, TaskClaimed, TaskPart, TaskSkipped};
use protocol::{Addition, EventId, MessageId, Origin, now_ms};

use super::claim::Claimed;
use super::columns::{chat, json, message_id, task_id};
use super::inbox::{self, IncomingMessage};
use super::sql::{Connection, params};
use super::{StoreError, edits, events};

/// More of those that wait are not looked at.
const MOST: u32 = 100;

const REASON: &str = "added to the task that ran";

/// What can be offered to a task now.
#[derive(Debug, Default, PartialEq)]
pub struct Waiting {
    /// In the order in which it came.
    pub additions: Vec<Addition>,
    /// When there may be more, in milliseconds since the epoch, if time alone can bring it.
    pub again_at_ms: Option<i64>,
}

/// The messages of a task's chat that came since it began to run. One that came before, brings files or
/// passes on what others wrote is a task of its own, and so is what came after it; one of `/queue` is passed
/// over.
pub fn waiting(connection: &Connection, task: &Claimed) -> Result<Waiting, StoreError> {
    let sql = "select id, text, origin, coalesce(gather_until_ms, 0),
                      requeues = 0 and attempt = 0 and text <> ''
                      and not exists (select 1 from attachments where task_id = inbox.id)
                      and (select min(seq) from events indexed by events_task
                           where task_id = inbox.id and type = 'task.queued') > (
                          select min(claimed.seq) from events as claimed indexed by events_task
                          where claimed.task_id = ?3 and claimed.type = 'task.claimed' and claimed.seq > (
                              select max(queued.seq) from events as queued indexed by events_task
                              where queued.task_id = ?3 and queued.type = 'task.queued'))
               from inbox
               where channel = ?1 and chat_id = ?2 and state = 'queued' and stands_alone = 0
                   and steps_aside = 0
               order by seq limit ?4";
    let mut query = connection.prepare(sql)?;
    let (of, id) = (&task.chat, task.id.as_str());
    let mut rows = query.query(params![of.channel.as_str(), of.id, id, MOST])?;
    let mut waiting = Waiting::default();
    while let Some(row) = rows.next()? {
        let addition = Addition { message: task_id(&row, 0)?, text: row.get(1)?, origin: json(&row, 2)? };
        let (gathers_until, may_be): (i64, bool) = (row.get(3)?, row.get(4)?);
        if !may_be || !is_own_word(addition.origin.as_ref(), task.origin.as_ref()) {
            break;
        }
        if gathers_until > now_ms() {
            waiting.again_at_ms = Some(gathers_until);
            break;
        }
        waiting.additions.push(addition);
    }
    Ok(waiting)
}

/// Whether a message is what a person says now, under the same conditions as the task.
fn is_own_word(origin: Option<&Origin>, of_task: Option<&Origin>) -> bool {
    let is_unattended = |origin: Option<&Origin>| origin.is_some_and(|origin| origin.is_unattended);
    is_unattended(origin) == is_unattended(of_task)
        && origin.is_none_or(|origin| {
            origin.forwarded_from.is_none()
                && origin.passed_on.is_empty()
                && origin.scheduled.is_none()
                && origin.outside.is_none()
        })
}

/// Makes a message a part of a task that runs, as it was offered. Returns false and changes nothing if it is
/// not queued any more. What its sender has changed in it meanwhile is a correction.
pub fn take(
    connection: &Connection,
    task: &Claimed,
    addition: &Addition,
    run: &EventId,
) -> Result<bool, StoreError> {
    let sql = "select channel, chat_id, message_id, text from inbox
               where id = ?1 and state = 'queued' and attempt = 0";
    let of = addition.message.as_str();
    let found = connection
        .query_optional(sql, [of], |row| Ok((chat(row, 0)?, message_id(row, 2)?, row.get::<String>(3)?)));
    let Some((in_chat, number, text)) = found? else { return Ok(false) };
    let sql = "insert into additions (task_id, message_task_id, message_id, text, origin)
               values (?1, ?2, ?3, ?4, ?5)";
    let origin = addition.origin.as_ref().map(serde_json::to_string).transpose()?;
    let values = params![task.id.as_str(), of, number.as_ref().map(MessageId::as_str), addition.text, origin];
    connection.execute(sql, values)?;
    let sql = "update inbox set state = 'skipped', error = ?2, text = '', finished_at_ms = ?3,
                                updated_at_ms = ?3, gather_until_ms = null
               where id = ?1";
    connection.execute(sql, params![of, REASON, now_ms()])?;
    let part = Some(TaskPart { part_of: task.id.clone(), text: addition.text.clone() });
    let skipped = TaskSkipped { channel: None, chat_id: None, reason: REASON.to_owned(), part };
    events::record(connection, skipped, Some(run), &addition.message)?;
    let claimed = events::newest_of::<TaskClaimed>(connection, &task.id)?;
    let (message, said) = (addition.message.clone(), addition.text.clone());
    let added = TaskAdded { message, message_id: number.clone(), text: said };
    events::record(connection, added, claimed.as_ref(), &task.id)?;
    if text != addition.text {
        let origin = addition.origin.clone();
        let text = edits::correction(&text);
        let corrected = IncomingMessage { chat: in_chat, update_id: None, message_id: number, text, origin };
        inbox::enqueue(connection, &corrected, run)?;
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::fixture::{TestDatabase, done, incoming, retry, test_chat};
    use crate::{additions, conversation, parts};

    fn texts(waiting: &Waiting) -> Vec<&str> {
        waiting.additions.iter().map(|addition| addition.text.as_str()).collect()
    }

    /// A database in which a task runs, and what can be added to it.
    fn running() -> (TestDatabase, Claimed) {
        TestDatabase::with_claimed(test_chat(1))
    }

    fn offered(database: &TestDatabase, task: &Claimed) -> Waiting {
        waiting(database, task).unwrap()
    }

    #[test]
    fn only_what_was_said_after_a_task_began_can_be_added_to_it() {
        let database = TestDatabase::new();
        database.enqueue(test_chat(1), "first");
        database.enqueue(test_chat(1), "before");
        let task = database.claim();
        database.enqueue(test_chat(2), "elsewhere");
        assert_eq!(texts(&offered(&database, &task)), [""; 0]);
        database.enqueue(test_chat(1), "behind it");
        assert_eq!(texts(&offered(&database, &task)), [""; 0], "no message overtakes another");
        let (database, task) = running();
        database.enqueue(test_chat(1), "one");
        database.enqueue(test_chat(1), "two");
        assert_eq!(texts(&offered(&database, &task)), ["one", "two"]);
        assert!(database.end(&task, retry(0)));
        let again = database.claim();
        assert_eq!(texts(&offered(&database, &again)), ["one", "two"], "what was not taken is offered again");
    }

    #[test]
    fn what_is_gathered_comes_when_it_is_complete_and_what_stands_alone_stays() {
        let (database, task) = running();
        let alone = database.enqueue(test_chat(1), "alone");
        additions::stand_alone(&database, &alone).unwrap();
        database.enqueue(test_chat(1), "one");
        let slow = database.enqueue(test_chat(1), "slow");
        parts::wait(&database, &slow, Duration::from_secs(60), 100).unwrap();
        database.enqueue(test_chat(1), "behind it");
        let waits = offered(&database, &task);
        assert_eq!(texts(&waits), ["one"]);
        assert!(waits.again_at_ms.is_some_and(|at| at > now_ms() + 50_000));
        database.execute("update inbox set gather_until_ms = 1", []).unwrap();
        assert_eq!(texts(&offered(&database, &task)), ["one", "slow", "behind it"]);
        let origin = Some(Origin { forwarded_from: Some("Eve".to_owned()), ..Origin::default() });
        let passed_on = IncomingMessage { origin, ..incoming(test_chat(1), "passed on") };
        inbox::enqueue(&database, &passed_on, &database.run).unwrap();
        database.enqueue(test_chat(1), "about it");
        assert_eq!(texts(&offered(&database, &task)), ["one", "slow", "behind it"]);
    }

    #[test]
    fn what_is_taken_is_a_part_of_the_task_once_and_of_its_history() {
        let (database, task) = running();
        let message =
            IncomingMessage { message_id: Some("7".to_owned().into()), ..incoming(test_chat(1), "one") };
        let one = inbox::enqueue(&database, &message, &database.run).unwrap().unwrap();
        let addition = offered(&database, &task).additions.remove(0);
        assert!(take(&database, &task, &addition, &database.run).unwrap());
        assert!(!take(&database, &task, &addition, &database.run).unwrap());
        assert_eq!(offered(&database, &task), Waiting::default());
        assert_eq!(additions::of(&database, &task.id).unwrap(), [addition]);
        let sql = "select payload ->> 'text' || ' ' || (payload ->> 'message_id') from events
                   where type = 'task.added'";
        assert_eq!(database.texts(sql), ["one 7"]);
        let said = edits::task_of(&database, &test_chat(1), &"7".to_owned().into()).unwrap().unwrap();
        assert!(said.has_begun && said.says("one") && said.task == task.id);
        assert!(database.end(&task, done("both")));
        assert_eq!(inbox::status(&database, &one).unwrap().unwrap().status, "done");
        let history = conversation::messages(&database, &test_chat(1)).unwrap();
        assert_eq!(history[0].text, "hello\n\n[The user adds:]\none");
        assert_eq!(database.column::<i64>("select count(*) from inbox where state = 'queued'"), [0]);
    }

    #[test]
    fn what_was_taken_back_is_no_part_and_what_was_changed_is_corrected() {
        let (database, task) = running();
        database.enqueue(test_chat(1), "one");
        database.enqueue(test_chat(1), "two");
        let waits = offered(&database, &task);
        database
            .execute("update inbox set state = 'cancelled', finished_at_ms = 1 where text = 'one'", [])
            .unwrap();
        database.execute("update inbox set text = 'zwei' where text = 'two'", []).unwrap();
        let taken = |of: &Addition| take(&database, &task, of, &database.run).unwrap();
        assert_eq!(waits.additions.iter().map(taken).collect::<Vec<_>>(), [false, true]);
        assert_eq!(texts(&offered(&database, &task)), [edits::correction("zwei")]);
    }
}
