//! Calls the tools of the real server on inputs that are far too large, wide, deep or oddly named, and prints
//! how long each call took and how much memory the server used.
//!
//! It writes about 6 GB and two million files to the temporary directory (`TMPDIR`) and deletes them
//! afterwards, so CI does not run it. It fails if any answer is wrong, late or takes too much memory.

mod query;
mod subjects;

use std::process::ExitCode;

use harness::ToolServer;

use query::Soak;

fn main() -> ExitCode {
    let server = ToolServer::builder().allowing_all().start();
    let mut soak = Soak::new(server);
    println!("{}", Soak::HEADING);
    subjects::odd_names(&mut soak);
    subjects::deep_tree(&mut soak);
    subjects::long_line(&mut soak);
    subjects::wide_directory(&mut soak);
    subjects::large_tree(&mut soak);
    subjects::huge_file(&mut soak);
    let (asked, missed) = soak.end();
    println!("\n{asked} calls, {missed} missed");
    if missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
