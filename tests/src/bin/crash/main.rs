//! Kills the three processes at random while twenty chats send messages, copies the database of the stopped
//! supervisor in between, and prints what was lost, duplicated, out of order or not recorded. Then runs a
//! task of twelve turns repeatedly, killing the worker after a different event each time.
//!
//! It takes a few minutes; CI runs a short version (`tests/tests/e2e/crash.rs`). The optional argument is the
//! random seed. It fails if any row is wrong.

use std::io::Write as _;
use std::process::ExitCode;

use harness::bugfix::kill::{self, Outcome};
use harness::crash::CrashTest;

fn main() -> ExitCode {
    let given = std::env::args().nth(1).map(|seed| seed.parse());
    let Ok(seed) = given.unwrap_or_else(|| Ok(protocol::now_ms().unsigned_abs())) else {
        println!("Usage: crash [SEED], where SEED is a number");
        return ExitCode::FAILURE;
    };
    let test = CrashTest { rounds: 300, chats: 20, copies: 50, seed };
    println!("{} rounds, {} chats, seed {seed}", test.rounds, test.chats);
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
