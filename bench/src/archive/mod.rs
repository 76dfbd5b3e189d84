//! The commands that query the database, on one a hundred times as large: their time must depend on what they
//! show, not on how long the system has run.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Context as _;
use harness::binaries;
use store::open::for_writing;

use crate::measure::Durations;
use crate::table::Table;

/// Fills a database with `$tasks` tasks and ten events for each.
const FILL: &str = include_str!("fill.sql");

const TASKS: [u32; 2] = [1000, 100_000];
/// With the warm-up, no more than the smaller database has dead tasks.
const RUNS: usize = 9;
/// One task in so many died, and the one halfway between two of them changed a file.
const FEW: u32 = 100;

/// The commands. `TASK` stands for the ID of a task, `END` for the part of it that the tables show, `FILE`
/// for a file that was changed once, and `DEAD` for a dead task, another one in each run.
const QUESTIONS: [(&str, &[&str]); 7] = [
    ("tree of a task", &["tree", "--task", "TASK"]),
    ("tree of a task by the end of its id", &["tree", "--task", "END"]),
    ("tasks", &["tasks"]),
    ("audit of a task", &["audit", "--task", "TASK"]),
    ("audit of a file", &["audit", "--file", "FILE"]),
    ("audit of refused calls", &["audit", "--refused"]),
    ("requeue of a task, without a supervisor", &["requeue", "DEAD"]),
];

pub(crate) fn bench(table: &mut Table) -> anyhow::Result<()> {
    let places = [tempfile::tempdir()?, tempfile::tempdir()?];
    for (place, tasks) in places.iter().zip(TASKS) {
        fill(place.path(), tasks)?;
    }
    let [small, large] = [places[0].path(), places[1].path()];
    for (what, arguments) in QUESTIONS {
        let (mut asked_small, mut asked_large) = (0, 0);
        let mut ask_small = || ask(small, TASKS[0], arguments, &mut asked_small);
        let mut ask_large = || ask(large, TASKS[1], arguments, &mut asked_large);
        let [short, long] = Durations::in_turns(RUNS, 1, [&mut ask_small, &mut ask_large])?;
        table.time(&format!("{what}, {} tasks, p50", TASKS[0]), short.p50());
        table.bound(&format!("{what}, a hundred times as many"), long.against(&short), 2.0, "times");
    }
    Ok(())
}

fn fill(data: &Path, tasks: u32) -> anyhow::Result<()> {
    std::fs::create_dir_all(data.join("db"))?;
    let database = data.join("db/autonous.db");
    let connection = for_writing(&database)?;
    connection.execute_batch("pragma synchronous = off")?;
    let filling = format!("begin; {} commit;", FILL.replace("$tasks", &tasks.to_string()));
    connection.execute_batch(&filling).context("cannot fill the database")?;
    connection.query_row("pragma wal_checkpoint(truncate)", [], |_| Ok(()))?;
    Ok(())
}

/// Runs one command as a user does.
fn ask(data: &Path, tasks: u32, arguments: &[&str], asked: &mut u32) -> anyhow::Result<()> {
    let middle = id(tasks / 2);
    let file = format!("/notes-{}.txt", FEW / 2);
    let dead = id(FEW * (1 + *asked % (tasks / FEW)));
    *asked += 1;
    let words = arguments.iter().map(|word| match *word {
        "TASK" => middle.as_str(),
        "FILE" => file.as_str(),
        "DEAD" => dead.as_str(),
        "END" => &middle[middle.len() - 8..],
        word => word,
    });
    let mut command = Command::new(binaries::path_of("supervisor"));
    command.args(words).env_clear().env("AUTONOUS_DATA_DIR", data);
    let done = command.stdout(Stdio::null()).stderr(Stdio::piped()).output()?;
    let said = String::from_utf8_lossy(&done.stderr);
    anyhow::ensure!(done.status.success(), "supervisor {arguments:?}: {said}");
    Ok(())
}

/// The id that `fill.sql` gives to a task.
fn id(number: u32) -> String {
    let at_ms = 1_700_000_000_000 + u64::from(number) * 1000;
    format!("{:08x}-{:04x}-7000-8000-{:012x}", at_ms >> 16, at_ms & 0xffff, u64::from(number) * 16)
}
