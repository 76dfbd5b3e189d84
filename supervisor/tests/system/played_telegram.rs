//! A Telegram that keeps unconfirmed updates and remembers what it was sent.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::extract::{Path, State};
use axum::{Json, Router, routing::post};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::Notify;

/// What it holds.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    /// Updates that were not confirmed yet.
    pub(crate) updates: Vec<Value>,
    /// Answers for the next messages that are sent to it, before it takes one.
    pub(crate) refusals: VecDeque<Value>,
    /// The messages that it took: chat and text.
    pub(crate) taken: Vec<(i64, String)>,
}

/// A played Telegram.
#[derive(Debug, Clone, Default)]
pub(crate) struct PlayedTelegram {
    memory: Arc<Mutex<Memory>>,
    received: Arc<Notify>,
}

impl PlayedTelegram {
    /// Starts to answer and returns where.
    pub(crate) async fn start(&self) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("a bound socket has an address");
        let router = Router::new().route("/{bot}/{method}", post(answer)).with_state(self.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        address
    }

    pub(crate) fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A message in a private chat.
    pub(crate) fn receive(&self, update_id: i64, chat: i64, date: i64, text: &str) {
        let person = json!({"id": chat, "is_bot": false, "first_name": "A"});
        let chat = json!({"id": chat, "type": "private", "first_name": "A"});
        let message =
            json!({"message_id": update_id, "date": date, "chat": chat, "from": person, "text": text});
        self.memory().updates.push(json!({"update_id": update_id, "message": message}));
        self.received.notify_one();
    }
}

async fn answer(
    State(played): State<PlayedTelegram>,
    Path((_, method)): Path<(String, String)>,
    Json(parameters): Json<Value>,
) -> Json<Value> {
    match method.to_lowercase().as_str() {
        "getupdates" => Json(played.updates_from(&parameters).await),
        "sendmessage" => Json(played.take(&parameters)),
        other => Json(json!({"ok": false, "error_code": 404, "description": format!("no method {other}")})),
    }
}

impl PlayedTelegram {
    async fn updates_from(&self, parameters: &Value) -> Value {
        let offset = parameters["offset"].as_i64();
        self.memory().updates.retain(|update| update["update_id"].as_i64() >= offset);
        if self.memory().updates.is_empty() {
            let wait = Duration::from_secs(parameters["timeout"].as_u64().unwrap_or(0));
            let _ = tokio::time::timeout(wait, self.received.notified()).await;
        }
        let memory = self.memory();
        json!({"ok": true, "result": memory.updates.iter().take(100).collect::<Vec<_>>()})
    }

    fn take(&self, parameters: &Value) -> Value {
        let mut memory = self.memory();
        if let Some(refusal) = memory.refusals.pop_front() {
            return refusal;
        }
        let chat = parameters["chat_id"].as_i64().unwrap_or_default();
        let text = parameters["text"].as_str().unwrap_or_default();
        memory.taken.push((chat, text.to_owned()));
        let chat = json!({"id": chat, "type": "private", "first_name": "A"});
        json!({"ok": true, "result": {"message_id": memory.taken.len(), "date": 1, "chat": chat, "text": text}})
    }
}
