//! Messages to the whole system: how long one waits for the worker's first event, and many chats for their
//! replies, with one worker and with four.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use harness::System;
use protocol::now_ms;

use crate::measure::Durations;
use crate::model::FakeModel;
use crate::table::Table;

const MESSAGES: usize = 200;

/// What the model takes for a turn, as a fast real one would. A task has two turns and one call, so the rest
/// of the measured time is one chat's wait for another.
const TURN: Duration = Duration::from_millis(200);
const CHATS: [usize; 3] = [1, 16, 64];
const WORKERS: [usize; 2] = [1, 4];
/// How many messages wait in the one chat, while another has a single one.
const BACKLOG: usize = 1000;

/// From the control port to the worker's first event, whose time says when the worker began. On PostgreSQL
/// where a server is named for the tests (`tests/postgres.sh`).
pub(crate) fn first_event(table: &mut Table) -> anyhow::Result<()> {
    let system = System::start();
    let mut latencies = Vec::new();
    for _ in 0..MESSAGES {
        let sent_at = now_ms();
        let task = system.run_task("ls path=.");
        let sql = format!("select time_ms from events where task_id = '{task}' and type = 'agent.started'");
        let began_at: i64 =
            *system.database().rows(&sql, |row| row.get(0)).first().context("it never started")?;
        latencies.push(Duration::from_millis(u64::try_from(began_at - sent_at)?));
    }
    let latencies = Durations::new(latencies);
    table.within("message to the worker's first event, p50", latencies.p50(), 15.0);
    table.time("the same, p99", latencies.percentile(99));
    Ok(())
}

pub(crate) fn many_chats(table: &mut Table) -> anyhow::Result<()> {
    let model = FakeModel::start(TURN, 1)?;
    let start = |workers: usize| {
        let [(provider, openai), (url, address)] = model.variables();
        System::builder().workers(workers).variable(provider, &openai).variable(url, &address).start()
    };
    let mut rates = [[0.0; CHATS.len()]; WORKERS.len()];
    for (rates, workers) in rates.iter_mut().zip(WORKERS) {
        let system = start(workers);
        for (rate, chats) in rates.iter_mut().zip(CHATS) {
            let began = Instant::now();
            let waits = replies(&system, chats);
            *rate = f64::from(u32::try_from(chats)?) / began.elapsed().as_secs_f64();
            let [p50, p99] = [50, 99].map(|percentile| waits.percentile(percentile).as_secs_f64());
            let what = format!("{chats} chats, {workers} workers: time to a reply");
            table.note(&what, format!("{p50:.2} s, p99 {p99:.2} s, {rate:.1}/s"));
        }
    }
    for (at, chats) in CHATS.into_iter().enumerate().skip(1) {
        let what = format!("replies a second in {chats} chats, 4 workers against 1");
        table.reach(&what, rates[1][at] / rates[0][at], 3.5, "times");
    }
    let system = start(4);
    for _ in 0..BACKLOG {
        system.say_in("busy", "/queue look around");
    }
    let waits = (0..3).map(|_| reply(&system, "other")).collect();
    let what = format!("a reply beside {BACKLOG} messages of another chat");
    table.within(&what, Durations::new(waits).p50(), 1000.0);
    Ok(())
}

/// How long each of so many chats waits that write at once.
fn replies(system: &System, chats: usize) -> Durations {
    thread::scope(|scope| {
        let chats: Vec<_> =
            (0..chats).map(|chat| scope.spawn(move || reply(system, &format!("chat-{chat}")))).collect();
        Durations::new(chats.into_iter().map(|chat| chat.join().expect("a chat does not panic")).collect())
    })
}

fn reply(system: &System, chat: &str) -> Duration {
    let began = Instant::now();
    system.reply(&system.say_in(chat, "look around"));
    began.elapsed()
}
