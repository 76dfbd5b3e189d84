//! Three nodes on one PostgreSQL server answer many chats while one fault follows another: processes are
//! killed, nodes stand still, and the wires to the database and to Telegram break. Counts what was lost, out
//! of order or doubled, and proves that no two nodes led at once.
//!
//! It takes a quarter of an hour. Variables set the random seed and the size. It fails if any row is wrong,
//! and prints what happened to the first chats that are.

mod chats;
mod cluster;
mod faults;
mod findings;
mod leading;
mod story;
mod trial;

use std::num::ParseIntError;
use std::process::ExitCode;

use trial::Trial;

fn main() -> ExitCode {
    let Ok(trial) = trial() else {
        println!("Usage: [SEED=N] [CHATS=500] [MESSAGES=2000] [FAULTS=39] [KINDS=WORDS,…] [SHARED=1] nodes");
        return ExitCode::FAILURE;
    };
    if trial.run() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The size of the trial, from variables.
fn trial() -> Result<Trial, ParseIntError> {
    let given = |name: &str| std::env::var(name).ok().filter(|given| !given.is_empty());
    let number = |name: &str, default: u64| given(name).map_or(Ok(default), |given| given.parse::<u64>());
    let size = |name: &str, default: u64| Ok(usize::try_from(number(name, default)?).unwrap_or(usize::MAX));
    Ok(Trial {
        seed: number("SEED", protocol::now_ms().unsigned_abs())?,
        chats: size("CHATS", 500)?.max(1),
        messages: size("MESSAGES", 2000)?,
        faults: size("FAULTS", 39)?,
        kinds: given("KINDS").unwrap_or_default(),
        is_shared: number("SHARED", 0)? != 0,
    })
}
