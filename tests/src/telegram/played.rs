//! What Telegram remembers: updates that wait, messages that were sent, failures that are due.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Mutex, MutexGuard};
use std::time::Instant;

use serde_json::{Value, json};
use tokio::sync::Notify;

/// The most UTF-16 units that a message may have.
const MAX_TEXT_UNITS: usize = 4096;

/// A failure that the next call of a method meets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// 429, with the seconds to wait.
    RetryAfter(u64),
    /// 401: the token is wrong.
    Unauthorized,
    /// 409: another program polls with this token.
    Conflict,
    /// 500.
    ServerError,
    /// The call is taken, and the connection ends before its answer.
    Dropped,
}

/// A message that the bot sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// To which chat.
    pub chat_id: i64,
    /// What.
    pub text: String,
    /// When the server got it.
    pub at: Instant,
}

#[derive(Debug, Default)]
pub(super) struct Shared {
    pub(super) played: Mutex<Played>,
    pub(super) arrived: Notify,
}

#[derive(Debug, Default)]
pub(super) struct Played {
    pub(super) waiting: VecDeque<(i64, Value)>,
    pub(super) confirmed: BTreeSet<i64>,
    pub(super) redelivered: Vec<Value>,
    pub(super) last_update_id: i64,
    pub(super) served: usize,
    pub(super) sent: Vec<Sent>,
    pub(super) faults: Vec<(String, Fault)>,
    pub(super) calls: Vec<(String, Instant)>,
}

impl Shared {
    pub(super) fn lock(&self) -> MutexGuard<'_, Played> {
        self.played.lock().expect("no handler panics")
    }
}

impl Played {
    pub(super) fn begin(&mut self, method: &str) -> Option<Fault> {
        self.calls.push((method.to_owned(), Instant::now()));
        let index = self.faults.iter().position(|(name, _)| name == method)?;
        Some(self.faults.remove(index).1)
    }

    pub(super) fn updates(&mut self, parameters: &Value) -> Vec<Value> {
        let offset = parameters["offset"].as_i64().unwrap_or(0);
        let limit = parameters["limit"].as_u64().and_then(|limit| usize::try_from(limit).ok()).unwrap_or(100);
        let confirmed = self.waiting.iter().map(|(id, _)| *id).filter(|id| *id < offset);
        self.confirmed.extend(confirmed);
        self.waiting.retain(|(id, _)| *id >= offset);
        let fresh = self.waiting.iter().map(|(_, update)| update.clone());
        let updates: Vec<Value> = self.redelivered.drain(..).chain(fresh).take(limit).collect();
        self.served += updates.len();
        updates
    }

    /// Records a message, or says why Telegram would refuse it.
    pub(super) fn take_message(&mut self, parameters: &Value) -> Result<Value, &'static str> {
        let text = parameters["text"].as_str().unwrap_or_default();
        let Some(chat_id) = parameters["chat_id"].as_i64() else {
            return Err("Bad Request: chat not found");
        };
        if text.trim().is_empty() {
            return Err("Bad Request: message text is empty");
        }
        if text.encode_utf16().count() > MAX_TEXT_UNITS {
            return Err("Bad Request: message is too long");
        }
        self.sent.push(Sent { chat_id, text: text.to_owned(), at: Instant::now() });
        Ok(json!({
            "message_id": self.sent.len(), "date": protocol::now_ms() / 1000, "text": text,
            "chat": {"id": chat_id, "type": "private", "first_name": "Ada"},
            "from": {"id": 123_456, "is_bot": true, "first_name": "Played", "username": "played_bot"},
        }))
    }
}
