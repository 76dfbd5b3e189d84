//! `make bench`: speed and memory of the real programs, each number beside its target.
//!
//! The programs start as any user starts them and are called over HTTP; only what syncing would hide runs in
//! this process. Nothing here fails on a missed target: the table shows it, and people judge. An argument
//! selects the sections whose title contains it, such as `edit`.

mod archive;
mod bare;
mod bash;
mod browser;
mod calls;
mod decision;
mod edit;
mod http;
mod live;
mod measure;
mod messages;
mod model;
mod pages;
mod program;
mod prompt;
mod queue;
mod rest;
mod search;
mod table;
mod turns;
mod web;

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::Context as _;
use table::Table;

type Section = (&'static str, fn(&mut Table) -> anyhow::Result<()>);

const SECTIONS: [Section; 23] = [
    ("A call: ls of 20 entries", calls::ls),
    ("A call: read of 50 kB", calls::read),
    ("A call: over MCP", calls::mcp),
    ("A stream, and a background process", live::bench),
    ("A decision about a call that waits", decision::bench),
    ("A directory of 100,000 entries", calls::listing),
    ("Pages of a tree of 20,000 files", pages::bench),
    ("Search in the sources of all crates", |table| search::bench(table, &cargo_sources()?)),
    ("An edit of 1 MB, not synced", edit::bench),
    ("A command: bash with true", bash::bench),
    ("A command in a root of many files", bash::many_files),
    ("The queue: store, claim, end", queue::bench),
    ("The queue on PostgreSQL", queue::on_a_server),
    ("A message to its first event", messages::first_event),
    ("Many chats at once", messages::many_chats),
    ("The page in a browser", browser::first_paint),
    ("Fifty browsers at a busy task", browser::watchers),
    ("A database of 1,000,000 events", archive::bench),
    ("The web, from a server beside it", web::bench),
    ("A turn of the worker's loop", turns::bench),
    ("The prompt of a long task", prompt::bench),
    ("From the start to ready", rest::starts),
    ("Resident memory, idle", rest::memory),
];

fn main() -> anyhow::Result<()> {
    let wanted = std::env::args().nth(1).unwrap_or_default();
    if wanted == bare::COMMAND {
        return bare::serve();
    }
    for (title, bench) in SECTIONS.into_iter().filter(|(title, _)| title.contains(&wanted)) {
        let mut table = Table::new(title);
        bench(&mut table)?;
        writeln!(std::io::stdout(), "{table}")?;
    }
    Ok(())
}

/// Where cargo unpacks the sources of crates: below `CARGO_HOME`, by default `~/.cargo`.
fn cargo_sources() -> anyhow::Result<PathBuf> {
    let named = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = named.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    let home = home.context("set HOME or CARGO_HOME: the search runs over the sources of crates")?;
    Ok(home.join("registry/src"))
}
