//! From the start of a program until it is ready, each time in a fresh directory.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Instant;

use crate::measure::Durations;
use crate::program::{Program, until_ready};
use crate::table::Table;

const STARTS: usize = 15;

pub(crate) fn bench(table: &mut Table) -> anyhow::Result<()> {
    let alone = starts(|place| {
        let root = place.join("root");
        std::fs::create_dir(&root)?;
        Program::tool_server(&root, &place.join("data"))
    })?;
    let whole = starts(|place| Program::system(&place.join("data")))?;
    for (name, durations, most) in [("tool server", alone, 100.0), ("whole system", whole, 500.0)] {
        table.bound(&format!("{name}, p50 of {STARTS} starts"), durations.p50_ms(), most, "ms");
        let slowest = durations.percentile_us(100) / 1e3;
        table.bound(&format!("{name}, slowest of {STARTS} starts"), slowest, most, "ms");
    }
    Ok(())
}

fn starts(start: impl Fn(&Path) -> anyhow::Result<(Program, SocketAddr)>) -> anyhow::Result<Durations> {
    let mut durations = Vec::new();
    for _ in 0..STARTS {
        let place = tempfile::tempdir()?;
        let began = Instant::now();
        let (_program, address) = start(place.path())?;
        until_ready(address)?;
        durations.push(began.elapsed());
    }
    Ok(Durations::new(durations))
}
