//! The prompt of a long task: how long each provider takes to write the body of a request.
//!
//! The replies come from a fake model, so that their reasoning is kept and sent back as in a task.

use std::time::Duration;

use agent_worker::model::endpoint::Settings;
use agent_worker::model::{Message, Model as _, ModelServer, Reply, Request, providers};
use settings::Provider;

use crate::measure::Durations;
use crate::model::{FakeModel, REASONING_BYTES};
use crate::table::Table;

/// How many turns the task has taken, and how often its prompt is written.
const TURNS: usize = 200;
const TIMES: usize = 200;

/// The size of a turn's result: a page of a file.
const RESULT_BYTES: usize = 3000;

const TOLERATED_MS: f64 = 5.0;

pub(crate) fn bench(table: &mut Table) -> anyhow::Result<()> {
    let server = FakeModel::start(Duration::ZERO, 1)?;
    let base_url = format!("http://{}/v1", server.address);
    for provider in Provider::ALL {
        let model = providers::server(provider, Settings::new(base_url.parse()?, None, "m"))?;
        bound(table, provider.name(), &model)?;
    }
    Ok(())
}

fn bound(table: &mut Table, name: &str, model: &ModelServer) -> anyhow::Result<()> {
    let question = [Message::User("look around".to_owned())];
    let request = Request { system: "Be brief.", messages: &question, tools: &[], schema: None, words: None };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let Reply { text, calls, reasoning, .. } = runtime.block_on(model.reply(request))?;
    anyhow::ensure!(reasoning.is_some() && calls.len() == 1, "{name}: the reply has no reasoning");
    let result =
        Message::ToolResult { call_id: calls[0].id.clone(), text: "a line\n".repeat(RESULT_BYTES / 7) };
    let turn = [Message::Assistant { text, calls, reasoning }, result];
    let messages: Vec<Message> =
        question.iter().cloned().chain(turn.iter().cycle().take(2 * TURNS).cloned()).collect();
    let request = Request { messages: &messages, ..request };
    let bytes = serde_json::to_vec(&model.body(request))?.len();
    anyhow::ensure!(bytes > TURNS * (REASONING_BYTES + RESULT_BYTES), "{name}: only {bytes} bytes");
    let durations = Durations::of(TIMES, || Ok(serde_json::to_vec(&model.body(request))?))?;
    table.within(&format!("prompt of {TURNS} turns, {name}, p50"), durations.p50(), TOLERATED_MS);
    Ok(())
}
