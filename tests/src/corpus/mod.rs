//! Runs the corpus of attacks on the real server, each case on a fresh server in a fresh directory.
//!
//! A case whose tool the server does not have is not run, and the test says so. Anything that the runner does
//! not understand (a check, a placeholder, a step in words) fails the case.

mod before;
mod canary;
mod case;
mod case_run;
mod check;
mod evidence;
mod mode;
mod placeholders;
mod report;
mod steps;
mod surroundings;
mod unsandboxed;

use std::collections::BTreeSet;
use std::path::Path;

pub use canary::{CANARY, CANARY_NAME};
pub use case::{Case, Expected};
pub use case_run::CaseRun;
pub use mode::Mode;
pub use report::{StatedLoss, report, run_all};
pub use unsandboxed::{runs_unsandboxed, works_unsandboxed};

pub fn load() -> Vec<Case> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/attacks.jsonl");
    let text = std::fs::read_to_string(&file).expect("the corpus is in data/");
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in {line}")))
        .collect()
}

pub fn registered_tools() -> BTreeSet<String> {
    let server = crate::ToolServer::start();
    server.send(crate::Request::get("/tools")).tool_names().into_iter().collect()
}

fn require(holds: bool, why: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(why()) }
}
