//! What a chat does and uses, from its tasks and their events.

use channel::Chat;
use settings::quotas::DAY_MS;

use super::StoreError;
use super::sql::{Connection, params};

/// The task of a chat that runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Running {
    pub text: String,
    /// When its attempt began, in milliseconds since the epoch.
    pub since_ms: i64,
    /// The turns that it began, in all attempts.
    pub turns: i64,
    /// The tool that it called last.
    pub tool_name: Option<String>,
    /// It waits for a person.
    pub is_parked: bool,
}

/// What a chat used.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Usage {
    /// Those that ran.
    pub tasks: i64,
    pub turns: i64,
    pub input_tokens: i64,
    pub output_tokens: i64,
    /// In millionths of the currency of the prices; none without prices.
    pub cost_micros: Option<i64>,
}

pub fn running(connection: &Connection, chat: &Chat) -> Result<Option<Running>, StoreError> {
    let sql = "select task.text,
                      (select max(time_ms) from events where task_id = task.id and type = 'task.claimed'),
                      (select count(*) from events where task_id = task.id and type = 'turn.started'),
                      (select payload ->> 'tool_name' from events
                       where task_id = task.id and type = 'tool_call.started' order by seq desc limit 1),
                      state = 'queued'
               from inbox as task where channel = ?1 and chat_id = ?2 and state in ('queued', 'in_progress')
                   and (state = 'in_progress' or exists (select 1 from parked where task_id = task.id))
               order by seq limit 1";
    Ok(connection.query_optional(sql, params![chat.channel.as_str(), chat.id], |row| {
        Ok(Running {
            text: row.get(0)?,
            since_ms: row.get(1)?,
            turns: row.get(2)?,
            tool_name: row.get(3)?,
            is_parked: row.get(4)?,
        })
    })?)
}

/// How many tasks of a chat wait to begin.
pub fn waiting(connection: &Connection, chat: &Chat) -> Result<i64, StoreError> {
    let sql = "select count(*) from inbox where channel = ?1 and chat_id = ?2
               and state in ('queued', 'in_progress') and state = 'queued'
               and not exists (select 1 from parked where task_id = id)";
    Ok(connection.query_row(sql, params![chat.channel.as_str(), chat.id], |row| row.get(0))?)
}

/// What a chat used since midnight (UTC): of the tasks that run or ended since then, the turns since then.
pub fn today(connection: &Connection, chat: &Chat, now_ms: i64) -> Result<Usage, StoreError> {
    let midnight = now_ms - now_ms.rem_euclid(DAY_MS);
    let sql = "select count(distinct task.id), count(case when turn.type = 'turn.completed' then 1 end),
                      coalesce(sum(cast(turn.payload ->> 'input_tokens' as bigint)), 0),
                      coalesce(sum(cast(turn.payload ->> 'output_tokens' as bigint)), 0),
                      sum(cast(turn.payload ->> 'cost_micros' as bigint))
               from inbox as task left join events as turn
                   on turn.task_id = task.id and turn.time_ms >= ?3
                       and turn.type in ('turn.completed', 'model_request.completed')
               where task.chat_id = ?2 and task.channel = ?1 and task.attempt > 0
                   and (task.finished_at_ms is null or task.finished_at_ms >= ?3)";
    Ok(connection.query_row(sql, params![chat.channel.as_str(), chat.id, midnight], |row| {
        Ok(Usage {
            tasks: row.get(0)?,
            turns: row.get(1)?,
            input_tokens: row.get(2)?,
            output_tokens: row.get(3)?,
            cost_micros: row.get(4)?,
        })
    })?)
}

#[cfg(test)]
mod tests {
    use protocol::event::TurnCompleted;
    use protocol::now_ms;

    use super::*;
    use crate::fixture::{TestDatabase, call_started, done, test_chat, turn};

    #[test]
    fn a_chat_is_told_of_its_own_work_today() {
        let database = TestDatabase::new();
        assert_eq!(today(&database, &test_chat(1), now_ms()).unwrap(), Usage::default());
        database.enqueue(test_chat(1), "first");
        let first = database.claim();
        database.append(turn(100, 0, 10), None, Some(&first.id));
        assert!(database.end(&first, done("ok")));
        database.enqueue(test_chat(1), "second");
        database.enqueue(test_chat(1), "waits");
        let second = database.claim();
        let with_price = TurnCompleted { cost_micros: Some(5), ..turn(100, 0, 10) };
        database.append(with_price, None, Some(&second.id));
        database.append(call_started("bash", "."), None, Some(&second.id));
        database.enqueue(test_chat(2), "another chat's");

        let running = running(&database, &test_chat(1)).unwrap().unwrap();
        assert_eq!((running.text.as_str(), running.tool_name.as_deref()), ("second", Some("bash")));
        assert_eq!(waiting(&database, &test_chat(1)).unwrap(), 1);
        let used = Usage { tasks: 2, turns: 2, input_tokens: 200, output_tokens: 20, cost_micros: Some(5) };
        assert_eq!(today(&database, &test_chat(1), now_ms()).unwrap(), used);
        let tomorrow = today(&database, &test_chat(1), now_ms() + DAY_MS).unwrap();
        assert_eq!((tomorrow.tasks, tomorrow.turns), (1, 0), "it still runs");
    }
}
