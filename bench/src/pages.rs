//! What the pages of a large listing cost: the first, the one in the middle, and the last.
//!
//! The cost of a page may grow in proportion to what precedes it, so the last page may cost at most twice as
//! much as the middle one.

use std::time::{Duration, Instant};

use harness::ToolServer;
use protocol::Envelope;
use serde_json::{Value, json};

use crate::measure::Durations;
use crate::program::{call, fill, served};
use crate::table::Table;

const DIRECTORIES: usize = 20;
const FILES_EACH: usize = 1000;
const PAGE: usize = 1000;
const ROUNDS: usize = 5;

pub(crate) fn bench(table: &mut Table) -> anyhow::Result<()> {
    let server = served(|root| {
        (0..DIRECTORIES).try_for_each(|number| fill(&root.join(format!("d-{number:02}")), FILES_EACH))
    })?;
    // `ls` lists the directories, too; with this limit its last page is as full as the others.
    let listings = [
        ("ls", json!({"path": ".", "recursive": true, "limit": PAGE + PAGE / FILES_EACH})),
        ("find", json!({"type": "file", "limit": PAGE})),
        ("grep", json!({"pattern": "x", "limit": PAGE})),
    ];
    for (tool, arguments) in listings {
        let rounds = (0..ROUNDS).map(|_| pages(&server, tool, &arguments)).collect::<Result<Vec<_>, _>>()?;
        let count = rounds[0].len();
        let cost = |page: usize| Durations::new(rounds.iter().map(|round| round[page]).collect());
        let [first, middle, last] = [0, count / 2 - 1, count - 1].map(cost);
        table.note(
            &format!("{tool}, first, middle and last of {count} pages"),
            format!("{:.1?}, {:.1?}, {:.1?}", first.p50(), middle.p50(), last.p50()),
        );
        table.bound(
            &format!("{tool}, last page against the middle one"),
            last.against(&middle),
            2.0,
            "times",
        );
    }
    Ok(())
}

/// How long each page of a listing took, from the first to the last.
fn pages(server: &ToolServer, tool: &str, arguments: &Value) -> anyhow::Result<Vec<Duration>> {
    let mut arguments = arguments.clone();
    let mut durations = Vec::new();
    loop {
        let mut call = call(server, tool, &arguments.to_string())?;
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
