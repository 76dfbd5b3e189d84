//! Decisions about approvals that were made here, from when they are stored until the keeper of the approval
//! has taken them: a kill in between loses none. The first one about an approval counts.

use protocol::{TaskId, now_ms};
use rusqlite::{Connection, params};

use super::StoreError;

/// When a decision was stored that no process has in hand.
const LONG_AGO_MS: i64 = 0;

/// What somebody can choose about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    Once,
    Task,
    Chat,
    Deny,
}

impl Choice {
    /// As the tool server takes it: the decision and its scope.
    pub const fn decision(self) -> (&'static str, &'static str) {
        match self {
            Self::Once => ("grant", "call"),
            Self::Task => ("grant", "task"),
            Self::Chat => ("grant", "chat"),
            Self::Deny => ("deny", "call"),
        }
    }

    /// How it is written.
    pub const fn letter(self) -> char {
        match self {
            Self::Once => 'o',
            Self::Task => 't',
            Self::Chat => 'c',
            Self::Deny => 'd',
        }
    }

    /// The choice that is written so.
    pub fn of_letter(given: &str) -> Option<Self> {
        let all = [Self::Once, Self::Task, Self::Chat, Self::Deny];
        all.into_iter().find(|choice| given == choice.letter().to_string())
    }
}

/// A decision that is to be passed on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    pub approval: String,
    pub choice: Choice,
    /// Who decided.
    pub by: String,
    pub reason: Option<String>,
}

/// Stores a decision. Returns false if there is one about this approval already.
pub fn keep(connection: &Connection, decision: &Decision) -> Result<bool, StoreError> {
    insert(connection, decision, now_ms())
}

fn insert(connection: &Connection, decision: &Decision, time_ms: i64) -> Result<bool, StoreError> {
    let sql = "insert into decisions (approval_id, choice, decided_by, reason, created_at_ms)
               values (?1, ?2, ?3, ?4, ?5) on conflict do nothing";
    let Decision { approval, choice, by, reason } = decision;
    let choice = choice.letter().to_string();
    let stored = connection.prepare_cached(sql)?.execute(params![approval, choice, by, reason, time_ms])?;
    Ok(stored == 1)
}

/// Those that were stored at this time or before, the oldest first.
pub fn until(connection: &Connection, time_ms: i64) -> Result<Vec<Decision>, StoreError> {
    let sql = "select approval_id, choice, decided_by, reason from decisions
               where created_at_ms <= ?1 order by created_at_ms";
    let mut query = connection.prepare_cached(sql)?;
    let rows = query.query_map([time_ms], |row| {
        let choice = Choice::of_letter(&row.get::<_, String>(1)?);
        Ok((row.get(0)?, choice, row.get(2)?, row.get(3)?))
    })?;
    let rows = rows.collect::<Result<Vec<_>, _>>()?.into_iter();
    let decision = |(approval, choice, by, reason)| Some(Decision { approval, choice: choice?, by, reason });
    Ok(rows.filter_map(decision).collect())
}

/// A decision has been taken, or came too late.
pub fn remove(connection: &Connection, approval: &str) -> Result<(), StoreError> {
    connection.prepare_cached("delete from decisions where approval_id = ?1")?.execute([approval])?;
    Ok(())
}

/// The process that took a decision has not passed it on: from now on it counts as an old one.
pub fn give_up(connection: &Connection, approval: &str) -> Result<(), StoreError> {
    let sql = "update decisions set created_at_ms = ?2 where approval_id = ?1";
    connection.prepare_cached(sql)?.execute(params![approval, LONG_AGO_MS])?;
    Ok(())
}

/// Refuses what a task that has ended still asks for: it would not run.
pub(super) fn withdraw(connection: &Connection, task: &TaskId) -> Result<(), StoreError> {
    let sql = "select distinct asked.payload ->> 'approval_id' from events as asked indexed by events_task
               where task_id = ?1 and type = 'approval.requested' and not exists (
                   select 1 from events as ended indexed by events_task
                   where ended.task_id = ?1
                       and ended.type in ('approval.granted', 'approval.denied', 'approval.expired')
                       and ended.payload ->> 'approval_id' = asked.payload ->> 'approval_id')";
    let mut query = connection.prepare_cached(sql)?;
    let open = query.query_map([task.as_str()], |row| row.get::<_, String>(0))?;
    for approval in open.collect::<Result<Vec<_>, _>>()? {
        let (by, reason) = ("the supervisor".to_owned(), Some("its task has ended".to_owned()));
        insert(connection, &Decision { approval, choice: Choice::Deny, by, reason }, LONG_AGO_MS)?;
    }
    Ok(())
}

/// How many wait to be passed on, for tests.
#[cfg(test)]
pub fn count(connection: &Connection) -> usize {
    until(connection, i64::MAX).unwrap().len()
}

/// The approval that a task asks for, for tests.
#[cfg(test)]
pub(crate) fn requested(approval: &protocol::EventId) -> protocol::event::ApprovalRequested {
    protocol::event::ApprovalRequested {
        approval_id: approval.clone(),
        tool_name: "write".to_owned(),
        risk: protocol::Risk::Low,
        arguments: serde_json::Map::new(),
        preview: String::new(),
        reason: String::new(),
        rule: String::new(),
        token: String::new(),
        digest: String::new(),
        expires_at_ms: 0,
        session: protocol::SessionId::default_session(),
    }
}

#[cfg(test)]
mod tests {
    use protocol::EventId;

    use super::*;
    use crate::fixture::{TestDatabase, done, test_chat};

    #[test]
    fn the_first_decision_about_an_approval_is_kept_until_it_is_taken() {
        let database = TestDatabase::new();
        let decision = |choice, by: &str| {
            let (approval, by) = ("a".to_owned(), by.to_owned());
            Decision { approval, choice, by, reason: Some("so".to_owned()) }
        };
        assert!(keep(&database, &decision(Choice::Task, "Ada")).unwrap());
        assert!(!keep(&database, &decision(Choice::Deny, "Bob")).unwrap());
        assert_eq!(until(&database, now_ms() - 60_000).unwrap(), []);
        assert_eq!(until(&database, now_ms()).unwrap(), [decision(Choice::Task, "Ada")]);
        remove(&database, "a").unwrap();
        assert_eq!(count(&database), 0);
    }

    #[test]
    fn what_a_task_that_has_ended_still_asks_for_is_refused() {
        let (database, task) = TestDatabase::with_claimed(test_chat(1));
        let approval = EventId::new();
        database.append(requested(&approval), None, Some(&task.id));
        assert!(database.end(&task, done("ok")));
        let refused = until(&database, 0).unwrap();
        assert_eq!(refused.len(), 1);
        assert_eq!((refused[0].approval.as_str(), refused[0].choice), (approval.as_str(), Choice::Deny));
    }
}
