//! `bash` with `true` in unchanged roots of many files, beside an empty root.

use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use protocol::Envelope;

use crate::http::Connection;
use crate::measure::Durations;
use crate::program::{ServedRoot, resident_mib};
use crate::table::Table;

const BODY: &str = r#"{"cmd":"true"}"#;
const CALLS: usize = 200;

const FILES_PER_DIRECTORY: usize = 20;

/// Directories, and how much longer than in the empty root a command may take.
const TREES: [(usize, f64); 2] = [(5000, 1.3), (50_000, 3.0)];

/// The most memory that the index of the larger root may take, in MiB.
const MOST_MIB: f64 = 40.0;

pub(crate) fn bench(table: &mut Table) -> anyhow::Result<()> {
    let empty = ServedRoot::start(|_| Ok(()))?;
    let mut in_empty = empty.post("bash", BODY)?;
    for (directories, most) in TREES {
        let served = ServedRoot::start(|root| Ok(grow(root, directories)?))?;
        let mut call = served.post("bash", BODY)?;
        let files = directories * FILES_PER_DIRECTORY;
        let first = Durations::new(vec![first(&mut call)?]);
        table.note(&format!("the first command, {files} files"), format!("{:.0} ms", first.p50_ms()));
        let [empty_time, time] = Durations::in_turns(CALLS, [&mut || in_empty.call(), &mut || call.call()])?;
        let ratio = time.p50_us() / empty_time.p50_us();
        table.bound(&format!("{files} files in {directories} directories, p50"), ratio, most, "times");
        let more = resident_mib(served.server.pid())? - resident_mib(empty.server.pid())?;
        table.bound(&format!("memory for {files} files"), more, MOST_MIB, "MiB");
    }
    Ok(())
}

/// The first command waits until the root is read.
fn first(call: &mut Connection) -> anyhow::Result<Duration> {
    let began = Instant::now();
    let envelope: Envelope = serde_json::from_slice(call.exchange()?)?;
    anyhow::ensure!(envelope.ok, "bash does not run: {}", envelope.stderr);
    Ok(began.elapsed())
}

/// Directories of 20 files each, a hundred in each directory above.
fn grow(root: &Path, directories: usize) -> io::Result<()> {
    for number in 0..directories {
        let directory = root.join(format!("d{:03}/s{:02}", number / 100, number % 100));
        fs::create_dir_all(&directory)?;
        // Names of one file: a million files of their own would take long to make.
        let first = directory.join("file-00.txt");
        fs::write(&first, "x")?;
        (1..FILES_PER_DIRECTORY)
            .try_for_each(|file| fs::hard_link(&first, directory.join(format!("file-{file:02}.txt"))))?;
    }
    Ok(())
}
