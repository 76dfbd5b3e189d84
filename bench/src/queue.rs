//! The supervisor's queue: a message is stored, claimed and ended with its events, history and reply, in
//! SQLite beside bare SQLite with as many commits of one small row, and on a PostgreSQL server of this
//! machine.
//!
//! A commit waits for the disk, so the disk decides the times; only the ratios are about the queue.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use channel::{ChannelName, Channels, Chat};
use harness::Postgres;
use protocol::event::ProcessStarted;
use protocol::{Event, EventId, ReplyFormat};
use store::attempt::{Ending, end};
use store::claim::{Claim, Claimed, claim};
use store::inbox::{IncomingMessage, enqueue};
use store::open::for_writing;
use store::sql::Connection;
use store::sql::address::ServerAddress;
use store::{Location, Store, StoreError, events};
use tokio::runtime::Runtime;

use crate::measure::Durations;
use crate::table::Table;

/// Tasks one after the other, in each turn.
const TASKS: u32 = 50;
/// Turns of these tasks and of bare commits, because the speed of the disk varies.
const TURNS: usize = 10;
/// Commits per task: it is stored, claimed and ended.
const COMMITS: u32 = 3;
/// How many people ask at once.
const AT_ONCE: u32 = 64;
const TASKS_EACH: u32 = 50;
/// The same on a server, which takes longer.
const TASKS_EACH_ON_A_SERVER: u32 = 10;
/// How many finished tasks lie beside the one that is claimed.
const FINISHED: [u32; 2] = [1000, 1_000_000];
const CLAIMS: usize = 2000;
const TELEGRAM: ChannelName = ChannelName::new("telegram");
const LEASE: Duration = Duration::from_secs(60);

pub(crate) fn bench(table: &mut Table) -> anyhow::Result<()> {
    let place = tempfile::tempdir()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    one_by_one(table, place.path(), &runtime)?;
    let file = Location::from(place.path().join("together.db"));
    let together = runtime.block_on(tasks_a_second(&[file], TASKS_EACH))?;
    table.reach(&format!("tasks, {AT_ONCE} at once"), together, 2000.0, "/s");
    let mut claims = Vec::new();
    for finished in FINISHED {
        let claim = claims_beside(&place.path().join(format!("{finished}.db")), finished)?;
        table.time(&format!("a claim beside {finished} finished tasks, p50"), claim.p50());
        claims.push(claim);
    }
    table.bound("the one against the other", claims[1].against(&claims[0]), 1.5, "times");
    Ok(())
}

/// By one node and by two, each with people of its own. Nodes commit one after another, so a second one adds
/// little here; it adds a machine for commands.
pub(crate) fn on_a_server(table: &mut Table) -> anyhow::Result<()> {
    if !Postgres::is_installed() {
        table.note("tasks on PostgreSQL", "PostgreSQL is not installed".to_owned());
        return Ok(());
    }
    // Its client waits on the thread of the writer alone.
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let mut rates = Vec::new();
    for nodes in [&["a"][..], &["a", "b"]] {
        let server = Postgres::synced();
        let node = |name: &&str| {
            Ok(Location::Server(Arc::new(ServerAddress::parse(&server.url(""))?.by_node(name))))
        };
        let nodes = nodes.iter().map(node).collect::<anyhow::Result<Vec<_>>>()?;
        rates.push(runtime.block_on(tasks_a_second(&nodes, TASKS_EACH_ON_A_SERVER))?);
    }
    table.reach(&format!("tasks on PostgreSQL, {AT_ONCE} at once"), rates[0], 300.0, "/s");
    table.note(
        "tasks on PostgreSQL, two nodes",
        format!("{:.0}/s, {:.2} times", rates[1], rates[1] / rates[0]),
    );
    Ok(())
}

/// Bare commits and tasks, in turns.
fn one_by_one(table: &mut Table, place: &Path, runtime: &Runtime) -> anyhow::Result<()> {
    let mut connection = rusqlite::Connection::open(place.join("bare.db"))?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(None, "synchronous", "full")?;
    connection.execute_batch("create table row (number integer primary key, text text)")?;
    let (store, run) = runtime.block_on(opened(place.join("alone.db")))?;
    let mut turn = 0;
    let mut alone = || {
        turn += 1;
        Ok(runtime.block_on(have_done(store.clone(), run.clone(), turn, TASKS))?)
    };
    let [bare, alone] = Durations::in_turns(TURNS, 1, [&mut || commit_rows(&mut connection), &mut alone])?;
    let a_second = |count: u32, durations: &Durations| f64::from(count) / durations.p50().as_secs_f64();
    let (bare, alone) = (a_second(TASKS * COMMITS, &bare), a_second(TASKS, &alone));
    table.note("bare SQLite, commits of one row", format!("{bare:.0}/s"));
    table.note("tasks, one after the other", format!("{alone:.0}/s"));
    table.reach("their commits against bare ones", alone * f64::from(COMMITS) / bare, 0.5, "times");
    Ok(())
}

/// One row, one commit, synced as the supervisor's are.
fn commit_rows(connection: &mut rusqlite::Connection) -> anyhow::Result<()> {
    for _ in 0..TASKS * COMMITS {
        let transaction = connection.transaction()?;
        transaction.prepare_cached("insert into row (text) values (?1)")?.execute(["a message"])?;
        transaction.commit()?;
    }
    Ok(())
}

async fn opened(location: impl Into<Location>) -> anyhow::Result<(Store, EventId)> {
    let store = Store::open(location)?;
    let [version, control_url, tool_url] = [const { String::new() }; 3];
    let started = Event::now(ProcessStarted { pid: 1, version, control_url, tool_url }, None, None);
    let run = started.id.clone();
    store.write(move |tx| events::append(tx, &started)).await?;
    Ok((store, run))
}

/// Tasks per second while many people have tasks done, each of them one after the other; with as many of them
/// at each place.
async fn tasks_a_second(places: &[Location], tasks_each: u32) -> anyhow::Result<f64> {
    let mut stores = Vec::new();
    for place in places {
        stores.push(opened(place).await?);
    }
    let began = Instant::now();
    let mut working = tokio::task::JoinSet::new();
    for (person, (store, run)) in (0..AT_ONCE).zip(stores.iter().cycle()) {
        working.spawn(have_done(store.clone(), run.clone(), person, tasks_each));
    }
    while let Some(done) = working.join_next().await {
        done??;
    }
    Ok(f64::from(AT_ONCE * tasks_each) / began.elapsed().as_secs_f64())
}

async fn have_done(store: Store, run: EventId, person: u32, tasks: u32) -> Result<(), StoreError> {
    for number in 0..tasks {
        let incoming = incoming(person, i64::from(person * tasks + number));
        let at = run.clone();
        store.write(move |tx| enqueue(tx, &incoming, &at)).await?;
        let task = claimed(&store, &run).await?;
        let ending = Ending::Done { reply: "Buy milk.".to_owned(), format: ReplyFormat::Markdown };
        store.write(move |tx| end(tx, &Channels::new([]), &task, &ending)).await?;
    }
    Ok(())
}

/// Claims a task, not always one's own. There are always enough open ones, but for a moment they may all wait
/// behind another task of their chat.
async fn claimed(store: &Store, run: &EventId) -> Result<Claimed, StoreError> {
    loop {
        let run = run.clone();
        match store.write(move |tx| claim(tx, LEASE, &run)).await? {
            Claim::Task(task) => return Ok(*task),
            Claim::Nothing { .. } | Claim::Exhausted(_) => tokio::task::yield_now().await,
        }
    }
}

fn incoming(chat: u32, update_id: i64) -> IncomingMessage {
    let text = "What is in the notes?".to_owned();
    let chat = Chat::new(TELEGRAM, chat);
    IncomingMessage { chat, update_id: Some(update_id.to_string()), message_id: None, text, origin: None }
}

/// Claims a task and rolls back, because the disk time of a commit would hide the claim's.
fn claims_beside(path: &Path, finished: u32) -> anyhow::Result<Durations> {
    let connection = for_writing(path)?;
    finish(&connection, finished)?;
    let run = EventId::new();
    enqueue(&connection, &incoming(1, i64::from(finished) + 1), &run)?;
    Durations::of(CLAIMS, || {
        connection.begin()?;
        let claim = claim(&connection, LEASE, &run)?;
        anyhow::ensure!(matches!(claim, Claim::Task(_)), "nothing was claimed");
        connection.roll_back();
        Ok(())
    })
}

/// Fills the inbox with tasks that are done.
fn finish(connection: &Connection, tasks: u32) -> store::sql::Result<()> {
    connection.execute_batch("pragma synchronous = off")?;
    let sql = "with recursive number (n) as (select 1 union all select n + 1 from number where n < ?1)
               insert into inbox (id, channel, chat_id, update_id, text, state, attempt, available_at_ms,
                                  created_at_ms, updated_at_ms, finished_at_ms)
               select printf('%08x-0000-7000-8000-%012x', n / 65536, n), 'telegram', n % 100, cast(n as text),
                      'What is in the notes?', 'done', 1, n, n, n, n
               from number";
    connection.execute(sql, [tasks]).map(drop)
}
