//! Kills the three processes again and again while twenty chats write, copies the database of the stopped
//! supervisor in between, and prints what was lost, doubled, out of order or without its record.
//!
//! It takes a few minutes, which is why CI runs a short version (`tests/tests/crash.rs`). An argument is
//! the seed of all that is random. It fails when one row is wrong.

use std::io::Write as _;
use std::process::ExitCode;

use e2e::crash::Ordeal;

fn main() -> ExitCode {
    let given = std::env::args().nth(1).map(|seed| seed.parse());
    let Ok(seed) = given.unwrap_or_else(|| Ok(protocol::now_ms().unsigned_abs())) else {
        println!("The seed is a number: crash [SEED]");
        return ExitCode::FAILURE;
    };
    let ordeal = Ordeal { rounds: 300, chats: 20, copies: 50, seed };
    println!("{} rounds, {} chats, seed {seed}", ordeal.rounds, ordeal.chats);
    let verdict = ordeal.run(|round| {
        if round % 10 == 0 {
            print!("\rround {round}");
            let _ = std::io::stdout().flush();
        }
    });
    println!("\n\n{verdict}");
    if verdict.holds() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
