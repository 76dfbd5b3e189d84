//! From a person's decision to the answer of the call that waited for it, which ran in between.

use std::net::SocketAddr;
use std::thread;
use std::time::Instant;

use anyhow::Context as _;
use serde_json::{Value, json};

use crate::http::Connection;
use crate::measure::Durations;
use crate::program::{Program, until_ready};
use crate::table::Table;

const DECISIONS: usize = 50;

const APPROVER: (&str, &str) = ("Authorization", "Bearer bench-approver");

const RULES: &str = "[[rule]]\ntools = [\"write\"]\ndecision = \"ask\"\n";

pub(crate) fn bench(table: &mut Table) -> anyhow::Result<()> {
    let place = tempfile::tempdir()?;
    let [root, config, data] = ["root", "config", "data"].map(|name| place.path().join(name));
    std::fs::create_dir(&root)?;
    std::fs::create_dir(&config)?;
    std::fs::write(config.join("policy.toml"), RULES)?;
    let variables = [
        ("AUTONOUS_CONFIG_DIR", config.display().to_string()),
        ("AUTONOUS_TOOL_TOKEN", "bench-caller".to_owned()),
        ("AUTONOUS_TOOL_APPROVER_TOKEN", "bench-approver".to_owned()),
    ];
    let (_server, address) = Program::tool_server_with(&root, &data, &variables)?;
    until_ready(address)?;
    let rounds = (0..DECISIONS).map(|round| decide(address, round)).collect::<anyhow::Result<Vec<_>>>()?;
    let durations = Durations::new(rounds);
    table.bound("to the answer of a write, p50", durations.p50_ms(), 50.0, "ms");
    table.note("the slowest", format!("{:.1} ms", durations.percentile_us(100) / 1e3));
    Ok(())
}

fn decide(address: SocketAddr, round: usize) -> anyhow::Result<std::time::Duration> {
    let body = json!({"path": format!("file-{round}"), "content": "x\n"}).to_string();
    let caller = [("Authorization", "Bearer bench-caller"), ("Prefer", "wait=30")];
    let mut call = Connection::with_headers(address, ("POST", "/tools/write"), &caller, &body)?;
    let waiting = thread::spawn(move || call.call().map(|()| Instant::now()));
    let mut list = Connection::with_headers(address, ("GET", "/approvals?state=pending"), &[APPROVER], "")?;
    let id = loop {
        let pending: Value = serde_json::from_slice(list.exchange()?)?;
        if let Some(id) = pending["approvals"][0]["id"].as_str() {
            break id.to_owned();
        }
    };
    let path = format!("/approvals/{id}");
    let yes = json!({"decision": "grant"}).to_string();
    let mut decision = Connection::with_headers(address, ("POST", &path), &[APPROVER], &yes)?;
    let decided = Instant::now();
    decision.call()?;
    let answered = waiting.join().ok().context("the call's thread panicked")??;
    Ok(answered.duration_since(decided))
}
