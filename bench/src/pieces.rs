//! Where the time of a call goes: each piece alone, in this process, with the server's own code.
//!
//! What is left of the call over HTTP is HTTP itself, both directions and the client included.

use std::io;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use process::Variables;
use protocol::journal::{CallEnded, CallStarted};
use protocol::{Envelope, EventId, SessionId};
use serde_json::Value;
use tokio::runtime::Runtime;
use tool_server::change::Durability;
use tool_server::config::Config;
use tool_server::journal::Journal;
use tool_server::output_store::OutputStore;
use tool_server::roots::Roots;
use tool_server::workplace::Workplace;
use toolkit::runner::CallIds;
use toolkit::{Recorder, Redactor, Registry, Request, Runner, RunnerSettings, arguments};

use crate::call::BODY;
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
    let config = config(root, place)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let parsing = Durations::of(TIMES, || arguments::parse_object(BODY.as_bytes()).map(drop))?.p50_us();
    let validation = validation(&registry(&config)?)?.p50_us();
    let hop = Durations::of(TIMES, || runtime.block_on(hop()))?.p50_us();
    let run = run(&runtime, &config)?.p50_us();
    let journal = journal(&config)?.p50_us();
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
async fn hop() -> Result<(), tokio::task::JoinError> {
    tokio::task::spawn_blocking(|| ()).await
}

/// The settings of a server with this root.
fn config(root: &Path, place: &Path) -> anyhow::Result<Config> {
    let (root, place) = (root.display().to_string(), place.display().to_string());
    let variables =
        Variables::from_pairs([("AUTONOUS_TOOL_ALLOWED_ROOTS", &root), ("AUTONOUS_DATA_DIR", &place)]);
    Config::from_variables(&variables, Path::new("/"))
}

fn registry(config: &Config) -> anyhow::Result<Registry> {
    let files = &config.files;
    let roots = Roots::open(&files.roots, files.denied.clone(), files.protected.clone(), |_| None)?;
    std::fs::create_dir_all(&files.output_dir)?;
    let output = OutputStore::open(&files.output_dir)?;
    let pending = files.journal_dir().join("pending");
    let most = config.limits.max_edit_bytes;
    Ok(tool_server::tools::registry(&Workplace::of_files(
        roots,
        &pending,
        output,
        most,
        Durability::Cached,
    )?)?)
}

fn validation(registry: &Registry) -> anyhow::Result<Durations> {
    let spec = registry.specs().find(|spec| spec.name == "ls").context("there is a tool ls")?;
    let validator = jsonschema::validator_for(&spec.input_schema)?;
    let body: Value = serde_json::from_str(BODY)?;
    Ok(Durations::of(TIMES, || arguments::validate(&validator, &spec.input_schema, &body))?)
}

/// A whole call, but for HTTP and the journal.
fn run(runtime: &Runtime, config: &Config) -> anyhow::Result<Durations> {
    let settings = RunnerSettings {
        disabled: config.disabled.clone(),
        timeout: config.limits.timeout,
        bounds: config.limits.bounds,
        cwd: config.files.roots[0].display().to_string(),
        state_dir: config.files.journal_dir().to_owned(),
    };
    let runner =
        Arc::new(Runner::new(registry(config)?, settings, Arc::new(Nowhere), Arc::new(Redactor::new([])))?);
    let measured = Durations::of(TIMES, || {
        let envelope = runtime.block_on(runner.run(request()));
        if envelope.ok { Ok(()) } else { Err(anyhow::anyhow!("{}", envelope.stderr)) }
    });
    measured.context("ls in this process")
}

fn request() -> Request {
    Request {
        tool: "ls".to_owned(),
        body: BODY.as_bytes().to_vec(),
        session: SessionId::default_session(),
        task: None,
        parent: None,
        request_id: None,
        traceparent: None,
        idempotency_key: None,
    }
}

/// The records of a call's start and end.
fn journal(config: &Config) -> anyhow::Result<Durations> {
    let journal = Journal::open(&config.files.journal)?;
    let ids =
        CallIds { call: EventId::new(), parent: None, task: None, session: SessionId::default_session() };
    Ok(Durations::of(TIMES, || {
        journal.started(&ids, started())?;
        journal.ended(&ids, ended());
        io::Result::Ok(())
    })?)
}

fn started() -> CallStarted {
    let arguments = arguments::parse_object(BODY.as_bytes()).unwrap_or_default();
    CallStarted {
        tool_name: "ls".to_owned(),
        arguments,
        risk: protocol::Risk::Low,
        request_id: None,
        traceparent: None,
    }
}

fn ended() -> CallEnded {
    CallEnded {
        tool_name: "ls".to_owned(),
        latency_ms: 0,
        exit_code: 0,
        truncated_lines: false,
        truncated_bytes: false,
        output_text: "file-000000.txt\n".repeat(20),
        created_control_files: Vec::new(),
        failure: None,
    }
}

/// Records nothing.
struct Nowhere;

impl Recorder for Nowhere {
    fn started(&self, _ids: &CallIds, _body: CallStarted) -> io::Result<()> {
        Ok(())
    }

    fn ended(&self, _ids: &CallIds, _body: CallEnded) {}
}
