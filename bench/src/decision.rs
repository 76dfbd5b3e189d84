//! From a person's decision to the answer of the call that waited for it, which ran in between.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use harness::{Request, ToolServer};
use serde_json::json;

use crate::http::Connection;
use crate::measure::Durations;
use crate::table::Table;

const DECISIONS: usize = 50;

const RULES: &str = "[[rule]]\ntools = [\"write\"]\ndecision = \"ask\"\n";

pub(crate) fn bench(table: &mut Table) -> anyhow::Result<()> {
    let server = ToolServer::builder().token("bench-caller").policy(RULES);
    let server = server.variable("AUTONOUS_TOOL_APPROVER_TOKEN", "bench-approver").start();
    let rounds = (0..DECISIONS).map(|round| decide(&server, round)).collect::<Result<Vec<_>, _>>()?;
    let durations = Durations::new(rounds);
    table.within("to the answer of a write, p50", durations.p50(), 50.0);
    table.time("the slowest", durations.percentile(100));
    Ok(())
}

fn decide(server: &ToolServer, round: usize) -> anyhow::Result<Duration> {
    let body = json!({"path": format!("file-{round}"), "content": "x\n"}).to_string();
    let caller = [("Authorization", "Bearer bench-caller"), ("Prefer", "wait=30")];
    let mut call = Connection::open(server.address(), ("POST", "/tools/write"), &caller, &body)?;
    let waiting = thread::spawn(move || call.call().map(|()| Instant::now()));
    let send = |request: Request| server.send(request.header("Authorization", "Bearer bench-approver"));
    let id = loop {
        let pending = send(Request::get("/approvals?state=pending")).json();
        if let Some(id) = pending["approvals"][0]["id"].as_str() {
            break id.to_owned();
        }
    };
    let yes = Request::post_json(&format!("/approvals/{id}"), &json!({"decision": "grant"}));
    let decided = Instant::now();
    let answer = send(yes);
    anyhow::ensure!(answer.status == 200, "{}", answer.text());
    let answered = waiting.join().ok().context("the call's thread panicked")??;
    Ok(answered.duration_since(decided))
}
