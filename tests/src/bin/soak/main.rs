//! Asks the real server about what is far too large, too wide, too deep or oddly named, and prints how long
//! each answer took and how much memory the server needed for it.
//!
//! It makes about 6 GB and a million files in the temporary directory (`TMPDIR`) and takes them away again,
//! which is why it is no test of every day. It fails when one answer is wrong, late or costs too much.

mod query;
mod subjects;

use std::process::ExitCode;

use harness::ToolServer;

use query::Interview;

fn main() -> ExitCode {
    let server = ToolServer::builder().variable("AUTONOUS_TOOL_DISABLED", "").start();
    let mut interview = Interview::new(server);
    println!("{}", Interview::HEADING);
    subjects::odd_names(&mut interview);
    subjects::deep_tree(&mut interview);
    subjects::long_line(&mut interview);
    subjects::wide_directory(&mut interview);
    subjects::huge_file(&mut interview);
    let (asked, missed) = interview.end();
    println!("\n{asked} asked, {missed} missed");
    if missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
