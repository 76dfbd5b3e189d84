//! Calls over HTTP beside the bare route: latency on one connection, throughput on many.

use std::fs;

use harness::ToolServer;
use redaction::Redactor;

use crate::bare::Bare;
use crate::http::{Connection, rates_in_turns};
use crate::measure::{Durations, Work};
use crate::program::{call, fill, served, source};
use crate::table::Table;

const LS: &str = r#"{"path":"."}"#;
const ENTRIES: usize = 20;

const READ: &str = r#"{"path":"source.rs"}"#;
const READ_BYTES: usize = 5_000;

const MCP_REVISION: &str = "2026-07-28";

/// A larger file at once; with line numbers it would not fit into one answer.
const READ_WHOLE: &str = r#"{"path":"source.rs","limit":2000,"line_numbers":false}"#;
const WHOLE_BYTES: usize = 50_000;

/// Calls, and how many of them in a turn: a server that has just answered is awake for a moment, which its
/// first call after a turn of another one is not.
const CALLS: (usize, usize) = (10_000, 100);

pub(crate) fn ls(table: &mut Table) -> anyhow::Result<()> {
    let server = served(|root| fill(root, ENTRIES))?;
    let bare = beside_bare(table, &server, ("ls", LS), 4.0)?;
    rates(table, 64, &bare, &server, ("ls", LS), 0.25)?;
    let small = served(|root| fs::write(root.join("source.rs"), source(READ_BYTES)))?;
    let bare = beside_bare(table, &small, ("read", READ), 5.0)?;
    rates(table, 8, &bare, &small, ("read", READ), 0.25)?;
    hundred_rules(table, &server)
}

pub(crate) fn read(table: &mut Table) -> anyhow::Result<()> {
    let text = source(WHOLE_BYTES);
    let server = served(|root| fs::write(root.join("source.rs"), &text))?;
    let envelope: protocol::Envelope = call(&server, "read", READ_WHOLE)?.json()?;
    anyhow::ensure!(envelope.stdout == text, "not the whole file: {}", envelope.stderr);
    beside_bare(table, &server, ("read", READ_WHOLE), 15.0)?;
    let redaction = |redactor: Redactor| Durations::of(3_000, || Ok(redactor.redact(&text).len()));
    table.within("of which redaction", redaction(Redactor::new([]))?.p50(), 1.0);
    let with_token = redaction(Redactor::new(["a-token-of-the-server-itself"]))?;
    table.within("redaction where the server has a token", with_token.p50(), 1.0);
    Ok(())
}

/// The same call over MCP, which sends the envelope, its text, and what the protocol adds.
pub(crate) fn mcp(table: &mut Table) -> anyhow::Result<()> {
    let server = served(|root| fs::write(root.join("source.rs"), source(READ_BYTES)))?;
    let message = serde_json::json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {
            "name": "read",
            "arguments": serde_json::from_str::<serde_json::Value>(READ)?,
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": MCP_REVISION,
                "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {},
            },
        },
    });
    let headers = [
        ("Accept", "application/json, text/event-stream"),
        ("MCP-Protocol-Version", MCP_REVISION),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", "read"),
    ];
    let mut over_mcp = Connection::open(server.address(), ("POST", "/mcp"), &headers, &message.to_string())?;
    let answer: serde_json::Value = over_mcp.json()?;
    anyhow::ensure!(answer["result"]["structuredContent"]["ok"] == true, "{answer}");
    let mut over_http = call(&server, "read", READ)?;
    let sides: [(&str, Work<'_>); 2] =
        [("POST /tools/read", &mut || over_http.call()), ("POST /mcp", &mut || over_mcp.call())];
    table.compare(CALLS, sides, ("ratio of the p50s", 1.6))?;
    Ok(())
}

/// A page of a huge directory, beside only reading all of its names.
pub(crate) fn listing(table: &mut Table) -> anyhow::Result<()> {
    let server = served(|root| fill(root, 100_000))?;
    let mut page = call(&server, "ls", r#"{"path":".","limit":200}"#)?;
    let mut names = || Ok(fs::read_dir(server.root())?.try_for_each(|entry| entry.map(drop))?);
    let [all, page] = Durations::in_turns(30, 1, [&mut names, &mut || page.call()])?;
    table.time("reading all names in this process, p50", all.p50());
    table.time("POST /tools/ls with limit 200, p50", page.p50());
    table.note("ratio of the p50s", format!("{:.1} times", page.against(&all)));
    Ok(())
}

/// A call beside a bare route that sends as many bytes.
fn beside_bare(
    table: &mut Table,
    server: &ToolServer,
    (tool, body): (&str, &str),
    most: f64,
) -> anyhow::Result<Bare> {
    let mut asked = call(server, tool, body)?;
    let answer = asked.exchange()?.to_vec();
    let bare = Bare::start(&answer)?;
    let mut bare_route = bare.connect(body)?;
    table.note("answer", format!("{} bytes", answer.len()));
    let name = format!("POST /tools/{tool}");
    let sides: [(&str, Work<'_>); 2] =
        [("bare route", &mut || bare_route.call()), (&name, &mut || asked.call())];
    let [bare_time, time] = table.compare(CALLS, sides, ("ratio of the p50s", most))?;
    table.time("bare route, p99", bare_time.percentile(99));
    table.time(&format!("{name}, p99"), time.percentile(99));
    Ok(bare)
}

fn rates(
    table: &mut Table,
    connections: usize,
    bare: &Bare,
    server: &ToolServer,
    (tool, body): (&str, &str),
    least: f64,
) -> anyhow::Result<()> {
    let [bare_rate, rate] =
        rates_in_turns([(connections, &|| bare.connect(body)), (connections, &|| call(server, tool, body))])?;
    table.note(&format!("bare route, {connections} connections"), format!("{bare_rate:.0}/s"));
    table.note(&format!("POST /tools/{tool}, {connections} connections"), format!("{rate:.0}/s"));
    table.reach("ratio of the rates", rate / bare_rate, least, "times");
    Ok(())
}

/// A call beside the same one at a server with rules of all kinds, none of which is about it.
fn hundred_rules(table: &mut Table, without: &ToolServer) -> anyhow::Result<()> {
    let rule = |number: usize| {
        let about = match number % 5 {
            0 => format!("tools = [\"bash\"]\ncommands = [\"git push {number}\"]"),
            1 => format!("paths = [\"deploy-{number}/**\"]"),
            2 => format!("sessions = [\"telegram:{number}*\"]"),
            3 => "risk = [\"high\"]\nchannels = [\"telegram\"]".to_owned(),
            _ => format!("arguments = {{ path = \"{number}\" }}"),
        };
        format!("[[rule]]\n{about}\ndecision = \"deny\"\n")
    };
    let rules: String = (0..100).map(rule).collect();
    let with = ToolServer::builder().policy(&rules);
    fill(&with.dir().root(), ENTRIES)?;
    let with = with.start();
    let (mut plain, mut ruled) = (call(without, "ls", LS)?, call(&with, "ls", LS)?);
    let works: [Work<'_>; 2] = [&mut || plain.call(), &mut || ruled.call()];
    let [plain, ruled] = Durations::in_turns(CALLS.0, CALLS.1, works)?;
    let more = (ruled.p50().as_secs_f64() - plain.p50().as_secs_f64()) * 1e6;
    table.bound("the policy, with 100 rules that do not match, in a call", more, 20.0, "µs");
    Ok(())
}
