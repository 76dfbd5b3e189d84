//! Whether a task may begin, by what its chat and its user have used since midnight (UTC).
//!
//! What was used is counted from the events, so that it survives every restart. It is asked in the
//! transaction that claims the task: workers that claim at the same time are asked one after the other. What
//! the running task may use is its budget. A chat runs one task at a time; so that the budgets of two tasks
//! never overlap, a user whose turns, tokens or money are limited does too.

use channel::Chat;
use protocol::{Quota, TaskId};
use settings::quotas::{DAY_MS, DailyLimits, Limits};
use texts::{Language, Text};

use super::StoreError;
use super::sql::{Connection, params};

/// The tools whose time counts as that of commands.
const COMMANDS: &str = "('bash', 'run_script')";

/// The events with what a model's reply took: of a turn, or of a request beside the turns.
const REPLIES: &str = "('turn.completed', 'model_request.completed')";

/// What was used since midnight.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Used {
    pub tasks: u64,
    pub turns: u64,
    pub tokens: u64,
    pub command_ms: u64,
    pub cost_micros: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It may begin, and use this.
    Run(Option<Quota>),
    /// Not before midnight.
    Exhausted(UsedUp),
    /// Not while another task of the same user runs.
    UserBusy,
}

/// A limit of the day that is used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UsedUp {
    what: Counted,
    /// As the setting has it; money in millionths.
    limit: u64,
    /// `chat` or `user`.
    of: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Counted {
    Tasks,
    Turns,
    Tokens,
    CommandSeconds,
    Money,
}

impl UsedUp {
    /// Such as `20 tasks a day for this chat`.
    pub fn in_words(&self, language: Language) -> String {
        let (limit, of) = (signed(self.limit), self.of);
        let text = match self.what {
            Counted::Tasks => Text::LimitTasks { limit, of },
            Counted::Turns => Text::LimitTurns { limit, of },
            Counted::Tokens => Text::LimitTokens { limit, of },
            Counted::CommandSeconds => Text::LimitCommandSeconds { limit, of },
            Counted::Money => {
                return Text::LimitMoney { limit: &money_in_words(self.limit), of }.to(language);
            }
        };
        text.to(language)
    }
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Who is counted.
enum Of<'a> {
    Chat(&'a Chat),
    User(&'a str),
}

impl Of<'_> {
    fn condition(&self) -> &'static str {
        match self {
            Self::Chat(_) => "task.chat_id = ?2 and task.channel = ?3",
            Self::User(_) => "task.user_id = ?2 and ?3 = ?3",
        }
    }

    fn values(&self) -> (&str, &str) {
        match self {
            Self::Chat(chat) => (&chat.id, chat.channel.as_str()),
            Self::User(user) => (user, ""),
        }
    }

    const fn name(&self) -> &'static str {
        match self {
            Self::Chat(_) => "chat",
            Self::User(_) => "user",
        }
    }
}

/// Whether a task of this chat and user may begin.
pub(crate) fn judge(
    connection: &Connection,
    limits: &Limits,
    (task, chat, user): (&TaskId, &Chat, Option<&str>),
    now_ms: i64,
) -> Result<Verdict, StoreError> {
    let mut quota = None;
    let subjects = [(Some(Of::Chat(chat)), &limits.chat), (user.map(Of::User), &limits.user)];
    for (of, limits) in subjects.into_iter().filter_map(|(of, limits)| Some((of?, *limits))) {
        // Of a chat the tool server holds each command; its other tools go on.
        let limits = match of {
            Of::Chat(_) => DailyLimits { command_seconds_per_day: None, ..limits },
            Of::User(_) => limits,
        };
        if limits == DailyLimits::default() {
            continue;
        }
        let is_divided = limits.turns_per_day.is_some()
            || limits.tokens_per_day.is_some()
            || limits.money_per_day.is_some();
        if let (Of::User(user), true) = (&of, is_divided)
            && is_busy(connection, user)?
        {
            return Ok(Verdict::UserBusy);
        }
        let used = used(connection, &of, task.as_str(), now_ms)?;
        match left(&limits, &used, of.name()) {
            Ok(more) => quota = Some(narrower(quota, more)),
            Err(exhausted) => return Ok(Verdict::Exhausted(exhausted)),
        }
    }
    Ok(Verdict::Run(quota.filter(|quota| *quota != Quota::default())))
}

/// The rest of the day's limits; an error names the one that is used up.
fn left(limits: &DailyLimits, used: &Used, of: &'static str) -> Result<Quota, UsedUp> {
    let left = |limit: Option<u64>, used: u64, what: Counted| match limit {
        Some(limit) if used >= limit => Err(UsedUp { what, limit, of }),
        limit => Ok(limit.map(|limit| limit - used)),
    };
    left(limits.tasks_per_day, used.tasks, Counted::Tasks)?;
    left(limits.command_seconds_per_day, used.command_ms / 1000, Counted::CommandSeconds)?;
    let money = limits.money_per_day.map(|money| money.0);
    left(money, used.cost_micros, Counted::Money)?;
    Ok(Quota {
        turns: left(limits.turns_per_day, used.turns, Counted::Turns)?,
        tokens: left(limits.tokens_per_day, used.tokens, Counted::Tokens)?,
        cost_micros: money.map(|limit| limit - used.cost_micros),
    })
}

/// What was used of each limit of a chat and a user, a line for each of them.
pub fn told(
    connection: &Connection,
    limits: &Limits,
    chat: &Chat,
    user: Option<&str>,
    (now_ms, language): (i64, Language),
) -> Result<Vec<String>, StoreError> {
    let mut lines = Vec::new();
    let subjects = [(Some(Of::Chat(chat)), &limits.chat), (user.map(Of::User), &limits.user)];
    for (of, limits) in subjects.into_iter().filter_map(|(of, limits)| Some((of?, limits))) {
        let used = used(connection, &of, "", now_ms)?;
        let parts = &used_of(&used, limits, language).join(", ");
        let line = match of {
            Of::Chat(_) => Text::UsedByChat { parts },
            Of::User(_) => Text::UsedByUser { parts },
        };
        lines.extend((!parts.is_empty()).then(|| line.to(language)));
    }
    Ok(lines)
}

/// What was used of each limit that there is.
fn used_of(used: &Used, limits: &DailyLimits, language: Language) -> Vec<String> {
    let part = |used: u64, limit: Option<u64>, text: fn(i64, i64) -> Text<'static>| {
        limit.map(|limit| text(signed(used), signed(limit)).to(language))
    };
    let seconds = used.command_ms / 1000;
    let money = limits.money_per_day.map(|limit| {
        let (used, limit) = (&money_in_words(used.cost_micros), &money_in_words(limit.0));
        Text::UsedMoney { used, limit }.to(language)
    });
    let parts = [
        part(used.tasks, limits.tasks_per_day, |used, limit| Text::UsedTasks { used, limit }),
        part(used.turns, limits.turns_per_day, |used, limit| Text::UsedTurns { used, limit }),
        part(used.tokens, limits.tokens_per_day, |used, limit| Text::UsedTokens { used, limit }),
        part(seconds, limits.command_seconds_per_day, |used, limit| Text::UsedCommandSeconds { used, limit }),
        money,
    ];
    parts.into_iter().flatten().collect()
}

/// An amount in millionths, as `2.50`.
pub fn money_in_words(micros: u64) -> String {
    let (whole, rest) = (micros / 1_000_000, micros % 1_000_000);
    if rest.is_multiple_of(10_000) {
        format!("{whole}.{:02}", rest / 10_000)
    } else {
        format!("{whole}.{rest:06}")
    }
}

fn narrower(one: Option<Quota>, other: Quota) -> Quota {
    let least = |one: Option<u64>, other: Option<u64>| [one, other].into_iter().flatten().min();
    let one = one.unwrap_or_default();
    Quota {
        turns: least(one.turns, other.turns),
        tokens: least(one.tokens, other.tokens),
        cost_micros: least(one.cost_micros, other.cost_micros),
    }
}

fn is_busy(connection: &Connection, user: &str) -> Result<bool, StoreError> {
    let sql = "select exists (select 1 from inbox where user_id = ?1 and state = 'in_progress')";
    Ok(connection.query_row(sql, [user], |row| row.get(0))?)
}

/// What was used since midnight. A task counts once on each day on which it begins; the one that asks does
/// not count against itself, whose earlier attempt may have begun today.
fn used(connection: &Connection, of: &Of<'_>, task: &str, now_ms: i64) -> Result<Used, StoreError> {
    let midnight = now_ms - now_ms.rem_euclid(DAY_MS);
    let condition = of.condition();
    let sql = format!(
        "select count(distinct case when event.type = 'task.claimed' and task.id <> ?4 then task.id end),
                count(case when event.type = 'turn.completed' then 1 end),
                coalesce(sum(case when event.type in {REPLIES} then
                    max(0, cast(event.payload ->> 'input_tokens' as bigint)
                           - cast(event.payload ->> 'cached_input_tokens' as bigint))
                    + cast(event.payload ->> 'output_tokens' as bigint) end), 0),
                coalesce(sum(case when event.type in ('tool_call.completed', 'tool_call.failed')
                    and event.payload ->> 'tool_name' in {COMMANDS}
                    then cast(event.payload ->> 'latency_ms' as bigint) end), 0),
                coalesce(sum(case when event.type in {REPLIES}
                    then cast(event.payload ->> 'cost_micros' as bigint) end), 0)
         from inbox as task join events as event on event.task_id = task.id and event.time_ms >= ?1
         where {condition} and task.attempt > 0
             and (task.finished_at_ms is null or task.finished_at_ms >= ?1)"
    );
    let (id, channel) = of.values();
    let number = |row: &crate::sql::Row<'_>, column: usize| {
        Ok::<_, crate::sql::Error>(u64::try_from(row.get::<i64>(column)?).unwrap_or(0))
    };
    Ok(connection.query_row(&sql, params![midnight, id, channel, task], |row| {
        Ok(Used {
            tasks: number(row, 0)?,
            turns: number(row, 1)?,
            tokens: number(row, 2)?,
            command_ms: number(row, 3)?,
            cost_micros: number(row, 4)?,
        })
    })?)
}

#[cfg(test)]
mod tests {
    use protocol::event::TurnCompleted;
    use protocol::{Origin, Sender, now_ms};

    use super::*;
    use crate::claim::{Claim, Claimed, claim_within};
    use crate::fixture::{self, TestDatabase, done, test_chat};
    use crate::inbox::{IncomingMessage, enqueue};

    fn limits(of: &str, set: impl FnOnce(&mut DailyLimits)) -> Limits {
        let mut limits = Limits::default();
        set(if of == "chat" { &mut limits.chat } else { &mut limits.user });
        limits
    }

    fn turn(tokens: u64, cost_micros: Option<u64>) -> TurnCompleted {
        TurnCompleted { cost_micros, ..fixture::turn(tokens, 5, 5) }
    }

    fn ada() -> Sender {
        Sender { id: "7".to_owned().into(), name: "Ada".to_owned(), username: None, is_bot: false }
    }

    fn from_ada(database: &TestDatabase, chat: i64) {
        let origin = Some(Origin { from: Some(ada()), ..Origin::default() });
        let message = IncomingMessage { origin, ..fixture::incoming(test_chat(chat), "hello") };
        enqueue(database, &message, &database.run).unwrap();
    }

    fn next(database: &TestDatabase, limits: &Limits) -> Claim {
        claim_within(database, limits, std::time::Duration::from_secs(60), &database.run).unwrap()
    }

    fn begun(database: &TestDatabase, limits: &Limits) -> Claimed {
        match next(database, limits) {
            Claim::Task(task) => *task,
            other => panic!("{other:?}"),
        }
    }

    fn exhausted(claim: Claim) -> String {
        match claim {
            Claim::Exhausted(exhausted) => exhausted.limit.in_words(Language::English),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_task_begins_with_what_is_left_of_the_day_and_not_without() {
        let database = TestDatabase::new();
        let limits = limits("chat", |chat| {
            (chat.turns_per_day, chat.tokens_per_day) = (Some(3), Some(200));
            chat.money_per_day = Some(settings::quotas::Money(1000));
        });
        database.enqueue(test_chat(1), "one");
        let first = begun(&database, &limits);
        let whole = Quota { turns: Some(3), tokens: Some(200), cost_micros: Some(1000) };
        assert_eq!(first.quota, Some(whole));
        database.append(turn(100, Some(10)), None, Some(&first.id));
        assert!(database.end(&first, done("ok")));
        database.enqueue(test_chat(1), "two");
        let second = begun(&database, &limits);
        let rest = Quota { turns: Some(2), tokens: Some(100), cost_micros: Some(990) };
        assert_eq!(second.quota, Some(rest));
        database.append(turn(0, Some(990)), None, Some(&second.id));
        assert!(database.end(&second, done("ok")));
        database.enqueue(test_chat(1), "three");
        assert_eq!(exhausted(next(&database, &limits)), "0.001000 of money a day for this chat");
        let third = database.claim();
        let subject = (&third.id, &third.chat, None);
        let tomorrow = judge(&database, &limits, subject, now_ms() + DAY_MS).unwrap();
        assert_eq!(tomorrow, Verdict::Run(Some(whole)), "another day begins anew");
    }

    #[test]
    fn workers_that_claim_one_after_the_other_never_begin_more_tasks_than_a_user_may() {
        let database = TestDatabase::new();
        let limits = limits("user", |user| user.tasks_per_day = Some(2));
        (1..=4).for_each(|chat| from_ada(&database, chat));
        let (first, _second) = (begun(&database, &limits), begun(&database, &limits));
        assert_eq!(exhausted(next(&database, &limits)), "2 tasks a day for you");
        assert!(database.end(&first, done("ok")));
        assert_eq!(exhausted(next(&database, &limits)), "2 tasks a day for you", "an ended task counts");
    }

    #[test]
    fn tasks_of_a_user_with_a_budget_run_one_at_a_time_and_keep_nobody_else_waiting() {
        let database = TestDatabase::new();
        let limits = limits("user", |user| user.turns_per_day = Some(5));
        from_ada(&database, 1);
        from_ada(&database, 2);
        database.enqueue(test_chat(3), "somebody else's");
        let first = begun(&database, &limits);
        assert_eq!(first.quota.unwrap().turns, Some(5));
        let other = begun(&database, &limits);
        assert_eq!((other.chat.id.as_str(), other.quota), ("3", None));
        assert!(matches!(next(&database, &limits), Claim::Nothing { until_ms: None }));
        database.append(turn(1, None), None, Some(&first.id));
        assert!(database.end(&first, done("ok")));
        assert_eq!(begun(&database, &limits).quota.unwrap().turns, Some(4));
    }

    #[test]
    fn another_attempt_of_the_last_task_may_run() {
        let database = TestDatabase::new();
        let limits = limits("chat", |chat| chat.tasks_per_day = Some(1));
        database.enqueue(test_chat(1), "one");
        let first = begun(&database, &limits);
        assert!(database.end(&first, fixture::retry(0)));
        assert_eq!(begun(&database, &limits).id, first.id);
    }
}
