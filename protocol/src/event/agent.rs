//! What the worker records: the agent at work on a task, its turns, and its dealings with the model.

use serde::{Deserialize, Serialize};

use crate::SessionId;

/// The worker began a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentStarted {
    /// Which attempt at the task.
    pub attempt: u32,
    /// Whose chat.
    pub session_id: SessionId,
    /// The model's name.
    pub model_name: String,
}

/// The worker ended a task with an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentCompleted {
    /// `answer`, or why the answer is partial: `limit` or `stalled`.
    pub end: String,
    /// What the attempt took.
    #[serde(flatten)]
    pub totals: AgentTotals,
}

/// The worker ended a task without an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentFailed {
    /// Why.
    #[serde(flatten)]
    pub failure: AgentFailure,
    /// What the attempt took.
    #[serde(flatten)]
    pub totals: AgentTotals,
}

/// Why the worker has no answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum AgentFailure {
    /// The task failed.
    Error {
        /// What went wrong.
        error: String,
        /// A class of model errors, or `tool_server`.
        error_class: String,
    },
    /// The task was ended from outside.
    Ended {
        /// Always `cancelled`.
        end: String,
    },
}

/// What an attempt took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentTotals {
    /// Wall time.
    pub latency_ms: u64,
    /// Turns that began.
    pub turns: u32,
    /// Tool calls that began.
    pub tool_calls: usize,
    /// All input tokens, the cached ones too.
    pub input_tokens: u64,
    /// The input tokens that the provider had cached.
    pub cached_input_tokens: u64,
    /// All output tokens.
    pub output_tokens: u64,
}

/// The messages for the model were put together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ContextAssembled {
    /// At the start of the task.
    Initial(InitialContext),
    /// When they had outgrown the model's window.
    Fitted(FittedContext),
}

/// The messages at the start of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InitialContext {
    /// How many messages.
    pub messages: usize,
    /// How many messages of the chat's history are among them.
    pub history_messages: usize,
    /// How many calls of earlier attempts they tell.
    pub earlier_calls: usize,
    /// How many tools are offered.
    pub tools: usize,
    /// The length of the system prompt.
    pub system_prompt_chars: usize,
    /// What all of it takes.
    pub estimated_tokens: usize,
}

/// The messages after they were fitted to the model's window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FittedContext {
    /// How many messages.
    pub messages: usize,
    /// How many results were shortened.
    pub shortened: usize,
    /// How many messages were dropped.
    pub dropped: usize,
    /// What all of it takes now.
    pub estimated_tokens: usize,
    /// What it may take.
    pub limit_tokens: usize,
    /// The model's own summary of what was dropped, if it wrote one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
}

/// A request to the model began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnStarted {
    /// Which turn, from 1.
    pub turn: u32,
    /// The model that is asked.
    pub model_name: String,
}

/// The model answered, and the tool calls it asked for were run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnCompleted {
    /// The model that answered.
    pub model_name: String,
    /// How long it took to answer.
    pub latency_ms: u64,
    /// All input tokens, the cached ones too.
    pub input_tokens: u64,
    /// The input tokens that the provider had cached.
    pub cached_input_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
    /// How many tool calls it asked for.
    pub tool_calls: usize,
    /// Whether the reply was cut at the length limit.
    pub cut: bool,
}

/// A limit ended a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlLimitReached {
    /// `turns`, `wall_time` or `tokens`.
    pub limit: String,
    /// The limit's value, in words.
    pub value: String,
}

/// The model repeats itself without progress.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgressStalled {
    /// How many turns in a row were equal.
    pub equal_turns: u32,
}

/// A request to the model that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestFailed {
    /// How many requests of this turn have failed.
    pub failed_requests: u32,
    /// What the provider or the network said.
    pub error: String,
    /// The class of the error.
    pub error_class: String,
    /// How long the provider asks to wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}

/// A circuit breaker opened: the model is not asked for a while.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CircuitOpened {
    /// The class of error that opened it.
    pub error_class: String,
    /// How many failures in a row.
    pub failures: u32,
    /// For how long.
    pub open_ms: u64,
}

/// A circuit breaker lets one request through.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CircuitHalfOpen {
    /// The class of error that opened it.
    pub error_class: String,
}

/// A circuit breaker closed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CircuitClosed {
    /// The class of error that opened it.
    pub error_class: String,
}
