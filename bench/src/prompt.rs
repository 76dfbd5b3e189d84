//! The prompt of a long task: how long each provider takes to write the body of a request.
//!
//! The replies come from a fake model server in this process, so that their reasoning is kept and sent back
//! as in a task.

use agent_worker::model::endpoint::Settings;
use agent_worker::model::{Message, Model as _, ModelServer, Reply, Request, providers};
use axum::http::Uri;
use axum::{Json, Router};
use process::models::Provider;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::measure::Durations;
use crate::table::Table;

/// How many turns the task has taken, and how often its prompt is written.
const TURNS: usize = 200;
const TIMES: usize = 200;

/// The size of a turn's reasoning and of its result: about 700 tokens, and a page of a file.
pub(crate) const REASONING_BYTES: usize = 2000;
const RESULT_BYTES: usize = 3000;

const TOLERATED_MS: f64 = 5.0;

pub(crate) fn bench(table: &mut Table) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))?;
    let base_url = format!("http://{}/v1", listener.local_addr()?);
    runtime.spawn(async move { axum::serve(listener, Router::new().fallback(answer)).await });
    for provider in Provider::ALL {
        let model = providers::server(provider, Settings::new(base_url.parse()?, None, "m"))?;
        bound(table, &runtime, provider.name(), &model)?;
    }
    Ok(())
}

fn bound(table: &mut Table, runtime: &Runtime, name: &str, model: &ModelServer) -> anyhow::Result<()> {
    let question = [Message::User("look around".to_owned())];
    let request = Request { system: "Be brief.", messages: &question, tools: &[], schema: None };
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
    let durations = Durations::of(TIMES, || serde_json::to_vec(&model.body(request)))?;
    table.bound(&format!("prompt of {TURNS} turns, {name}, p50"), durations.p50_ms(), TOLERATED_MS, "ms");
    Ok(())
}

/// A reply with a thought and a call, in the protocol that the path belongs to.
async fn answer(uri: Uri) -> Json<Value> {
    let thought = "t".repeat(REASONING_BYTES);
    Json(match uri.path() {
        "/v1/chat/completions" => {
            let call = json!({"id": "a", "function": {"name": "ls", "arguments": "{}"}});
            let message = json!({"reasoning_content": thought, "tool_calls": [call]});
            json!({"choices": [{"message": message, "finish_reason": "tool_calls"}]})
        }
        "/v1/responses" => json!({"status": "completed", "output": [
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": thought},
            {"type": "function_call", "id": "fc_1", "call_id": "a", "name": "ls", "arguments": "{}"},
        ]}),
        "/v1/messages" => json!({"stop_reason": "tool_use", "content": [
            {"type": "thinking", "thinking": thought, "signature": "s"},
            {"type": "tool_use", "id": "a", "name": "ls", "input": {}},
        ]}),
        _ => {
            let part = json!({"functionCall": {"name": "ls", "args": {}}, "thoughtSignature": thought});
            json!({"candidates": [{"content": {"parts": [part]}, "finishReason": "STOP"}]})
        }
    })
}
