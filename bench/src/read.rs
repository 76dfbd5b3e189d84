//! `read` of 50 kB over HTTP beside a bare route that sends the same body, and where the difference goes.

use std::fs;

use anyhow::Context as _;
use files::change::read_whole;
use protocol::Envelope;
use protocol::hash::sha256;
use protocol::journal::OUTPUT_TEXT_BYTES;
use redaction::Redactor;
use serde_json::Value;
use toolkit::output::head;

use crate::bare::Bare;
use crate::call::IN_A_TURN;
use crate::files::source;
use crate::http::Connection;
use crate::in_process::{self, InProcess};
use crate::measure::{Durations, us};
use crate::program::ServedRoot;
use crate::table::Table;

/// The whole file at once; with line numbers it would not fit into one answer.
const BODY: &str = r#"{"path":"source.rs","limit":2000,"line_numbers":false}"#;

const FILE_BYTES: usize = 50_000;
const CALLS: usize = 3_000;

pub(crate) fn bench(table: &mut Table) -> anyhow::Result<()> {
    let text = source(FILE_BYTES);
    let served = ServedRoot::start(|root| Ok(fs::write(root.join("source.rs"), &text)?))?;
    let mut read = served.post("read", BODY)?;
    let answer = read.exchange()?.to_vec();
    let envelope: Envelope = serde_json::from_slice(&answer)?;
    anyhow::ensure!(
        envelope.stdout == text,
        "the answer does not contain the whole file: {}",
        envelope.stderr
    );
    let bare = Bare::start(&answer)?;
    let mut bare_route = Connection::post(bare.address, "/", BODY)?;

    let [bare_time, read_time] =
        Durations::in_long_turns(CALLS, IN_A_TURN, [&mut || bare_route.call(), &mut || read.call()])?;
    table.note("bare route, p50", us(bare_time.p50_us()));
    table.note("POST /tools/read, p50", us(read_time.p50_us()));
    table.bound("ratio of the p50s", read_time.p50_us() / bare_time.p50_us(), 15.0, "times");
    pieces(table, &served, &envelope, read_time.p50_us())
}

fn pieces(table: &mut Table, served: &ServedRoot, envelope: &Envelope, call_us: f64) -> anyhow::Result<()> {
    let config = in_process::config(&served.root, &served.place.path().join("pieces"))?;
    let server = InProcess::new(&config)?;
    let file = file(&config)?.p50_us();
    let hash = Durations::of(CALLS, || anyhow::Ok(sha256(envelope.stdout.as_bytes())))?.p50_us();
    let redaction = redaction_by(&Redactor::new([]), &envelope.stdout)?.p50_us();
    let with_secret =
        redaction_by(&Redactor::new(["a-token-of-the-server-itself"]), &envelope.stdout)?.p50_us();
    let hop = server.hop(CALLS)?.p50_us();
    let run = Durations::of(CALLS, || server.call("read", BODY))?.p50_us();
    let recorded = head(&envelope.stdout, OUTPUT_TEXT_BYTES);
    let journal = in_process::journal(&config, CALLS, "read", BODY, recorded)?.p50_us();
    let json = Durations::of(CALLS, || serde_json::to_vec(envelope))?.p50_us();
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
    let body: Value = serde_json::from_str(BODY)?;
    let path = body["path"].as_str().context("the body has no path")?;
    Durations::of(CALLS, || {
        let opened = roots.open_file(path)?;
        anyhow::Ok(read_whole(&opened.handle, config.limits.max_edit_bytes)?)
    })
}

fn redaction_by(redactor: &Redactor, text: &str) -> anyhow::Result<Durations> {
    Durations::of(CALLS, || anyhow::Ok(redactor.redact(text)))
}
