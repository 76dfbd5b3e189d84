//! Many people at once, in real time: how long one chat waits for another's work, how soon it sees a sign,
//! how long its replies wait for another's broken sends, whether a tool server that stands still is replaced,
//! and whether memory, descriptors and threads stay flat under a steady load.
//!
//! It takes six minutes and `MINUTES` of load (20); CI runs short versions of each part
//! (`tests/tests/e2e/workers.rs`, `tests/tests/e2e/sender.rs`, `tests/tests/e2e/health.rs`). It fails if any
//! row is missed. An argument selects the parts whose name contains it.

mod family;
mod load;
mod receiving;
mod report;
mod sending;
mod standstill;
mod waits;

use std::process::ExitCode;
use std::time::Duration;

use report::Report;

type Part<'a> = &'a dyn Fn(&mut Report);

fn main() -> ExitCode {
    let minutes = std::env::var("MINUTES").ok().filter(|given| !given.is_empty());
    let Ok(minutes) = minutes.map_or(Ok(20), |given| given.parse::<u64>()) else {
        println!("Usage: [MINUTES=20] crowd [PART]");
        return ExitCode::FAILURE;
    };
    let load = Duration::from_secs(60 * minutes);
    let wanted = std::env::args().nth(1).unwrap_or_default();
    let mut report = Report::default();
    let parts: [(&str, Part<'_>); 6] = [
        ("waits", &waits::run),
        ("receiving", &receiving::run),
        ("sending", &sending::run),
        ("standstill", &standstill::run),
        ("family", &family::run),
        ("load", &|report| load::run(report, load)),
    ];
    for (name, part) in parts.into_iter().filter(|(name, _)| name.contains(&wanted)) {
        println!("{name}");
        part(&mut report);
    }
    println!("\n{report}");
    if report.holds() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
