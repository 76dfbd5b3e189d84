//! A turn of the loop: what the real worker takes beyond the time of the model and the tool.
//!
//! A fake model and a fake tool server in this process answer at once. What counts is the time from the
//! model's answer to the worker's next question, without the time of the tool: reading the answer, the call,
//! the result, the growing conversation, and the worker's side of HTTP.

use std::io::{BufRead, Write};
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use agent_worker::model::Message;
use agent_worker::window::{WindowBounds, fit};
use axum::extract::State;
use axum::routing::{get, post};
use axum::{Json, Router};
use protocol::{EventId, FromWorker, Task, ToWorker};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::measure::Durations;
use crate::program::{Program, path_of};
use crate::prompt::REASONING_BYTES;
use crate::table::Table;

/// How many turns a task takes; the conversation grows with each.
const TURNS: usize = 400;

/// How many messages are fitted, and how often.
const MESSAGES: usize = 10_000;
const FITS: usize = 50;

pub(crate) fn bench(table: &mut Table) -> anyhow::Result<()> {
    let exchanges = Arc::new(Exchanges::default());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let address = serve(&runtime, Arc::clone(&exchanges))?;
    run_a_task(address)?;
    let turns = exchanges.overheads()?;
    table.bound("overhead of a turn with one call after a thought, p50", turns.p50_ms(), 3.0, "ms");
    table.note("overhead of a turn with one call, p99", format!("{:.2} ms", turns.percentile_us(99) / 1e3));
    let fits = fits()?;
    table.bound("fitting 10,000 messages, p50", fits.p50_ms(), 20.0, "ms");
    Ok(())
}

/// When the fake servers were asked and when they answered.
#[derive(Default)]
struct Exchanges(Mutex<Vec<Asked>>);

struct Asked {
    is_model: bool,
    from: Instant,
    to: Instant,
}

impl Exchanges {
    fn asked(&self) -> MutexGuard<'_, Vec<Asked>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From each answer of the model to its next question, without the tools between them.
    fn overheads(&self) -> anyhow::Result<Durations> {
        let asked = self.asked();
        let questions: Vec<usize> = (0..asked.len()).filter(|index| asked[*index].is_model).collect();
        let overheads = questions.windows(2).map(|pair| {
            let (answered, asked_again) = (asked[pair[0]].to, asked[pair[1]].from);
            let tools = asked[pair[0] + 1..pair[1]].iter().map(|tool| tool.to - tool.from).sum::<Duration>();
            (asked_again - answered).saturating_sub(tools)
        });
        let overheads: Vec<Duration> = overheads.collect();
        anyhow::ensure!(overheads.len() == TURNS, "the worker took {} turns", overheads.len());
        Ok(Durations::new(overheads))
    }
}

fn serve(runtime: &Runtime, exchanges: Arc<Exchanges>) -> anyhow::Result<SocketAddr> {
    let routes = Router::new()
        .route("/v1/chat/completions", post(complete))
        .route("/tools", get(async || Json(json!({"tools": [tool()]}))))
        .route("/tools/ls", post(list))
        .with_state(exchanges);
    let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))?;
    let address = listener.local_addr()?;
    runtime.spawn(async move { axum::serve(listener, routes).await });
    Ok(address)
}

/// Calls the tool after a thought, with other arguments each time, and answers at the end.
async fn complete(State(exchanges): State<Arc<Exchanges>>, _question: String) -> Json<Value> {
    let from = Instant::now();
    let mut asked = exchanges.asked();
    let turn = asked.iter().filter(|asked| asked.is_model).count();
    let (message, finish_reason) = if turn < TURNS {
        let function =
            json!({"name": "ls", "arguments": json!({"path": ".", "limit": turn + 1}).to_string()});
        let call = json!({"id": format!("call_{turn}"), "type": "function", "function": function});
        let thought = "t".repeat(REASONING_BYTES);
        (json!({"role": "assistant", "reasoning_content": thought, "tool_calls": [call]}), "tool_calls")
    } else {
        (json!({"role": "assistant", "content": "done"}), "stop")
    };
    asked.push(Asked { is_model: true, from, to: Instant::now() });
    Json(json!({"choices": [{"index": 0, "message": message, "finish_reason": finish_reason}]}))
}

async fn list(State(exchanges): State<Arc<Exchanges>>, _arguments: String) -> Json<Value> {
    let from = Instant::now();
    let envelope = json!({
        "ok": true, "exit_code": 0, "stdout": "a.txt\nb.txt\n", "stderr": "",
        "truncated_lines": false, "truncated_bytes": false,
        "meta": {
            "tool": "ls", "call_id": EventId::new(), "status": "success", "risk": "low", "notices": [],
            "data": {}, "stats": {"time_ms": 0}, "context": {"cwd": "/", "params_input": {}},
            "redacted": false,
        },
    });
    exchanges.asked().push(Asked { is_model: false, from, to: Instant::now() });
    Json(envelope)
}

fn tool() -> Value {
    json!({
        "name": "ls", "description": "Lists a directory.", "risk": "low",
        "annotations": {"readOnly": true, "destructive": false, "idempotent": true, "openWorld": false},
        "input_schema": {"type": "object"}, "output_schema": {"type": "object"},
    })
}

/// Gives a real worker one task, and waits for its result.
fn run_a_task(address: SocketAddr) -> anyhow::Result<()> {
    let mut worker = start_worker(address)?;
    let (mut stdin, stdout) = worker.pipes()?;
    let line = serde_json::to_string(&ToWorker::Task(Box::new(Task::new("look around"))))?;
    writeln!(stdin, "{line}")?;
    for line in stdout.lines() {
        if let FromWorker::Result(_) = serde_json::from_str(&line?)? {
            return Ok(());
        }
    }
    anyhow::bail!("the worker ended without a result")
}

fn start_worker(address: SocketAddr) -> anyhow::Result<Program> {
    let variables = [
        ("RUST_LOG", "off".to_owned()),
        ("AUTONOUS_TOOL_URL", format!("http://{address}")),
        ("AUTONOUS_MODEL_PROVIDER", "openai".to_owned()),
        ("AUTONOUS_MODEL_BASE_URL", format!("http://{address}/v1")),
        ("AUTONOUS_CONTROL_MAX_TURNS", "10000".to_owned()),
        // The reasoning of all turns must fit.
        ("AUTONOUS_MODEL_CONTEXT_TOKENS", "1000000".to_owned()),
    ];
    let mut command = Command::new(path_of("agent-worker")?);
    Program::spawn(command.env_clear().envs(variables).stdin(Stdio::piped()).stdout(Stdio::piped()))
}

/// Fitting a chat of many messages into the default window, of which it takes several.
fn fits() -> anyhow::Result<Durations> {
    let message = |number: usize| {
        let text = format!("message {number} {}", "words ".repeat(40));
        if number.is_multiple_of(2) { Message::User(text) } else { Message::assistant(text, Vec::new()) }
    };
    let mut messages: Vec<Message> = (0..MESSAGES - 1).map(message).collect();
    messages.push(Message::User("the question".to_owned()));
    let mut durations = Vec::with_capacity(FITS);
    for _ in 0..FITS {
        let conversation = messages.clone();
        let began = Instant::now();
        let fitted = fit(conversation, MESSAGES - 1..MESSAGES, WindowBounds { limit: 110_000 });
        durations.push(began.elapsed());
        let fitted = fitted.map_err(|error| anyhow::anyhow!("{error:?}"))?;
        anyhow::ensure!(fitted.dropped_before > 0, "nothing had to be fitted");
    }
    Ok(Durations::new(durations))
}
