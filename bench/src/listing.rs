//! A page of a huge directory, beside only reading all of its names.

use std::fs;

use crate::files::fill;
use crate::measure::Durations;
use crate::program::ServedRoot;
use crate::table::Table;

const ENTRIES: usize = 100_000;
const CALLS: usize = 30;

pub(crate) fn bench(table: &mut Table) -> anyhow::Result<()> {
    let served = ServedRoot::start(|root| Ok(fill(root, ENTRIES)?))?;
    let mut page = served.post("ls", r#"{"path":".","limit":200}"#)?;
    let page_time = Durations::of(CALLS, || page.call())?;
    let names_time = Durations::of(CALLS, || names_of(&served.root))?;
    table.note("reading all names in this process, p50", format!("{:.1} ms", names_time.p50_ms()));
    table.note("POST /tools/ls with limit 200, p50", format!("{:.1} ms", page_time.p50_ms()));
    table.note("ratio of the p50s", format!("{:.1} times", page_time.p50_us() / names_time.p50_us()));
    Ok(())
}

fn names_of(directory: &std::path::Path) -> std::io::Result<Vec<std::ffi::OsString>> {
    fs::read_dir(directory)?.map(|entry| entry.map(|entry| entry.file_name())).collect()
}
