//! Lets commands flood the real server and daemons cling to life, and prints what became of them: how each
//! ended, what memory and disk it cost, and how long other callers waited meanwhile.
//!
//! It takes several minutes and puts the machine under load, which is why it is no test of every day. It
//! fails when one row misses.

mod cling;
mod flood;

use std::process::ExitCode;

use harness::ToolServer;

const KILLS: usize = 200;

fn main() -> ExitCode {
    let mut server = ToolServer::builder().variable("AUTONOUS_TOOL_DISABLED", "").start();
    println!("{}", flood::HEADING);
    let floods_hold = flood::FLOODS.map(|flood| flood.run(&mut server)).iter().all(|holds| *holds);
    let kills_hold = cling::end_again_and_again(&server, KILLS);
    let ended_well = server.stop().success();
    if floods_hold && kills_hold && ended_well { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
