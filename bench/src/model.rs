//! A fake model, which calls `ls` so many times and then answers, and a fake tool server beside it.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::State;
use axum::http::Uri;
use axum::routing::{get, post};
use axum::{Json, Router};
use protocol::EventId;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

/// The size of a turn's reasoning: about 700 tokens.
pub(crate) const REASONING_BYTES: usize = 2000;

#[derive(Debug)]
pub(crate) struct FakeModel {
    pub address: SocketAddr,
    pub asked: Arc<Mutex<Vec<Asked>>>,
    _runtime: Runtime,
}

/// When one of both was asked, and when it answered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked {
    pub is_model: bool,
    pub from: Instant,
    pub to: Instant,
}

#[derive(Debug, Clone)]
struct Server {
    pause: Duration,
    calls: usize,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl FakeModel {
    /// Starts one that takes `pause` for each turn and makes `calls` calls, one a turn.
    pub(crate) fn start(pause: Duration, calls: usize) -> anyhow::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let server = Server { pause, calls, asked: Arc::default() };
        let asked = Arc::clone(&server.asked);
        let routes = Router::new()
            .route("/tools", get(async || Json(json!({"tools": [tool()]}))))
            .route("/tools/ls", post(list))
            .fallback(complete)
            .with_state(server);
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))?;
        let address = listener.local_addr()?;
        runtime.spawn(async move { axum::serve(listener, routes).await });
        Ok(Self { address, asked, _runtime: runtime })
    }

    /// The settings of a program that asks it.
    pub(crate) fn variables(&self) -> [(&'static str, String); 2] {
        let url = format!("http://{}/v1", self.address);
        [("AUTONOUS_MODEL_PROVIDER", "openai".to_owned()), ("AUTONOUS_MODEL_BASE_URL", url)]
    }
}

impl Server {
    fn note(&self, is_model: bool, from: Instant) {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.push(Asked { is_model, from, to: Instant::now() });
    }
}

/// A reply with a thought and a call, with other arguments each time, or the answer.
async fn complete(State(server): State<Server>, uri: Uri, question: String) -> Json<Value> {
    let from = Instant::now();
    tokio::time::sleep(server.pause).await;
    let results = question.matches(r#""role":"tool""#).count();
    let reply = if results < server.calls { call(uri.path(), results) } else { answer() };
    server.note(true, from);
    Json(reply)
}

/// In the protocol that the path belongs to.
fn call(path: &str, turn: usize) -> Value {
    let thought = "t".repeat(REASONING_BYTES);
    let arguments = json!({"path": ".", "limit": turn + 1});
    let text = arguments.to_string();
    match path {
        "/v1/chat/completions" => {
            let function = json!({"name": "ls", "arguments": text});
            let call = json!({"id": format!("call_{turn}"), "type": "function", "function": function});
            let message = json!({"role": "assistant", "reasoning_content": thought, "tool_calls": [call]});
            json!({"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]})
        }
        "/v1/responses" => json!({"status": "completed", "output": [
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": thought},
            {"type": "function_call", "id": "fc_1", "call_id": "a", "name": "ls", "arguments": text},
        ]}),
        "/v1/messages" => json!({"stop_reason": "tool_use", "content": [
            {"type": "thinking", "thinking": thought, "signature": "s"},
            {"type": "tool_use", "id": "a", "name": "ls", "input": arguments},
        ]}),
        _ => {
            let part =
                json!({"functionCall": {"name": "ls", "args": arguments}, "thoughtSignature": thought});
            json!({"candidates": [{"content": {"parts": [part]}, "finishReason": "STOP"}]})
        }
    }
}

fn answer() -> Value {
    let message = json!({"role": "assistant", "content": "It is empty."});
    json!({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})
}

async fn list(State(server): State<Server>, _arguments: String) -> Json<Value> {
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
    server.note(false, from);
    Json(envelope)
}

fn tool() -> Value {
    json!({
        "name": "ls", "description": "Lists a directory.", "risk": "low",
        "annotations": {"readOnly": true, "destructive": false, "idempotent": true, "openWorld": false},
        "input_schema": {"type": "object"}, "output_schema": {"type": "object"},
    })
}
