//! What the pages of a large listing cost: the first, the one in the middle, and the last.
//!
//! A page may cost at most in proportion to what lies before it, so the last at most twice what the middle
//! one costs.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use protocol::Envelope;
use serde_json::{Value, json};

use crate::call::{Connection, fill};
use crate::measure::Durations;
use crate::program::{Program, until_ready};
use crate::table::Table;

const DIRECTORIES: usize = 20;
const FILES_EACH: usize = 1000;
const PAGE: usize = 1000;
const ROUNDS: usize = 5;

/// Measures the pages of `ls`, `find` and `grep` over the same tree.
pub fn bench(table: &mut Table) -> anyhow::Result<()> {
    let place = tempfile::tempdir()?;
    let root = place.path().join("root");
    for number in 0..DIRECTORIES {
        fill(&root.join(format!("d-{number:02}")), FILES_EACH)?;
    }
    let (_server, address) = Program::tool_server(&root, &place.path().join("data"))?;
    until_ready(address)?;
    // The directories are entries of `ls`, too; so its last page is full like the others.
    let listings = [
        ("ls", json!({"path": ".", "recursive": true, "limit": PAGE + PAGE / FILES_EACH})),
        ("find", json!({"type": "file", "limit": PAGE})),
        ("grep", json!({"pattern": "x", "limit": PAGE})),
    ];
    for (tool, arguments) in listings {
        let rounds = (0..ROUNDS).map(|_| pages(address, tool, &arguments)).collect::<Result<Vec<_>, _>>()?;
        let count = rounds[0].len();
        let cost = |page: usize| Durations::new(rounds.iter().map(|round| round[page]).collect()).p50_ms();
        let (first, middle, last) = (cost(0), cost(count / 2 - 1), cost(count - 1));
        table.note(
            &format!("{tool}, first, middle and last of {count} pages"),
            format!("{first:.1}, {middle:.1}, {last:.1} ms"),
        );
        table.bound(&format!("{tool}, last page against the middle one"), last / middle, 2.0, "times");
    }
    Ok(())
}

/// How long each page of a listing took, from the first to the last.
fn pages(address: SocketAddr, tool: &str, arguments: &Value) -> anyhow::Result<Vec<Duration>> {
    let mut arguments = arguments.clone();
    let mut durations = Vec::new();
    loop {
        let mut call = Connection::post(address, &format!("/tools/{tool}"), &arguments.to_string())?;
        let began = Instant::now();
        let answer = call.exchange()?;
        durations.push(began.elapsed());
        let envelope: Envelope = serde_json::from_slice(answer)?;
        match envelope.next_page_cursor {
            Some(cursor) => arguments["cursor"] = Value::String(cursor),
            None => break,
        }
    }
    let expected = DIRECTORIES * FILES_EACH / PAGE;
    anyhow::ensure!(durations.len() == expected, "{tool} has {} pages, not {expected}", durations.len());
    Ok(durations)
}
