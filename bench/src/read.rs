//! `read` of 50 kB over HTTP beside a bare route that sends the same body, and where the difference goes.

use std::fs;
use std::path::Path;

use anyhow::Context as _;
use protocol::Envelope;
use protocol::hash::sha256;
use protocol::journal::OUTPUT_TEXT_BYTES;
use serde_json::Value;
use tool_server::change::read_whole;
use toolkit::Redactor;
use toolkit::output::head;

use crate::bare::Bare;
use crate::call::Connection;
use crate::in_process::{self, InProcess};
use crate::measure::{Durations, us};
use crate::pieces::hop;
use crate::program::{Program, until_ready};
use crate::table::Table;

/// All of the file at once; with numbers it would not fit into one answer.
const BODY: &str = r#"{"path":"source.rs","limit":2000,"line_numbers":false}"#;

const FILE_BYTES: usize = 50_000;
const CALLS: usize = 3_000;

/// Measures a call, the bare route, and the pieces of the call.
pub fn bench(table: &mut Table) -> anyhow::Result<()> {
    let place = tempfile::tempdir()?;
    let root = place.path().join("root");
    fs::create_dir(&root)?;
    let text = source(FILE_BYTES);
    fs::write(root.join("source.rs"), &text)?;
    let (_server, address) = Program::tool_server(&root, &place.path().join("data"))?;
    until_ready(address)?;
    let mut read = Connection::post(address, "/tools/read", BODY)?;
    let answer = read.exchange()?.to_vec();
    let envelope: Envelope = serde_json::from_slice(&answer)?;
    anyhow::ensure!(envelope.stdout == text, "the answer does not hold the whole file: {}", envelope.stderr);
    let bare = Bare::start(&answer)?;
    let mut bare_route = Connection::post(bare.address, "/", BODY)?;

    let [bare_time, read_time] = Durations::in_turns(
        CALLS,
        [&mut || Ok(bare_route.exchange().map(drop)?), &mut || Ok(read.exchange().map(drop)?)],
    )?;
    table.note("bare route, p50", us(bare_time.p50_us()));
    table.note("POST /tools/read, p50", us(read_time.p50_us()));
    table.bound("ratio of the p50s", read_time.p50_us() / bare_time.p50_us(), 15.0, "times");
    pieces(table, &root, &place.path().join("pieces"), &envelope, read_time.p50_us())
}

/// Text as people write it: this program's own, again and again.
pub fn source(bytes: usize) -> String {
    let endless = include_str!("read.rs").chars().filter(char::is_ascii).cycle();
    endless.take(bytes - 1).chain(Some('\n')).collect()
}

fn pieces(
    table: &mut Table,
    root: &Path,
    place: &Path,
    envelope: &Envelope,
    call_us: f64,
) -> anyhow::Result<()> {
    let config = in_process::config(root, place)?;
    let server = InProcess::new(&config)?;
    let file = file(&config)?.p50_us();
    let hash = Durations::of(CALLS, || kept(sha256(envelope.stdout.as_bytes())))?.p50_us();
    let redaction = redaction_by(&Redactor::new([]), &envelope.stdout)?.p50_us();
    let with_secret =
        redaction_by(&Redactor::new(["a-token-of-the-server-itself"]), &envelope.stdout)?.p50_us();
    let hop = hop(&server)?.p50_us();
    let run = Durations::of(CALLS, || server.call("read", BODY).map(drop))?.p50_us();
    let recorded = head(&envelope.stdout, OUTPUT_TEXT_BYTES);
    let journal = in_process::journal(&config, CALLS, "read", BODY, recorded)?.p50_us();
    let json = Durations::of(CALLS, || serde_json::to_vec(envelope).map(drop))?.p50_us();
    for (name, time) in [
        ("opening and reading the file", file),
        ("its SHA-256", hash),
        ("the hop to a thread that may block", hop),
        ("lines, locks and the envelope", run - file - hash - redaction - hop),
        ("the journal's two records", journal),
        ("writing the answer as JSON", json),
        ("HTTP", call_us - run - journal - json),
    ] {
        table.note(&format!("of which {name}"), us(time));
    }
    table.bound("of which redaction", redaction / 1e3, 1.0, "ms");
    table.bound("redaction where the server has a token", with_secret / 1e3, 1.0, "ms");
    Ok(())
}

fn file(config: &tool_server::config::Config) -> anyhow::Result<Durations> {
    let roots = in_process::roots(config)?;
    let path =
        serde_json::from_str::<Value>(BODY)?["path"].as_str().context("the body has a path")?.to_owned();
    Durations::of(CALLS, || {
        let opened = roots.open_file(&path)?;
        kept(read_whole(&opened.handle, config.limits.max_edit_bytes)?)
    })
}

fn redaction_by(redactor: &Redactor, text: &str) -> anyhow::Result<Durations> {
    Durations::of(CALLS, || kept(redactor.redact(text)))
}

/// Keeps the compiler from dropping work whose result nobody uses.
fn kept<T>(result: T) -> anyhow::Result<()> {
    std::hint::black_box(result);
    Ok(())
}
