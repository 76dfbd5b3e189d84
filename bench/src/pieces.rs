//! Where the time of an `ls` call goes: each piece alone, in this process, with the server's own code.
//!
//! What is left of the call over HTTP is HTTP itself, both directions and the client included.

use std::path::Path;

use anyhow::Context as _;
use protocol::Envelope;
use serde_json::Value;
use toolkit::{Registry, arguments};

use crate::call::BODY;
use crate::in_process::{self, InProcess};
use crate::measure::{Durations, us};
use crate::table::Table;

const TIMES: usize = 10_000;

/// Measures the pieces of a call that takes `call_us` over HTTP and is answered with `answer`.
pub fn bench(
    table: &mut Table,
    root: &Path,
    place: &Path,
    answer: &[u8],
    call_us: f64,
) -> anyhow::Result<()> {
    let config = in_process::config(root, place)?;
    let server = InProcess::new(&config)?;
    let parsing = Durations::of(TIMES, || arguments::parse_object(BODY.as_bytes()).map(drop))?.p50_us();
    let validation = validation(&in_process::registry(&config)?)?.p50_us();
    let hop = hop(&server)?.p50_us();
    let run = Durations::of(TIMES, || server.call("ls", BODY).map(drop))?.p50_us();
    let output = "file-000000.txt\n".repeat(20);
    let journal = in_process::journal(&config, TIMES, "ls", BODY, &output)?.p50_us();
    let envelope: Envelope = serde_json::from_slice(answer)?;
    let answering = Durations::of(TIMES, || serde_json::to_vec(&envelope).map(drop))?.p50_us();
    let tool = run - parsing - validation - hop;
    for (name, time) in [
        ("parsing the body", parsing),
        ("validating the arguments", validation),
        ("the hop to a thread that may block", hop),
        ("the tool, and its envelope", tool),
        ("the journal's two records", journal),
        ("writing the answer", answering),
        ("HTTP", call_us - run - journal - answering),
    ] {
        table.note(&format!("of which {name}"), us(time));
    }
    Ok(())
}

/// To a thread that may block, and back.
pub fn hop(server: &InProcess) -> Result<Durations, tokio::task::JoinError> {
    Durations::of(TIMES, || server.runtime.block_on(async { tokio::task::spawn_blocking(|| ()).await }))
}

fn validation(registry: &Registry) -> anyhow::Result<Durations> {
    let spec = registry.specs().find(|spec| spec.name == "ls").context("there is a tool ls")?;
    let validator = jsonschema::validator_for(&spec.input_schema)?;
    let body: Value = serde_json::from_str(BODY)?;
    Ok(Durations::of(TIMES, || arguments::validate(&validator, &spec.input_schema, &body))?)
}
