//! How long a message waits: from the control port to the worker's first event.

use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use protocol::now_ms;
use rusqlite::Connection;
use serde_json::Value;

use crate::http::Connection as Http;
use crate::measure::Durations;
use crate::program::{Program, until_ready};
use crate::table::Table;

const MESSAGES: usize = 200;

/// Sends messages through the whole system; the time in the event says when the worker began.
pub(crate) fn bench(table: &mut Table) -> anyhow::Result<()> {
    let place = tempfile::tempdir()?;
    let data = place.path().join("data");
    let (_system, address) = Program::system(&data)?;
    until_ready(address)?;
    let tokens: Value = serde_json::from_slice(&std::fs::read(data.join("tokens"))?)?;
    let token = tokens["control_token"].as_str().context("the supervisor has no token")?;
    let mut latencies = Vec::new();
    for _ in 0..MESSAGES {
        let sent_at = now_ms();
        let mut post = Http::open(address, "POST", "/messages", Some(token), r#"{"text":"ls path=."}"#)?;
        let answer: Value = serde_json::from_slice(post.exchange()?)?;
        let task = answer["task_id"].as_str().context("the message has no task")?.to_owned();
        let wait = format!("/messages/{task}?wait_seconds=30");
        Http::open(address, "GET", &wait, Some(token), "")?.call()?;
        let began_at = first_event(&data.join("db/autonous.db"), &task)?;
        latencies.push(Duration::from_millis(u64::try_from(began_at - sent_at)?));
    }
    let latencies = Durations::new(latencies);
    table.bound("message to the worker's first event, p50", latencies.p50_ms(), 15.0, "ms");
    table.note("the same, p99", format!("{:.1} ms", latencies.percentile_us(99) / 1e3));
    Ok(())
}

fn first_event(database: &Path, task: &str) -> anyhow::Result<i64> {
    let sql = "select time_ms from events where task_id = ?1 and type = 'agent.started' limit 1";
    let found = Connection::open(database)?.query_row(sql, [task], |row| row.get(0));
    found.context("the task never started")
}
