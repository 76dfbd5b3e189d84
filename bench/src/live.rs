//! Output as it comes: from a command's write to its event in a stream, and to the answer of a read.

use std::io::{BufRead as _, BufReader};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::Context as _;
use harness::{Request, ToolServer};
use serde_json::json;

use crate::measure::Durations;
use crate::table::Table;

const COMMANDS: usize = 100;
const READS: usize = 300;

pub(crate) fn bench(table: &mut Table) -> anyhow::Result<()> {
    let server = ToolServer::start();
    let streamed = (0..COMMANDS).map(|_| first_event(&server)).collect::<Result<Vec<_>, _>>()?;
    let streamed = Durations::new(streamed);
    table.within("from a write to its event, p50", streamed.p50(), 5.0);
    table.time("p99", streamed.percentile(99));
    let read = Durations::new(reads(&server)?);
    table.within("a read of what a background process writes, p50", read.p50(), 2.0);
    table.time("p99", read.percentile(99));
    Ok(())
}

/// How long after a command has written something its event arrives.
fn first_event(server: &ToolServer) -> anyhow::Result<Duration> {
    let arguments = json!({"cmd": "echo at $EPOCHREALTIME; sleep 0.05"});
    let request = Request::call("bash", &arguments).header("Accept", "text/event-stream");
    let stream = BufReader::new(request.send_without_the_last(0, server.address()));
    for line in stream.lines() {
        let line = line?;
        let arrived = SystemTime::now().duration_since(UNIX_EPOCH)?;
        if let Some((_, stamp)) = line.split_once("\"at ") {
            let digits = stamp.split('\\').next().context("the line ends")?;
            return Ok(arrived.saturating_sub(Duration::from_secs_f64(digits.parse()?)));
        }
    }
    anyhow::bail!("the stream ended without the output")
}

/// How long a read takes that is sent once the process was given a line, until it answers with that.
fn reads(server: &ToolServer) -> anyhow::Result<Vec<Duration>> {
    let started =
        server.call("bash", &json!({"cmd": "while read -r l; do echo $l; done", "background": true}));
    let id = started.meta.data["process_id"].as_str().context("a process")?.to_owned();
    let mut seq = 0;
    let mut took = Vec::new();
    for _ in 0..READS {
        let written =
            server.call("process_write", &json!({"process_id": id, "text": "x", "keys": ["enter"]}));
        anyhow::ensure!(written.ok, "{}", written.stderr);
        let began = Instant::now();
        let arguments = json!({"process_id": id, "after_seq": seq, "wait_seconds": 5});
        let read = server.call("process_read", &arguments);
        took.push(began.elapsed());
        anyhow::ensure!(read.stdout.contains('x'), "{}", read.stdout);
        seq = read.meta.data["next_seq"].as_u64().context("a number")?;
    }
    Ok(took)
}
