//! A call over HTTP beside the bare route: latency on one connection, throughput on many, and where the time
//! goes.
//!
//! Each piece is measured alone, in this process, with the server's own code. What remains of the call over
//! HTTP is HTTP itself, both directions and the client included.

use anyhow::Context as _;
use protocol::{Envelope, SessionId};
use serde_json::{Value, json};
use tool_server::server::THREADS;
use toolkit::policy::{Caller, Policy, Rule};
use toolkit::{Registry, arguments};

use crate::bare::Bare;
use crate::files::{fill, source};
use crate::http::{Connection, rates_in_turns};
use crate::in_process::{self, InProcess};
use crate::measure::{Durations, us};
use crate::program::ServedRoot;
use crate::table::Table;

const BODY: &str = r#"{"path":"."}"#;

const ENTRIES: usize = 20;

const READ_BODY: &str = r#"{"path":"source.rs"}"#;
const READ_BYTES: usize = 5_000;

const CALLS: usize = 10_000;
pub(crate) const IN_A_TURN: usize = 100;
const CONNECTIONS: usize = 64;

pub(crate) fn bench(table: &mut Table) -> anyhow::Result<()> {
    let served = ServedRoot::start(|root| Ok(fill(root, ENTRIES)?))?;
    let mut ls = served.post("ls", BODY)?;
    let answer = ls.exchange()?.to_vec();
    let bare = Bare::start(&answer)?;
    let mut bare_route = Connection::post(bare.address, "/", BODY)?;

    let [bare_time, ls_time] =
        Durations::in_long_turns(CALLS, IN_A_TURN, [&mut || bare_route.call(), &mut || ls.call()])?;
    table.note("answer", format!("{} bytes", answer.len()));
    table.note("bare route, 1 connection, p50", us(bare_time.p50_us()));
    table.note("bare route, 1 connection, p99", us(bare_time.percentile_us(99)));
    table.note("POST /tools/ls, 1 connection, p50", us(ls_time.p50_us()));
    table.note("POST /tools/ls, 1 connection, p99", us(ls_time.percentile_us(99)));
    table.bound("ratio of the p50s", ls_time.p50_us() / bare_time.p50_us(), 4.0, "times");
    let [bare_rate, ls_rate] = rates_in_turns([
        (CONNECTIONS, &|| Connection::post(bare.address, "/", BODY)),
        (CONNECTIONS, &|| served.post("ls", BODY)),
    ])?;
    table.note("bare route, 64 connections", format!("{bare_rate:.0}/s"));
    table.note("POST /tools/ls, 64 connections", format!("{ls_rate:.0}/s"));
    table.reach("ratio of the rates", ls_rate / bare_rate, 0.25, "times");
    small_read(table)?;
    pieces(table, &served, &answer, ls_time.p50_us())
}

/// `read` of 5 kB beside a bare route that sends as many bytes.
fn small_read(table: &mut Table) -> anyhow::Result<()> {
    let served = ServedRoot::start(|root| Ok(std::fs::write(root.join("source.rs"), source(READ_BYTES))?))?;
    let mut read = served.post("read", READ_BODY)?;
    let bare = Bare::start(read.exchange()?)?;
    let mut bare_route = Connection::post(bare.address, "/", READ_BODY)?;
    let [bare_time, read_time] =
        Durations::in_long_turns(CALLS, IN_A_TURN, [&mut || bare_route.call(), &mut || read.call()])?;
    table.note("POST /tools/read of 5 kB, 1 connection, p50", us(read_time.p50_us()));
    table.bound("ratio to the bare route", read_time.p50_us() / bare_time.p50_us(), 5.0, "times");
    Ok(())
}

fn pieces(table: &mut Table, served: &ServedRoot, answer: &[u8], call_us: f64) -> anyhow::Result<()> {
    let config = in_process::config(&served.root, &served.place.path().join("pieces"))?;
    let server = InProcess::new(&config)?;
    let parsing = Durations::of(CALLS, || arguments::parse_object(BODY.as_bytes()))?.p50_us();
    let validation = validation(&in_process::registry(&config)?)?.p50_us();
    let judging = judging(&in_process::registry(&config)?)?.p50_us() - parsing - validation;
    table.note("100 rules that do not match, alone", us(judging));
    let with_rules = |policy, name: &str| {
        let config = in_process::config(&served.root, &served.place.path().join(name))?;
        InProcess::with(&config, policy, THREADS)
    };
    let (without, with) = (with_rules(Policy::default(), "none")?, with_rules(hundred_rules()?, "rules")?);
    let [plain, ruled] = Durations::in_turns(
        CALLS,
        [&mut || without.call_within("ls", BODY), &mut || with.call_within("ls", BODY)],
    )?;
    let policy = ruled.p50_us() - plain.p50_us();
    table.bound("the policy, with 100 rules that do not match, in a call", policy, 20.0, "µs");
    let hop = server.hop(CALLS)?.p50_us();
    let run = Durations::of(CALLS, || server.call("ls", BODY))?.p50_us();
    let output = "file-000000.txt\n".repeat(ENTRIES);
    let journal = in_process::journal(&config, CALLS, "ls", BODY, &output)?.p50_us();
    let envelope: Envelope = serde_json::from_slice(answer)?;
    let answering = Durations::of(CALLS, || serde_json::to_vec(&envelope))?.p50_us();
    for (name, time) in [
        ("parsing the body", parsing),
        ("validating the arguments", validation),
        ("the hop to a thread that may block", hop),
        ("the tool, and its envelope", run - parsing - validation - hop),
        ("the journal's two records", journal),
        ("writing the answer", answering),
        ("HTTP", call_us - run - journal - answering),
    ] {
        table.note(&format!("of which {name}"), us(time));
    }
    Ok(())
}

/// Rules of all kinds, none of which is about the call.
fn hundred_rules() -> anyhow::Result<Policy> {
    let rules = (0..100).map(|number| {
        let about = match number % 5 {
            0 => json!({"tools": ["bash"], "commands": [format!("git push {number}")]}),
            1 => json!({"paths": [format!("deploy-{number}/**")]}),
            2 => json!({"sessions": [format!("telegram:{number}*")]}),
            3 => json!({"risk": ["high"], "channels": ["telegram"]}),
            _ => json!({"arguments": {"path": format!("{number}")}}),
        };
        let mut spec = about;
        spec["decision"] = json!("deny");
        Rule::new(serde_json::from_value(spec)?, format!("rule {number}"), &["bash", "ls"])
            .map_err(anyhow::Error::msg)
    });
    Ok(Policy::new(rules.collect::<anyhow::Result<_>>()?))
}

/// What these rules cost a call, with parsing and validating it.
fn judging(registry: &Registry) -> anyhow::Result<Durations> {
    let policy = hundred_rules()?;
    let session = SessionId::default_session();
    let call = ("ls", BODY.as_bytes());
    Ok(Durations::of(CALLS, || registry.verdict(&policy, call, &session, Caller::Token))?)
}

fn validation(registry: &Registry) -> anyhow::Result<Durations> {
    let spec = registry.specs().find(|spec| spec.name == "ls").context("there is a tool ls")?;
    let validator = jsonschema::validator_for(&spec.input_schema)?;
    let body: Value = serde_json::from_str(BODY)?;
    Ok(Durations::of(CALLS, || arguments::validate(&validator, &spec.input_schema, &body))?)
}
