//! `make bench`: speed and memory of the real programs, each number beside its target.
//!
//! The programs are started as any user starts them and are asked over HTTP; only where the time of a call
//! goes is measured in this process, piece by piece. Nothing here fails on a missed target: the table says
//! it, and people judge.

mod bare;
mod call;
mod listing;
mod measure;
mod memory;
mod pieces;
mod program;
mod start;
mod table;

use std::io::Write as _;

use table::Table;

/// Measures something and adds its rows.
type Section = fn(&mut Table) -> anyhow::Result<()>;

fn main() -> anyhow::Result<()> {
    if std::env::args().nth(1).as_deref() == Some(bare::COMMAND) {
        return bare::serve();
    }
    let sections: [(&'static str, Section); 4] = [
        ("A call: ls of 20 entries", call::bench),
        ("A directory of 100,000 entries", listing::bench),
        ("From the start to ready", start::bench),
        ("Resident memory, idle", memory::bench),
    ];
    let mut out = std::io::stdout();
    for (title, bench) in sections {
        let mut table = Table::new(title);
        bench(&mut table)?;
        writeln!(out, "{table}")?;
    }
    Ok(())
}
