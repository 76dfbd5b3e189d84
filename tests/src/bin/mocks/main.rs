//! Runs the real system against two model servers that nobody here wrote, and prints how it fared: over
//! chat completions and messages, with tools, several calls at once, and every way in which a provider
//! fails. One of the two also grades its client.
//!
//! They are not part of this project and not of CI: `docs/model-servers.md` says how to get them.
//! `LLMOCK` and `AIMOCK` name their programs; one that is not named is left out.

mod aimock;
mod foreign;
mod llmock;
mod trial;

use std::env;
use std::process::ExitCode;
use std::thread;

use trial::{Protocol, Report};

type Run = fn(&str, Protocol) -> Report;

fn main() -> ExitCode {
    let servers: [(&str, Run); 2] = [("LLMOCK", llmock::run), ("AIMOCK", aimock::run)];
    let named = servers.into_iter().filter_map(|(name, run)| Some((env::var(name).ok()?, run)));
    let runs: Vec<_> = named
        .flat_map(|(program, run)| Protocol::ALL.map(|protocol| (program.clone(), run, protocol)))
        .map(|(program, run, protocol)| thread::spawn(move || run(&program, protocol)))
        .collect();
    if runs.is_empty() {
        println!(
            "Name a server: LLMOCK=… AIMOCK=… make mocks; docs/model-servers.md says where they come from."
        );
        return ExitCode::FAILURE;
    }
    let mut holds = true;
    for run in runs {
        match run.join() {
            Ok(report) => {
                println!("{report}");
                holds &= report.holds();
            }
            Err(_) => holds = false,
        }
    }
    if holds { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
