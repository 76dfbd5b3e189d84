//! The head of the queue: a worker claims a task for the length of a lease.
//!
//! Chats are served in turn: the one that was served longest ago goes first. Tasks of one chat run one at a
//! time and in order: a later one waits even while an earlier one waits for a retry. The table `chat_turns`,
//! which triggers keep, has each chat's next task, so that a claim costs the same however many wait.

use std::time::Duration;

use channel::Chat;
use protocol::event::TaskClaimed;
use protocol::{EventId, Origin, Quota, TaskId, now_ms};
use settings::quotas::{DailyLimits, Limits};
use texts::Language;

use super::columns::{chat, json, task_id};
use super::quotas::{self, UsedUp, Verdict};
use super::sql::{Connection, Row, params};
use super::{StoreError, events, languages};

/// A task to run now.
#[derive(Debug, Clone)]
pub struct Claimed {
    /// The task.
    pub id: TaskId,
    /// Which attempt this is, from 1.
    pub attempt: u32,
    /// The same, counted from when the task was last queued.
    pub tries: u32,
    /// Who asked.
    pub chat: Chat,
    /// What was asked.
    pub text: String,
    /// Who wrote it, and where, if its channel tells.
    pub origin: Option<Origin>,
    /// Today, in UTC.
    pub date: String,
    /// Who wrote it, as `<channel>:<ID>`.
    pub user: Option<String>,
    /// When its attempts began to fail, in milliseconds since the epoch; none if the last did not.
    pub failing_since_ms: Option<i64>,
    /// What it may use of the limits of the day.
    pub quota: Option<Quota>,
    /// The language of the bot's own words in its chat.
    pub language: Language,
}

/// The next thing to do.
#[derive(Debug)]
pub enum Claim {
    /// Run this task now.
    Task(Box<Claimed>),
    /// A limit of the day keeps this task from running; it is not claimed.
    Exhausted(Box<Exhausted>),
    /// Nothing is due yet.
    Nothing {
        /// When the next retry is due, in milliseconds since the epoch, if there is one.
        until_ms: Option<i64>,
    },
}

/// A task that a limit of the day keeps waiting.
#[derive(Debug)]
pub struct Exhausted {
    pub seq: i64,
    pub task: Claimed,
    pub limit: UsedUp,
}

/// How many chats are looked at for one whose user has no other task running.
const CANDIDATES: u32 = 100;

/// Claims the next task of the chat whose turn it is, without limits of the day. Only chats whose workspace
/// is here are looked at.
pub fn claim(connection: &Connection, lease: Duration, run: &EventId) -> Result<Claim, StoreError> {
    claim_within(connection, &Limits::default(), lease, run)
}

/// The same within the limits of the day.
pub fn claim_within(
    connection: &Connection,
    limits: &Limits,
    lease: Duration,
    run: &EventId,
) -> Result<Claim, StoreError> {
    let now = now_ms();
    // A row that was updated in the future was delayed before the clock was set back: it is due.
    let sql = "select seq, id, attempt + 1, task.channel, task.chat_id, text, date(?1 / 1000, 'unixepoch'),
                      attempt + 1 - attempt_base, origin, user_id, failing_since_ms
               from chat_turns as turn cross join inbox as task on task.seq = turn.next_seq
               where turn.next_seq is not null and (max(available_at_ms, coalesce(gather_until_ms, 0)) <= ?1
                                                   or updated_at_ms > ?1) /* here: turn */
               order by turn.last_turn, turn.next_seq limit ?2";
    let is_limited = limits.chat != DailyLimits::default() || limits.user != DailyLimits::default();
    let candidates = if is_limited { CANDIDATES } else { 1 };
    let due = connection.query_all(sql, params![now, candidates], |row| Ok((row.get(0)?, claimed(row)?)))?;
    let mut waits_for_user = false;
    for (seq, mut task) in due {
        task.language = languages::of(connection, &task.chat)?;
        match quotas::judge(connection, limits, (&task.id, &task.chat, task.user.as_deref()), now)? {
            Verdict::Run(quota) => {
                task.quota = quota;
                return take(connection, seq, task, now, lease, run);
            }
            Verdict::Exhausted(limit) => {
                return Ok(Claim::Exhausted(Box::new(Exhausted { seq, task, limit })));
            }
            Verdict::UserBusy => waits_for_user = true,
        }
    }
    // The end of the user's other task is a change, which wakes the slots that look for work.
    let after = if waits_for_user { now } else { i64::MIN };
    Ok(Claim::Nothing { until_ms: next_due(connection, after)? })
}

/// The tasks that this node runs.
pub fn in_progress(connection: &Connection) -> Result<Vec<Claimed>, StoreError> {
    running(connection, "/* mine: inbox */")
}

/// The tasks that ran on nodes that are gone.
pub fn left_behind(connection: &Connection) -> Result<Vec<Claimed>, StoreError> {
    running(connection, "and node in (select name from nodes where state = 'gone')")
}

fn running(connection: &Connection, which: &str) -> Result<Vec<Claimed>, StoreError> {
    let sql = format!(
        "select seq, id, attempt, channel, chat_id, text, date(updated_at_ms / 1000, 'unixepoch'),
                      attempt - attempt_base, origin, user_id, failing_since_ms
               from inbox indexed by inbox_in_progress where state = 'in_progress' {which} order by seq"
    );
    let rows = connection.query_all(&sql, [], claimed)?;
    let with_language =
        |task: Claimed| Ok(Claimed { language: languages::of(connection, &task.chat)?, ..task });
    rows.into_iter().map(with_language).collect()
}

/// Renews a lease. Returns false if another attempt has the task by now.
pub fn renew(
    connection: &Connection,
    task: &TaskId,
    attempt: u32,
    lease: Duration,
) -> Result<bool, StoreError> {
    let sql = "update inbox set lease_until_ms = ?3 where id = ?1 and attempt = ?2 and state = 'in_progress'";
    let until = after(now_ms(), lease);
    Ok(connection.execute(sql, params![task.as_str(), attempt, until])? == 1)
}

/// A time plus a pause, in milliseconds.
pub(crate) fn after(time_ms: i64, pause: Duration) -> i64 {
    time_ms.saturating_add(i64::try_from(pause.as_millis()).unwrap_or(i64::MAX))
}

/// When the first task of any chat may run; later ones of the same chat wait for it.
fn next_due(connection: &Connection, after_ms: i64) -> Result<Option<i64>, StoreError> {
    let sql = "select min(max(available_at_ms, coalesce(gather_until_ms, 0))) as due_ms
               from chat_turns as turn cross join inbox as task on task.seq = turn.next_seq
               where turn.next_seq is not null and max(available_at_ms, coalesce(gather_until_ms, 0)) > ?1
                   /* here: turn */";
    Ok(connection.query_row(sql, [after_ms], |row| row.get(0))?)
}

fn claimed(row: &Row<'_>) -> crate::sql::Result<Claimed> {
    Ok(Claimed {
        id: task_id(row, 1)?,
        attempt: row.get(2)?,
        chat: chat(row, 3)?,
        text: row.get(5)?,
        date: row.get(6)?,
        tries: row.get(7)?,
        origin: json(row, 8)?,
        user: row.get(9)?,
        failing_since_ms: row.get(10)?,
        quota: None,
        language: Language::default(),
    })
}

pub(super) fn take(
    connection: &Connection,
    seq: i64,
    task: Claimed,
    now: i64,
    lease: Duration,
    run: &EventId,
) -> Result<Claim, StoreError> {
    let sql = "update inbox set state = 'in_progress', attempt = ?2, lease_until_ms = ?3, updated_at_ms = ?4,
                                gather_until_ms = null, node = ?5
               where seq = ?1 and state = 'queued'";
    let claimed = params![seq, task.attempt, after(now, lease), now, connection.node()];
    connection.execute(sql, claimed)?;
    let sql = "update chat_turns set last_turn = (select max(last_turn) + 1 from chat_turns)
               where channel = ?1 and chat_id = ?2";
    connection.execute(sql, params![task.chat.channel.as_str(), task.chat.id])?;
    let claimed = TaskClaimed { attempt: task.attempt, node: connection.node().map(str::to_owned) };
    events::record(connection, claimed, Some(run), &task.id)?;
    Ok(Claim::Task(Box::new(task)))
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::fixture::{TestDatabase, done, retry, test_chat};
    use crate::{requeue, retention};

    #[test]
    fn tasks_of_one_chat_run_in_order_and_never_delay_another_chat() {
        let database = TestDatabase::new();
        for chat in ["1", "1", "2"] {
            database.enqueue(test_chat(chat), "hello");
        }
        let first = database.claim();
        assert_eq!((first.chat.id.as_str(), first.attempt), ("1", 1));
        assert_eq!(database.claim().chat.id, "2");
        assert!(matches!(database.try_claim(), Claim::Nothing { until_ms: None }));
        assert!(database.end(&first, done("ok")));
        assert_eq!(database.claim().chat.id, "1");
    }

    #[test]
    fn the_chat_that_was_served_longest_ago_goes_first() {
        let database = TestDatabase::new();
        for chat in ["a", "a", "a", "b", "b", "c"] {
            database.enqueue(test_chat(chat), "hello");
        }
        let mut served = Vec::new();
        for _ in 0..6 {
            let task = database.claim();
            assert!(database.end(&task, done("ok")));
            served.push(task.chat.id);
        }
        assert_eq!(served, ["a", "b", "c", "a", "b", "a"]);
    }

    #[test]
    fn an_older_task_that_is_requeued_waits_for_the_one_of_its_chat_that_runs() {
        let database = TestDatabase::new();
        let older = database.enqueue(test_chat(1), "older");
        assert!(database.end(&database.claim(), done("ok")));
        database.enqueue(test_chat(1), "newer");
        let newer = database.claim();
        let requeued = requeue::task(&database, &older, true, "control", &database.run).unwrap();
        assert_eq!(requeued, requeue::Requeued::Queued);
        assert!(matches!(database.try_claim(), Claim::Nothing { until_ms: None }));
        assert!(database.end(&newer, done("ok")));
        assert_eq!(database.claim().id, older);
    }

    #[test]
    fn two_tasks_of_one_chat_cannot_run_at_once_whoever_tries() {
        let (database, _running) = TestDatabase::with_claimed(test_chat(1));
        database.enqueue(test_chat(1), "second");
        database.refuses(&["update inbox set state = 'in_progress', attempt = 1, lease_until_ms = 1
                            where state = 'queued'"]);
    }

    #[test]
    fn a_claim_looks_at_one_task_of_a_chat_however_many_wait() {
        let database = TestDatabase::in_a_file();
        database.execute_batch("begin").unwrap();
        for number in 0..1000 {
            database.enqueue(test_chat(1), &number.to_string());
        }
        database.enqueue(test_chat(2), "hello");
        database.claim();
        // What a claim asks for, what its triggers do, and a state that changes.
        for sql in [
            "select seq from chat_turns as turn cross join inbox as task on task.seq = turn.next_seq
             where turn.next_seq is not null order by turn.last_turn, turn.next_seq limit 1",
            "select min(seq) from inbox where channel = 'test' and chat_id = '1'
             and state in ('queued', 'in_progress')",
            "select max(last_turn) + 1 from chat_turns",
            "update inbox set state = 'cancelled', finished_at_ms = 1 where seq = 200",
        ] {
            let mut statement = database.prepare(sql).unwrap();
            let _ = statement.query([]).unwrap().next().unwrap().is_some();
            let steps = statement.steps();
            assert!(steps < 500, "{steps} steps for {sql}");
        }
        assert_eq!(database.claim().chat.id, "2");
    }

    #[test]
    fn a_chat_whose_tasks_were_all_pruned_leaves_no_row() {
        let (database, task) = TestDatabase::with_claimed(test_chat(1));
        assert!(database.end(&task, done("ok")));
        database.enqueue(test_chat(2), "hello");
        retention::tasks(&database, i64::MAX).unwrap();
        assert_eq!(
            database.texts("select chat_id from chat_turns order by chat_id"),
            ["1", "2"],
            "a reply is unsent"
        );
        database.execute("update outbox set state = 'sent', finished_at_ms = 1", []).unwrap();
        retention::tasks(&database, i64::MAX).unwrap();
        assert_eq!(database.texts("select chat_id from chat_turns order by chat_id"), ["2"]);
    }

    #[test]
    fn a_retry_blocks_its_chat_and_says_when_it_is_due() {
        let database = TestDatabase::new();
        let first = database.enqueue(test_chat(1), "first");
        database.enqueue(test_chat(1), "second");
        let task = database.claim();
        assert_eq!(task.id, first);
        let before = now_ms();
        assert!(database.end(&task, retry(30)));
        match database.try_claim() {
            Claim::Nothing { until_ms: Some(due) } => assert!(due >= before + 30_000),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_clock_that_was_set_back_delays_nothing() {
        let (database, task) = TestDatabase::with_claimed(test_chat(1));
        assert!(database.end(&task, retry(30)));
        assert!(matches!(database.try_claim(), Claim::Nothing { until_ms: Some(_) }));
        let hour_ahead = "update inbox set available_at_ms = available_at_ms + 3600000,
                                           updated_at_ms = updated_at_ms + 3600000";
        database.execute(hour_ahead, []).unwrap();
        assert_eq!(database.claim().attempt, 2);
    }

    #[test]
    fn a_lease_is_renewed_only_for_its_own_attempt() {
        let (database, task) = TestDatabase::with_claimed(test_chat(1));
        for (attempt, expected) in [(task.attempt, true), (task.attempt + 1, false)] {
            let renewed = renew(&database, &task.id, attempt, Duration::from_secs(60)).unwrap();
            assert_eq!(renewed, expected);
        }
    }
}
