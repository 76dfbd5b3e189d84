//! Kills the processes at random while twenty chats send messages, copies the database of the stopped
//! supervisor in between, and prints what was lost, duplicated, out of order or not recorded. Then runs a
//! task of twelve turns repeatedly, killing the worker after a different event each time.
//!
//! It takes a few minutes; CI runs a short version (`tests/tests/e2e/crash.rs`). Variables set the random
//! seed, the rounds and the workers. It fails if any row is wrong.

use std::io::Write as _;
use std::num::ParseIntError;
use std::process::ExitCode;

use harness::bugfix::kill::{self, Outcome};
use harness::crash::CrashTest;

fn main() -> ExitCode {
    let Ok(test) = test() else {
        println!("Usage: [SEED=N] [ROUNDS=300] [WORKERS=4] crash");
        return ExitCode::FAILURE;
    };
    let CrashTest { rounds, chats, workers, seed, .. } = test;
    println!("{rounds} rounds, {chats} chats, {workers} workers, seed {seed}");
    let report = test.run(|round| {
        if round % 10 == 0 {
            print!("\rround {round}");
            let _ = std::io::stdout().flush();
        }
    });
    println!("\n\n{report}");
    kill_after_each_event();
    if report.holds() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The size of the test, from variables.
fn test() -> Result<CrashTest, ParseIntError> {
    let number = |name: &str, default: u64| {
        let given = std::env::var(name).ok().filter(|given| !given.is_empty());
        given.map_or(Ok(default), |given| given.parse())
    };
    let size = |name: &str, default: u64| Ok(usize::try_from(number(name, default)?).unwrap_or(usize::MAX));
    let (rounds, workers) = (size("ROUNDS", 300)?, size("WORKERS", 4)?);
    let seed = number("SEED", protocol::now_ms().unsigned_abs())?;
    Ok(CrashTest { rounds, chats: 20, workers, copies: rounds.div_ceil(6), seed })
}

fn kill_after_each_event() {
    let events = kill::undisturbed();
    println!("A task of {events} events, with the worker killed after each of them:");
    for position in 1..=events {
        let Outcome { killed_after, attempts, interrupted, .. } = kill::after_event(position);
        let event = killed_after.unwrap_or_else(|| "the end".to_owned());
        println!(
            "  {position:>3} {event:<22} {attempts} attempts, {interrupted} interrupted calls, one answer"
        );
    }
}
