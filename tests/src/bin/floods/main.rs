//! Runs commands that take all resources they can get, and daemons that refuse to die, on the real server.
//! Prints how each ended, how much memory and disk it used, and how long other callers had to wait.
//!
//! It takes several minutes and loads the machine, so CI does not run it. It fails if any row misses its
//! bound.

mod cling;
mod flood;

use std::process::ExitCode;

use harness::ToolServer;

const KILLS: usize = 200;

fn main() -> ExitCode {
    let mut server = ToolServer::builder().allowing_all().start();
    println!("{}", flood::HEADING);
    let floods_ok = flood::FLOODS.map(|flood| flood.run(&mut server)).iter().all(|ok| *ok);
    let kills_ok = cling::end_again_and_again(&server, KILLS);
    let ended_well = server.stop().success();
    if floods_ok && kills_ok && ended_well { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
