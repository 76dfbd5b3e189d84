//! Tasks that wait for a person without a worker: what their next attempt continues with, and which approvals
//! they wait for.
//!
//! Such a task is queued and becomes due when the last of its approvals has ended. It holds its chat, so that
//! the chat's messages keep their order.

use protocol::{CallState, EventId, Parked, TaskId, now_ms};

use super::StoreError;
use super::columns::known;
use super::sql::{Connection, params};

/// How long after the last of its approvals has expired a task runs, should no end have been reported.
const MARGIN_MS: i64 = 60_000;

/// How the waiting for an approval ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitEnd {
    Decided,
    Expired,
}

/// Keeps what a task continues with. Returns when it is due at the latest.
pub(super) fn keep(connection: &Connection, task: &TaskId, parked: &Parked) -> Result<i64, StoreError> {
    connection.execute("delete from awaited where task_id = ?1", [task.as_str()])?;
    let turn = serde_json::to_string(parked)?;
    let sql = "insert into parked (task_id, turn) values (?1, ?2)
               on conflict (task_id) do update set turn = excluded.turn";
    connection.execute(sql, params![task.as_str(), turn])?;
    let mut due = now_ms();
    for (approval, expires_at_ms) in parked.awaited() {
        let sql = "insert into awaited (task_id, approval_id) values (?1, ?2) on conflict do nothing";
        connection.execute(sql, params![task.as_str(), approval.as_str()])?;
        due = due.max(expires_at_ms.saturating_add(MARGIN_MS));
    }
    Ok(due)
}

/// What a task continues with, if it waited.
pub fn of(connection: &Connection, task: &TaskId) -> Result<Option<Parked>, StoreError> {
    let sql = "select turn from parked where task_id = ?1";
    let turn = connection.query_optional(sql, [task.as_str()], |row| row.get::<String>(0))?;
    let Some(turn) = turn else { return Ok(None) };
    let mut parked: Parked = serde_json::from_str(&turn)?;
    for call in &mut parked.calls {
        if let CallState::Waits { approval_id, .. } = &call.state
            && is_expired(connection, task, approval_id)?
        {
            call.state = CallState::Expired;
        }
    }
    Ok(Some(parked))
}

fn is_expired(connection: &Connection, task: &TaskId, approval: &EventId) -> Result<bool, StoreError> {
    let sql = "select exists (select 1 from awaited
                              where task_id = ?1 and approval_id = ?2 and ended = 'expired')";
    Ok(connection.query_row(sql, [task.as_str(), approval.as_str()], |row| row.get(0))?)
}

/// The approvals that tasks wait for.
pub fn awaited(connection: &Connection) -> Result<Vec<EventId>, StoreError> {
    let sql = "select distinct approval_id from awaited join inbox on inbox.id = task_id
               where ended is null /* here: inbox */";
    Ok(connection.query_all(sql, [], |row| known(row, 0))?.into_iter().flatten().collect())
}

/// An approval has ended: the tasks that wait for nothing else run now.
pub fn settle(connection: &Connection, approval: &EventId, end: WaitEnd) -> Result<(), StoreError> {
    let end = match end {
        WaitEnd::Decided => "decided",
        WaitEnd::Expired => "expired",
    };
    let sql = "update awaited set ended = ?2 where approval_id = ?1 and ended is null";
    if connection.execute(sql, [approval.as_str(), end])? == 0 {
        return Ok(());
    }
    let sql = "update inbox set available_at_ms = ?2, updated_at_ms = ?2
               where state = 'queued' and id in (select task_id from awaited where approval_id = ?1)
                   and not exists (select 1 from awaited where task_id = inbox.id and ended is null)";
    connection.execute(sql, params![approval.as_str(), now_ms()])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use protocol::{ParkedCall, Spent};

    use super::*;
    use crate::attempt::Ending;
    use crate::cancel;
    use crate::claim::Claim;
    use crate::fixture::{TestDatabase, channels, done, retry, test_chat};

    fn waiting(approvals: &[&EventId]) -> Parked {
        let call = |approval: &&EventId| ParkedCall {
            id: "1".to_owned(),
            tool_name: "write".to_owned(),
            arguments: "{}".to_owned(),
            state: CallState::Waits {
                approval_id: (*approval).clone(),
                expires_at_ms: now_ms() + 600_000,
                key: "key".to_owned(),
            },
        };
        let calls = approvals.iter().map(call).collect();
        Parked { calls, spent: Spent { turns: 3, ..Spent::default() }, ..Parked::default() }
    }

    fn park(database: &TestDatabase, approvals: &[&EventId]) {
        let task = database.claim();
        assert!(database.end(&task, Ending::Parked(Box::new(waiting(approvals)))));
    }

    fn waits(database: &TestDatabase) -> bool {
        matches!(database.try_claim(), Claim::Nothing { until_ms: Some(_) })
    }

    #[test]
    fn a_task_runs_again_when_the_last_of_its_approvals_has_ended_and_other_chats_run_meanwhile() {
        let database = TestDatabase::new();
        let task = database.enqueue(test_chat(1), "first");
        database.enqueue(test_chat(1), "second");
        let (one, other) = (EventId::new(), EventId::new());
        park(&database, &[&one, &other]);
        assert!(waits(&database), "the chat's next message waits, too");
        database.enqueue(test_chat(2), "hello");
        let of_other_chat = database.claim();
        assert_eq!(of_other_chat.chat, test_chat(2));
        assert_eq!(awaited(&database).unwrap().len(), 2);
        settle(&database, &one, WaitEnd::Decided).unwrap();
        settle(&database, &EventId::new(), WaitEnd::Decided).unwrap();
        assert!(waits(&database));
        settle(&database, &other, WaitEnd::Expired).unwrap();
        let again = database.claim();
        assert_eq!((again.id.clone(), again.attempt, again.tries), (task.clone(), 2, 1), "no try has failed");
        let parked = of(&database, &task).unwrap().unwrap();
        assert!(matches!(parked.calls[0].state, CallState::Waits { .. }), "{parked:?}");
        assert!(matches!(parked.calls[1].state, CallState::Expired), "{parked:?}");
        assert_eq!(parked.spent.turns, 3);
        assert!(database.end(&again, done("ok")));
        assert_eq!(of(&database, &task).unwrap(), None);
        assert_eq!(database.texts("select type from events where type = 'task.parked'").len(), 1);
    }

    #[test]
    fn an_attempt_that_fails_afterwards_is_repeated_from_there() {
        let database = TestDatabase::new();
        let task = database.enqueue(test_chat(1), "first");
        let approval = EventId::new();
        park(&database, &[&approval]);
        settle(&database, &approval, WaitEnd::Decided).unwrap();
        let failed = database.claim();
        assert!(database.end(&failed, retry(0)));
        assert_eq!(database.claim().tries, 2);
        assert!(of(&database, &task).unwrap().is_some());
    }

    #[test]
    fn a_task_that_waits_is_cancelled_at_once_before_the_messages_behind_it() {
        let database = TestDatabase::new();
        let task = database.enqueue(test_chat(1), "first");
        database.enqueue(test_chat(1), "second");
        park(&database, &[&EventId::new()]);
        let done = cancel::in_chat(&database, &test_chat(1), false, "test").unwrap();
        assert!(done.parked && !done.running && done.queued.is_empty(), "{done:?}");
        assert_eq!(of(&database, &task).unwrap(), None);
        assert_eq!(awaited(&database).unwrap(), []);
        assert_eq!(database.claim().text, "second");
    }

    #[test]
    fn a_task_that_is_cancelled_while_it_is_parked_does_not_wait() {
        let (database, task) = TestDatabase::with_claimed(test_chat(1));
        cancel::task(&database, &channels(), &task.id, "test").unwrap();
        assert!(database.end(&task, Ending::Parked(Box::new(waiting(&[&EventId::new()])))));
        assert_eq!(database.texts("select state from inbox"), ["cancelled"]);
        assert_eq!(awaited(&database).unwrap(), []);
    }

    #[test]
    fn only_a_task_that_waits_for_a_person_has_an_attempt_that_does_not_count() {
        let (database, _running) = TestDatabase::with_claimed(test_chat(1));
        database.refuses(&["update inbox set state = 'queued', attempt_base = 1, lease_until_ms = null"]);
    }
}
