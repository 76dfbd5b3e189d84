//! Whatever happens to tasks, in any order: events and rows agree, no attempt's number is used twice, and
//! each end gets one reply.

use std::time::Duration;

use proptest::prelude::*;
use proptest::sample::Index;
use protocol::{CallState, EventId, Parked, ParkedCall, ReplyFormat};

use super::attempt::{self, Ending};
use super::claim::{self, Claim, Claimed};
use super::columns::task_id;
use super::fixture::{self, channels};
use super::inbox::{self, IncomingMessage};
use super::sql::Connection;
use super::{cancel, open, requeue};

#[derive(Debug, Clone)]
enum Step {
    Message { chat: u8, update: Option<u8> },
    Claim,
    End { which: Index, ending: Ending },
    StaleEnd { which: Index, ending: Ending },
    Cancel { which: Index },
    CancelInChat { chat: u8, all: bool },
    Requeue { which: Index, force: bool },
}

fn endings() -> impl Strategy<Value = Ending> {
    let text = || "text".to_owned();
    prop_oneof![
        Just(Ending::Done { reply: text(), format: ReplyFormat::Plain }),
        Just(Ending::Cancelled { reply: text() }),
        Just(Ending::Retry { error: text(), after: Duration::ZERO }),
        Just(Ending::Dead { error: text(), reply: text() }),
        Just(Ending::Parked(Box::new(parked()))),
    ]
}

/// What waits for an approval that has expired: it is due at once.
fn parked() -> Parked {
    let state =
        CallState::Waits { approval_id: EventId::new(), expires_at_ms: i64::MIN, key: "key".to_owned() };
    let (id, tool_name, arguments) = ("1".to_owned(), "write".to_owned(), "{}".to_owned());
    let calls = vec![ParkedCall { id, tool_name, arguments, state }];
    Parked { calls, ..Parked::default() }
}

fn steps() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (0..3_u8, proptest::option::of(0..6_u8))
            .prop_map(|(chat, update)| Step::Message { chat, update }),
        4 => Just(Step::Claim),
        3 => (any::<Index>(), endings()).prop_map(|(which, ending)| Step::End { which, ending }),
        2 => (any::<Index>(), endings()).prop_map(|(which, ending)| Step::StaleEnd { which, ending }),
        1 => any::<Index>().prop_map(|which| Step::Cancel { which }),
        1 => (0..3_u8, any::<bool>()).prop_map(|(chat, all)| Step::CancelInChat { chat, all }),
        2 => (any::<Index>(), any::<bool>()).prop_map(|(which, force)| Step::Requeue { which, force }),
    ]
}

/// How many workers take tasks from the queue.
const WORKERS: usize = 3;

/// A queue, the attempts that its workers are at, and all that they were given.
struct World {
    database: Connection,
    run: EventId,
    running: Vec<Claimed>,
    given: Vec<Claimed>,
}

impl World {
    fn take(&mut self, step: Step) {
        let (database, run) = (&self.database, &self.run);
        match step {
            Step::Message { chat, update } => {
                let update_id = update.map(|update| update.to_string());
                let chat = fixture::test_chat(chat);
                let incoming = IncomingMessage { update_id, ..fixture::incoming(chat, "hello") };
                inbox::enqueue(database, &incoming, run).unwrap();
            }
            Step::Claim if self.running.len() < WORKERS => {
                if let Claim::Task(task) = claim::claim(database, Duration::from_secs(60), run).unwrap() {
                    let is_busy = self.running.iter().any(|other| other.chat == task.chat);
                    assert!(!is_busy, "two tasks of a chat run at once");
                    self.given.push((*task).clone());
                    self.running.push(*task);
                }
            }
            Step::Claim => {}
            Step::End { which, ending } => {
                if !self.running.is_empty() {
                    let task = self.running.swap_remove(which.index(self.running.len()));
                    assert!(
                        attempt::end(database, &channels(), &task, &ending).unwrap(),
                        "the running attempt ends"
                    );
                }
            }
            Step::StaleEnd { which, ending } => self.end_stale(which, &ending),
            Step::Cancel { which } => {
                if let Some(id) = self.any_task(which) {
                    cancel::task(database, &channels(), &id, "control").unwrap();
                }
            }
            Step::CancelInChat { chat, all } => {
                cancel::in_chat(database, &fixture::test_chat(chat), all, "telegram").unwrap();
            }
            Step::Requeue { which, force } => {
                if let Some(id) = self.any_task(which) {
                    requeue::task(database, &id, force, "control", run).unwrap();
                }
            }
        }
    }

    /// The result of an attempt that has ended arrives again.
    fn end_stale(&self, which: Index, ending: &Ending) {
        let runs =
            |task: &Claimed| self.running.iter().any(|now| now.id == task.id && now.attempt == task.attempt);
        let stale: Vec<&Claimed> = self.given.iter().filter(|task| !runs(task)).collect();
        if !stale.is_empty() {
            assert!(
                !attempt::end(&self.database, &channels(), stale[which.index(stale.len())], ending).unwrap(),
                "it is not taken"
            );
        }
    }

    fn any_task(&self, which: Index) -> Option<protocol::TaskId> {
        let sql = "select id from inbox order by seq";
        let ids = self.database.query_all(sql, [], |row| task_id(row, 0)).unwrap();
        (!ids.is_empty()).then(|| which.get(&ids).clone())
    }

    /// Checks that a query for an invalid state finds nothing.
    fn assert_none(&self, what: &str, sql: &str) {
        let found = self.database.query_all(sql, [], |row| row.get::<String>(0)).unwrap();
        assert!(found.is_empty(), "{what}: {found:?}");
    }

    fn check(&self) {
        self.assert_none(
            "the last event of a task says another state than its row",
            "select inbox.id from inbox where state is distinct from (
                 select case type when 'task.queued' then 'queued' when 'retry.scheduled' then 'queued'
                     when 'task.parked' then 'queued'
                     when 'task.claimed' then 'in_progress' else substr(type, 6) end
                 from events where task_id = inbox.id and (type like 'task.%' or type = 'retry.scheduled')
                 order by seq desc limit 1)",
        );
        self.assert_none(
            "an attempt's number is missing or given twice",
            "select inbox.id from inbox where attempt <> (
                 select count(distinct payload ->> 'attempt') from events
                 where task_id = inbox.id and type = 'task.claimed')
             or attempt <> (select count(*) from events where task_id = inbox.id and type = 'task.claimed')",
        );
        self.assert_none(
            "an end was answered twice",
            "select task_id from outbox group by task_id, round having count(*) > 1",
        );
        self.assert_none(
            "a task is done or dead without an answer",
            "select id from inbox where state in ('done', 'dead') and not exists (
                 select 1 from outbox where task_id = inbox.id and round = inbox.requeues)",
        );
        self.assert_none(
            "a chat's next task is not its oldest, or it runs already",
            "select chat_id from inbox where state in ('queued', 'in_progress') group by chat_id
             having (select next_seq from chat_turns where chat_turns.chat_id = inbox.chat_id)
                 is not case when sum(state = 'in_progress') = 0
                     then min(seq) filter (where steps_aside = 0) end
             union all select chat_id from chat_turns where next_seq is not null and not exists (
                 select 1 from inbox where seq = next_seq and state = 'queued'
                     and inbox.chat_id = chat_turns.chat_id)",
        );
        self.assert_none(
            "a task that has ended still waits for a person",
            "select task_id from parked join inbox on id = task_id
             where state not in ('queued', 'in_progress')",
        );
        self.assert_none(
            "an attempt that was to be cancelled waits to be tried again",
            "select id from inbox where state = 'queued' and cancel_requested_by is not null",
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn rows_events_and_replies_agree(steps in proptest::collection::vec(steps(), 1..60)) {
        let directory = tempfile::tempdir().unwrap();
        let database = open::for_writing(directory.path().join("autonous.db")).unwrap();
        // Never committed: a sync for each step would take most of the time.
        database.execute_batch("begin").unwrap();
        let mut world = World { database, run: EventId::new(), running: Vec::new(), given: Vec::new() };
        for step in steps {
            world.take(step);
            world.check();
        }
    }
}
