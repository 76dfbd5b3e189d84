//! A turn of the loop: what the real worker takes beyond the time of the model and the tool.
//!
//! A fake model and a fake tool server in this process answer at once. What counts is the time from the
//! model's answer to the worker's next question, without the time of the tool: reading the answer, the call,
//! the result, the growing conversation, and the worker's side of HTTP.

use std::io::{BufRead, Write};
use std::process::{Command, Stdio};
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use agent_worker::model::Message;
use agent_worker::window::{WindowBounds, fit};
use harness::binaries;
use protocol::{FromWorker, Task, ToWorker};

use crate::measure::Durations;
use crate::model::{Asked, FakeModel};
use crate::program::Program;
use crate::table::Table;

/// How many turns a task takes; the conversation grows with each.
const TURNS: usize = 400;

/// How many messages are fitted, and how often.
const MESSAGES: usize = 10_000;
const FITS: usize = 50;

pub(crate) fn bench(table: &mut Table) -> anyhow::Result<()> {
    let model = FakeModel::start(Duration::ZERO, TURNS)?;
    run_a_task(&model)?;
    let turns = overheads(&model.asked.lock().unwrap_or_else(PoisonError::into_inner))?;
    table.within("overhead of a turn with one call after a thought, p50", turns.p50(), 3.0);
    table.time("overhead of a turn with one call, p99", turns.percentile(99));
    table.within("fitting 10,000 messages, p50", fits()?.p50(), 20.0);
    Ok(())
}

/// From each answer of the model to its next question, without the tools between them.
fn overheads(asked: &[Asked]) -> anyhow::Result<Durations> {
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

/// Gives a real worker one task, and waits for its result.
fn run_a_task(model: &FakeModel) -> anyhow::Result<()> {
    let variables = [
        ("RUST_LOG", "off".to_owned()),
        ("AUTONOUS_TOOL_URL", format!("http://{}", model.address)),
        ("AUTONOUS_CONTROL_MAX_TURNS", "10000".to_owned()),
        // The reasoning of all turns must fit.
        ("AUTONOUS_MODEL_CONTEXT_TOKENS", "1000000".to_owned()),
    ];
    let mut command = Command::new(binaries::path_of("agent-worker"));
    command.env_clear().envs(variables).envs(model.variables()).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut worker = Program::spawn(&mut command)?;
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
