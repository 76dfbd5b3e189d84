//! Schedules: what a chat wants to be done later, and what became of it.

use channel::Chat;
use protocol::event::{ScheduleCancelled, ScheduleCreated, ScheduleDue, ScheduleMissed};
use protocol::{Event, EventId, Origin, TaskId};
use serde::Serialize;

use super::columns::{chat, json};
use super::inbox::{self, IncomingMessage};
use super::sql::{Connection, Row, params};
use super::{StoreError, events};
use crate::timing;

/// A schedule that is later than this is not run any more.
pub(crate) const MOST_LATE_MS: i64 = 24 * 3600 * 1000;

/// The schedules that one transaction makes due, so that the writer is never busy for long.
const BATCH: u32 = 100;

/// So far the clock may be behind an earlier reading before it counts as set back.
const CLOCK_TOLERANCE_MS: i64 = 60_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    /// The call that made it.
    pub id: String,
    pub chat: Chat,
    pub text: String,
    /// A line of cron; none for one time only.
    pub every: Option<String>,
    /// The IANA name of its time zone.
    pub timezone: String,
    pub until_ms: Option<i64>,
    /// How often it still runs; none without a limit.
    pub times_left: Option<u32>,
    pub next_at_ms: i64,
    /// Who asked.
    pub origin: Option<Origin>,
    pub created_at_ms: i64,
}

/// A schedule as it is listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Listed {
    pub schedule_id: String,
    pub channel: String,
    pub chat: String,
    pub text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every: Option<String>,
    pub timezone: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until_ms: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times_left: Option<u32>,
    pub next_at_ms: i64,
}

impl From<Schedule> for Listed {
    fn from(schedule: Schedule) -> Self {
        Self {
            schedule_id: schedule.id,
            channel: schedule.chat.channel.as_str().to_owned(),
            chat: schedule.chat.id,
            text: schedule.text,
            every: schedule.every,
            timezone: schedule.timezone,
            until_ms: schedule.until_ms,
            times_left: schedule.times_left,
            next_at_ms: schedule.next_at_ms,
        }
    }
}

/// Why a schedule that was due is not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missed {
    NoAccess,
    TooLate,
}

impl Missed {
    /// For events and the log.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::NoAccess => "the bot does not work for this chat any more",
            Self::TooLate => "nothing ran for more than a day",
        }
    }
}

/// What became of the schedules that were due.
#[derive(Debug, Default)]
pub struct Due {
    /// Those that were not run.
    pub missed: Vec<(Schedule, Missed)>,
    /// Whether there may be more.
    pub has_more: bool,
}

const COLUMNS: &str = "id, channel, chat_id, text, every, timezone, until_ms, times_left, next_at_ms, origin,
                       created_at_ms";

/// Stores a schedule, unless the chat has `most` already: then false.
pub fn create(
    connection: &Connection,
    schedule: &Schedule,
    most: u32,
    now_ms: i64,
    parent: &EventId,
    task: Option<&TaskId>,
) -> Result<bool, StoreError> {
    let of_chat = "select count(*) from schedules where channel = ?1 and chat_id = ?2";
    let (channel, chat_id) = (schedule.chat.channel.as_str(), &schedule.chat.id);
    let count: u32 = connection.query_row(of_chat, params![channel, chat_id], |row| row.get(0))?;
    if count >= most {
        return Ok(false);
    }
    let origin = schedule.origin.as_ref().map(serde_json::to_string).transpose()?;
    let sql = format!(
        "insert into schedules ({COLUMNS}, updated_at_ms)
         values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)"
    );
    let values = params![
        schedule.id, channel, chat_id, schedule.text, schedule.every, schedule.timezone, schedule.until_ms,
        schedule.times_left, schedule.next_at_ms, origin, schedule.created_at_ms, now_ms,
    ];
    connection.execute(&sql, values)?;
    let created = ScheduleCreated {
        schedule_id: schedule.id.clone(),
        channel: channel.to_owned(),
        chat_id: chat_id.clone(),
        text: schedule.text.clone(),
        every: schedule.every.clone(),
        timezone: schedule.timezone.clone(),
        next_at_ms: schedule.next_at_ms,
    };
    events::append(connection, &Event::now(created, Some(parent), task))?;
    Ok(true)
}

/// Ends a schedule of a chat, by its ID or the end of it. None if the chat has no such schedule.
pub fn cancel(
    connection: &Connection,
    chat: &Chat,
    id: &str,
    by: &str,
    parent: &EventId,
    task: Option<&TaskId>,
) -> Result<Option<Schedule>, StoreError> {
    let mut found = of_chat(connection, chat)?;
    found.retain(|schedule| schedule.id.ends_with(id));
    let (Some(schedule), true) = (found.pop(), found.is_empty()) else { return Ok(None) };
    end(connection, &schedule, by, parent, task)?;
    Ok(Some(schedule))
}

/// Ends all schedules of a chat that may no longer be written to.
pub(super) fn cancel_all(
    connection: &Connection,
    chat: &Chat,
    by: &str,
    parent: &EventId,
) -> Result<(), StoreError> {
    of_chat(connection, chat)?.iter().try_for_each(|schedule| end(connection, schedule, by, parent, None))
}

fn end(
    connection: &Connection,
    schedule: &Schedule,
    by: &str,
    parent: &EventId,
    task: Option<&TaskId>,
) -> Result<(), StoreError> {
    remove(connection, schedule)?;
    let cancelled = ScheduleCancelled { schedule_id: schedule.id.clone(), by: by.to_owned() };
    events::append(connection, &Event::now(cancelled, Some(parent), task))
}

/// A chat's schedules, the next one first.
pub fn of_chat(connection: &Connection, chat: &Chat) -> Result<Vec<Schedule>, StoreError> {
    let sql = format!(
        "select {COLUMNS} from schedules where channel = ?1 and chat_id = ?2 order by next_at_ms, id"
    );
    Ok(connection.query_all(&sql, params![chat.channel.as_str(), chat.id], schedule)?)
}

/// The schedules of all chats, the next one first.
pub fn all(connection: &Connection) -> Result<Vec<Schedule>, StoreError> {
    let sql = format!("select {COLUMNS} from schedules order by next_at_ms, id");
    Ok(connection.query_all(&sql, [], schedule)?)
}

/// When the first schedule is due.
pub fn next_due(connection: &Connection) -> Result<Option<i64>, StoreError> {
    let sql = "select min(next_at_ms) from schedules";
    Ok(connection.query_row(sql, [], |row| row.get(0))?)
}

/// Queues the schedules that are due as tasks, and decides when each is due again. In one transaction, so
/// each time is run once. `may_run` says whether a chat may still be worked for.
pub fn make_due(
    connection: &Connection,
    now_ms: i64,
    least_pause_ms: i64,
    run: &EventId,
    may_run: impl Fn(&Chat) -> bool,
) -> Result<Due, StoreError> {
    decide_again_after_a_set_back(connection, now_ms)?;
    let sql = format!(
        "select {COLUMNS} from schedules where next_at_ms <= ?1 order by next_at_ms, id limit {BATCH}"
    );
    let due = connection.query_all(&sql, [now_ms], schedule)?;
    let has_more = due.len() == usize::try_from(BATCH).unwrap_or(usize::MAX);
    let mut missed = Vec::new();
    for schedule in due {
        let late_ms = now_ms - schedule.next_at_ms;
        let reason = reason_to_miss(late_ms, may_run(&schedule.chat));
        // One that was set when more was allowed comes less often from now on.
        let not_before = schedule.next_at_ms + least_pause_ms - 1;
        let next_at_ms = following(&schedule, now_ms.max(not_before));
        match &reason {
            None => queue(connection, &schedule, late_ms, next_at_ms, run)?,
            Some(reason) => record_missed(connection, &schedule, *reason, next_at_ms, run)?,
        }
        let times_left = schedule.times_left.map(|times| times - u32::from(reason.is_none()));
        match next_at_ms.filter(|_| times_left != Some(0)) {
            Some(next) => {
                let sql = "update schedules set next_at_ms = ?2, times_left = ?3, updated_at_ms = ?4
                           where id = ?1";
                connection.execute(sql, params![schedule.id, next, times_left, now_ms])?;
            }
            None => remove(connection, &schedule)?,
        }
        missed.extend(reason.map(|reason| (schedule, reason)));
    }
    Ok(Due { missed, has_more })
}

/// Why a schedule that is due is not run; none if it is.
fn reason_to_miss(late_ms: i64, may_run: bool) -> Option<Missed> {
    if !may_run {
        Some(Missed::NoAccess)
    } else if late_ms > MOST_LATE_MS {
        Some(Missed::TooLate)
    } else {
        None
    }
}

fn record_missed(
    connection: &Connection,
    schedule: &Schedule,
    reason: Missed,
    next_at_ms: Option<i64>,
    run: &EventId,
) -> Result<(), StoreError> {
    let missed = ScheduleMissed {
        schedule_id: schedule.id.clone(),
        due_at_ms: schedule.next_at_ms,
        reason: reason.reason().to_owned(),
        next_at_ms,
    };
    events::append(connection, &Event::now(missed, Some(run), None))
}

fn queue(
    connection: &Connection,
    schedule: &Schedule,
    late_ms: i64,
    next_at_ms: Option<i64>,
    run: &EventId,
) -> Result<(), StoreError> {
    let zone = timing::zone(&schedule.timezone).unwrap_or(jiff::tz::TimeZone::UTC);
    let set_at = timing::shown(schedule.created_at_ms, &zone);
    let due_at = timing::shown(schedule.next_at_ms, &zone);
    let late = match late_ms / 60_000 {
        ..=1 => String::new(),
        minutes => format!(", {minutes} minutes late because nothing ran then"),
    };
    let origin = Origin {
        scheduled: Some(format!("set on {set_at}, due on {due_at}{late}")),
        ..schedule.origin.clone().unwrap_or_default()
    };
    let incoming = IncomingMessage {
        chat: schedule.chat.clone(),
        update_id: None,
        message_id: None,
        text: schedule.text.clone(),
        origin: Some(origin),
    };
    let Some(task) = inbox::enqueue(connection, &incoming, run)? else { return Ok(()) };
    let event =
        ScheduleDue { schedule_id: schedule.id.clone(), due_at_ms: schedule.next_at_ms, late_ms, next_at_ms };
    events::record(connection, event, Some(run), &task).map(|_| ())
}

/// When a schedule is due after a time: what was due several times meanwhile is run once.
fn following(schedule: &Schedule, after_ms: i64) -> Option<i64> {
    let zone = timing::zone(&schedule.timezone).ok()?;
    let next = timing::next(schedule.every.as_ref()?, &zone, timing::from_ms(after_ms)).ok()?;
    let next = next.as_millisecond();
    schedule.until_ms.is_none_or(|until| next <= until).then_some(next)
}

/// What was decided at a time that is yet to come was decided by a wrong clock.
fn decide_again_after_a_set_back(connection: &Connection, now_ms: i64) -> Result<(), StoreError> {
    let sql = format!("select {COLUMNS} from schedules where updated_at_ms > ?1 and every is not null");
    let wrong = connection.query_all(&sql, [now_ms + CLOCK_TOLERANCE_MS], schedule)?;
    for schedule in wrong {
        let Some(next) = following(&schedule, now_ms) else { continue };
        let sql = "update schedules set next_at_ms = ?2, updated_at_ms = ?3 where id = ?1";
        connection.execute(sql, params![schedule.id, next, now_ms])?;
    }
    Ok(())
}

fn remove(connection: &Connection, schedule: &Schedule) -> Result<(), StoreError> {
    connection.execute("delete from schedules where id = ?1", [&schedule.id])?;
    Ok(())
}

/// The time zone that a chat last named.
pub fn timezone(connection: &Connection, chat: &Chat) -> Result<Option<String>, StoreError> {
    let sql = "select timezone from chat_settings where channel = ?1 and chat_id = ?2";
    let found = connection.query_optional(sql, params![chat.channel.as_str(), chat.id], |row| row.get(0));
    Ok(found?.flatten())
}

/// Remembers the time zone that a chat named.
pub fn remember_timezone(connection: &Connection, chat: &Chat, name: &str) -> Result<(), StoreError> {
    let sql = "insert into chat_settings (channel, chat_id, timezone) values (?1, ?2, ?3)
               on conflict (channel, chat_id) do update set timezone = excluded.timezone";
    connection.execute(sql, params![chat.channel.as_str(), chat.id, name])?;
    Ok(())
}

fn schedule(row: &Row<'_>) -> crate::sql::Result<Schedule> {
    Ok(Schedule {
        id: row.get(0)?,
        chat: chat(row, 1)?,
        text: row.get(3)?,
        every: row.get(4)?,
        timezone: row.get(5)?,
        until_ms: row.get(6)?,
        times_left: row.get(7)?,
        next_at_ms: row.get(8)?,
        origin: json(row, 9)?,
        created_at_ms: row.get(10)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{TestDatabase, test_chat};

    const HOUR: i64 = 3_600_000;
    /// 2026-11-22T09:00:00Z.
    const NINE: i64 = 1_795_338_000_000;

    fn hourly(id: usize) -> Schedule {
        Schedule {
            id: format!("s{id:04}"),
            chat: test_chat(id % 10),
            text: "look".to_owned(),
            every: Some("0 * * * *".to_owned()),
            timezone: "UTC".to_owned(),
            until_ms: None,
            times_left: None,
            next_at_ms: NINE,
            origin: None,
            created_at_ms: NINE - HOUR,
        }
    }

    fn stored(schedules: impl IntoIterator<Item = Schedule>) -> TestDatabase {
        let database = TestDatabase::new();
        for schedule in schedules {
            assert!(create(&database, &schedule, 1000, NINE - HOUR, &database.run, None).unwrap());
        }
        database
    }

    fn due(database: &TestDatabase, now: i64) -> Due {
        make_due(database, now, 5 * 60_000, &database.run, |_| true).unwrap()
    }

    fn queued(database: &TestDatabase) -> i64 {
        database.column::<i64>("select count(*) from inbox")[0]
    }

    #[test]
    fn a_thousand_that_are_due_are_each_queued_once() {
        let once = (0..1000).map(|id| Schedule { every: None, ..hourly(id) });
        let database = stored(once);
        assert!(!due(&database, NINE - 1).has_more && queued(&database) == 0);
        while due(&database, NINE).has_more {}
        while due(&database, NINE + HOUR).has_more {}
        assert_eq!((queued(&database), next_due(&database).unwrap()), (1000, None));
        let events =
            "select count(distinct payload ->> 'schedule_id') from events where type = 'schedule.due'";
        assert_eq!(database.column::<i64>(events), [1000]);
    }

    #[test]
    fn what_was_due_several_times_is_run_once_and_what_is_a_day_late_is_not() {
        let database = stored([hourly(1), Schedule { every: None, ..hourly(2) }]);
        assert!(due(&database, NINE + 5 * HOUR + 1).missed.is_empty());
        assert_eq!((queued(&database), next_due(&database).unwrap()), (2, Some(NINE + 6 * HOUR)));
        let scheduled = database.texts("select origin ->> 'scheduled' from inbox");
        assert!(scheduled[0].contains("due on 2026-11-22 09:00 UTC, 300 minutes late"), "{scheduled:?}");
        let missed = due(&database, NINE + 31 * HOUR).missed;
        assert_eq!((missed.len(), queued(&database)), (1, 2));
        assert_eq!(next_due(&database).unwrap(), Some(NINE + 32 * HOUR), "it goes on");
        let database = stored([Schedule { every: None, ..hourly(2) }]);
        assert_eq!(due(&database, NINE + 25 * HOUR).missed[0].1, Missed::TooLate);
        assert_eq!((queued(&database), next_due(&database).unwrap()), (0, None));
    }

    #[test]
    fn a_schedule_ends_at_its_time_or_after_its_number() {
        let twice = Schedule { times_left: Some(2), ..hourly(1) };
        let until = Schedule { until_ms: Some(NINE + HOUR), ..hourly(2) };
        let database = stored([twice, until]);
        for hour in 0..4 {
            due(&database, NINE + hour * HOUR);
        }
        assert_eq!((queued(&database), next_due(&database).unwrap()), (4, None));
    }

    #[test]
    fn one_of_every_minute_comes_every_five() {
        let database = stored([Schedule { every: Some("* * * * *".to_owned()), ..hourly(1) }]);
        for minute in 0..=10 {
            due(&database, NINE + minute * 60_000);
        }
        assert_eq!((queued(&database), next_due(&database).unwrap()), (3, Some(NINE + 15 * 60_000)));
    }

    #[test]
    fn a_clock_that_jumps_ahead_and_back_does_not_silence_a_schedule() {
        let database = stored([hourly(1)]);
        due(&database, NINE);
        due(&database, NINE + 20 * HOUR);
        assert_eq!(next_due(&database).unwrap(), Some(NINE + 21 * HOUR));
        due(&database, NINE + HOUR / 2);
        assert_eq!(next_due(&database).unwrap(), Some(NINE + HOUR));
    }

    #[test]
    fn a_chat_that_may_no_longer_be_worked_for_gets_nothing() {
        let database = stored([Schedule { every: None, ..hourly(1) }]);
        let missed = make_due(&database, NINE, 0, &database.run, |_| false).unwrap().missed;
        assert_eq!((missed.len(), queued(&database)), (1, 0));
    }

    #[test]
    fn a_chat_has_only_so_many_and_cancels_only_its_own() {
        let database = stored([hourly(1), hourly(11)]);
        assert!(!create(&database, &hourly(21), 2, NINE, &database.run, None).unwrap());
        let cancel = |chat: usize, id: &str| {
            let ended = cancel(&database, &test_chat(chat), id, "test", &database.run, None).unwrap();
            ended.map(|schedule| schedule.id)
        };
        assert_eq!(cancel(2, "s0001"), None);
        assert_eq!(cancel(1, "1"), None, "several end like this");
        assert_eq!(cancel(1, "s0001").as_deref(), Some("s0001"));
        assert_eq!(cancel(1, "s0001"), None);
        assert_eq!(database.texts("select type from events where type like 'schedule.c%'").len(), 3);
    }
}
