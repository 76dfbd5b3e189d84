//! Queues messages again that were given up.

use protocol::event::ReplyRequeued;
use protocol::{Event, EventId, TaskId, now_ms};
use serde::{Deserialize, Serialize};

use super::columns::known;
use super::requeue::MOST_AT_ONCE;
use super::sql::{Connection, params};
use super::{StoreError, events};

/// What `POST /outbox/resend` takes: one of these.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Which {
    /// The row of this number.
    OutboxId(i64),
    /// All messages of this task that were given up.
    TaskId(TaskId),
    /// With `true`, all messages that were given up.
    AllDead(bool),
}

/// What `POST /outbox/resend` responds with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resent {
    /// The rows that are queued now, in the order in which they leave. None had been given up if it is empty.
    pub outbox_ids: Vec<i64>,
    /// Whether more match: call again.
    pub more: bool,
}

/// Queues again, oldest first, what was given up among these. It is tried as often as a new message.
pub fn resend(connection: &Connection, which: &Which, by: &str, run: &EventId) -> Result<Resent, StoreError> {
    let (rule, of) = match which {
        Which::OutboxId(number) => ("and seq = cast(?1 as bigint)", number.to_string()),
        Which::TaskId(task) => ("and task_id = ?1", task.to_string()),
        Which::AllDead(true) => ("and ?1 = ''", String::new()),
        Which::AllDead(false) => ("and ?1 <> ''", String::new()),
    };
    let sql = format!("select seq, task_id from outbox where state = 'dead' {rule} order by seq limit ?2");
    let limit = i64::try_from(MOST_AT_ONCE + 1).unwrap_or(i64::MAX);
    let mut dead = connection.query_all(&sql, params![of, limit], |row| Ok((row.get(0)?, known(row, 1)?)))?;
    let more = dead.len() > MOST_AT_ONCE;
    dead.truncate(MOST_AT_ONCE);
    let sql = "update outbox set state = 'queued', attempt = 0, available_at_ms = ?2, updated_at_ms = ?2,
                                 finished_at_ms = null
               where seq = ?1";
    for (number, task) in &dead {
        connection.execute(sql, params![number, now_ms()])?;
        let requeued = ReplyRequeued { outbox_id: *number, by: by.to_owned() };
        events::append(connection, &Event::now(requeued, Some(run), task.as_ref()))?;
    }
    Ok(Resent { outbox_ids: dead.into_iter().map(|(number, _)| number).collect(), more })
}

#[cfg(test)]
mod tests {
    use channel::Content;

    use super::*;
    use crate::delivery;
    use crate::fixture::{TestDatabase, test_chat};

    fn dead(database: &TestDatabase, count: usize) {
        let texts = (0..count).map(|number| Content::Text(number.to_string())).collect();
        for number in database.queue(&test_chat(1), texts) {
            let message = delivery::load(database, number).unwrap().unwrap();
            delivery::give_up(database, &message, "no luck").unwrap();
        }
    }

    fn again(database: &TestDatabase, which: &Which) -> Vec<i64> {
        resend(database, which, "cli", &database.run).unwrap().outbox_ids
    }

    #[test]
    fn what_was_given_up_is_queued_again_once_and_nothing_else() {
        let database = TestDatabase::new();
        dead(&database, 3);
        let waiting = vec![Content::Text("waiting".to_owned())];
        database.queue(&test_chat(1), waiting);
        assert_eq!(again(&database, &Which::OutboxId(2)), [2]);
        assert_eq!(again(&database, &Which::OutboxId(2)), [0; 0], "it is queued");
        assert_eq!(again(&database, &Which::OutboxId(4)), [0; 0], "it was never given up");
        assert_eq!(again(&database, &Which::TaskId(TaskId::new())), [0; 0]);
        assert_eq!(again(&database, &Which::AllDead(false)), [0; 0]);
        assert_eq!(again(&database, &Which::AllDead(true)), [1, 3]);
        assert_eq!(delivery::load(&database, 1).unwrap().unwrap().attempt, 0);
        let who = database.texts("select payload ->> 'by' from events where type = 'reply.requeued'");
        assert_eq!(who, ["cli"; 3]);
    }

    #[test]
    fn one_call_queues_a_bounded_number_and_reports_that_more_are_left() {
        let database = TestDatabase::new();
        dead(&database, MOST_AT_ONCE + 1);
        let resent = resend(&database, &Which::AllDead(true), "cli", &database.run).unwrap();
        assert_eq!((resent.outbox_ids.len(), resent.more), (MOST_AT_ONCE, true));
    }
}
