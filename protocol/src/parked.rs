//! A turn whose calls wait for a person, while no worker does: where the next attempt continues.
//!
//! The conversation before the turn is opaque here, as the reasoning is: only workers read it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::EventId;

/// The reply of the model that made the calls, the state of each call, and the usage of the task.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parked {
    /// All that the model had seen and written before the turn, as the worker keeps it; none if an older
    /// version kept nothing, or if it takes more than a line may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<Value>,
    /// What the model wrote beside the calls.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// The reasoning behind them, as the worker keeps it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<Value>,
    /// All calls of the reply, in order.
    pub calls: Vec<ParkedCall>,
    /// What the task has used until then: its limits hold for all of it.
    pub spent: Spent,
}

/// A call of the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParkedCall {
    /// The model's ID for it.
    pub id: String,
    pub tool_name: String,
    /// The arguments as JSON text, as the model wrote them.
    pub arguments: String,
    pub state: CallState,
}

/// The state of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum CallState {
    /// It was answered: the result as the model reads it.
    Answered { result: String },
    /// A person is asked about it.
    Waits {
        approval_id: EventId,
        /// When the request ends.
        expires_at_ms: i64,
        /// The idempotency key that the call has and keeps.
        key: String,
    },
    /// No decision came in time.
    Expired,
    /// It comes after one that waits.
    NotBegun {
        /// The idempotency key that it gets, so that it runs once, however many attempts go on with the turn.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<String>,
    },
}

/// What a task has used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    pub turns: u32,
    pub wall_ms: u64,
    pub input_tokens: u64,
    pub cached_input_tokens: u64,
    pub output_tokens: u64,
    /// In millionths of the currency of the prices.
    pub cost_micros: u64,
}

impl Parked {
    /// The approvals that are waited for, and when each ends.
    pub fn awaited(&self) -> impl Iterator<Item = (&EventId, i64)> {
        self.calls.iter().filter_map(|call| match &call.state {
            CallState::Waits { approval_id, expires_at_ms, .. } => Some((approval_id, *expires_at_ms)),
            CallState::Answered { .. } | CallState::Expired | CallState::NotBegun { .. } => None,
        })
    }
}
