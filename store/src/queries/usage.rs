//! What was used, by day (UTC), chat and model.

use serde::Serialize;

use crate::sql::{Connection, params};

/// What a chat used of a model in a day; or how long its commands ran, without a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Used {
    /// As `2026-01-31`.
    pub day: String,
    pub channel: String,
    pub chat: String,
    /// None where commands ran.
    pub model: Option<String>,
    pub tasks: i64,
    pub turns: i64,
    pub input_tokens: i64,
    pub cached_input_tokens: i64,
    pub output_tokens: i64,
    pub command_ms: i64,
    /// In millionths of the currency of the prices; none without prices.
    pub cost_micros: Option<i64>,
}

/// Everything since a time, oldest day first.
pub fn used(
    connection: &Connection,
    since_ms: i64,
    chat: Option<&str>,
) -> Result<Vec<Used>, crate::sql::Error> {
    let sql = "select strftime('%Y-%m-%d', event.time_ms / 1000, 'unixepoch') as day,
                      task.channel, task.chat_id,
                      event.payload ->> 'model_name' as model, count(distinct task.id),
                      count(*) filter (where event.type = 'turn.completed'),
                      coalesce(sum(cast(event.payload ->> 'input_tokens' as bigint)), 0),
                      coalesce(sum(cast(event.payload ->> 'cached_input_tokens' as bigint)), 0),
                      coalesce(sum(cast(event.payload ->> 'output_tokens' as bigint)), 0),
                      coalesce(sum(cast(event.payload ->> 'latency_ms' as bigint))
                               filter (where event.type in ('tool_call.completed', 'tool_call.failed')), 0),
                      sum(cast(event.payload ->> 'cost_micros' as bigint))
               from events as event join inbox as task on task.id = event.task_id
               where event.time_ms >= ?1 and (?2 is null or task.chat_id = ?2)
                   and (event.type in ('turn.completed', 'model_request.completed')
                        or event.type in ('tool_call.completed', 'tool_call.failed')
                            and event.payload ->> 'tool_name' in ('bash', 'run_script'))
               group by day, task.channel, task.chat_id, model
               order by day, task.channel, task.chat_id, model nulls last";
    connection.query_all(sql, params![since_ms, chat], |row| {
        Ok(Used {
            day: row.get(0)?,
            channel: row.get(1)?,
            chat: row.get(2)?,
            model: row.get(3)?,
            tasks: row.get(4)?,
            turns: row.get(5)?,
            input_tokens: row.get(6)?,
            cached_input_tokens: row.get(7)?,
            output_tokens: row.get(8)?,
            command_ms: row.get(9)?,
            cost_micros: row.get(10)?,
        })
    })
}
