//! What the worker records: the agent at work on a task, its turns, and its dealings with the model.

use serde::{Deserialize, Serialize};

use crate::{Plan, SessionId, StepStatus};

/// The worker began a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentStarted {
    pub attempt: u32,
    pub session_id: SessionId,
    pub model_name: String,
}

/// The worker ended a task with an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentCompleted {
    /// `answer`; why the answer is partial: `limit` or `stalled`; or `parked`, until a person has decided.
    pub end: String,
    #[serde(flatten)]
    pub totals: AgentTotals,
}

/// The worker ended a task without an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentFailed {
    #[serde(flatten)]
    pub failure: AgentFailure,
    /// The provider of the agent's model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    #[serde(flatten)]
    pub totals: AgentTotals,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum AgentFailure {
    /// The task failed.
    Error {
        error: String,
        /// A class of model errors, or `tool_server`.
        error_class: String,
        /// The model's server, if it could not be reached.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unreachable: Option<Unreachable>,
    },
    Ended {
        /// Always `cancelled`.
        end: String,
    },
}

/// What an attempt took. `turns` and `tool_calls` count those that began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentTotals {
    pub latency_ms: u64,
    pub turns: u32,
    pub tool_calls: usize,
    /// All input tokens, the cached ones too.
    pub input_tokens: u64,
    pub cached_input_tokens: u64,
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

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InitialContext {
    pub messages: usize,
    pub history_messages: usize,
    /// How many calls of earlier attempts they tell.
    pub earlier_calls: usize,
    pub tools: usize,
    pub system_prompt_chars: usize,
    pub estimated_tokens: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FittedContext {
    pub messages: usize,
    /// How many results were shortened.
    pub shortened: usize,
    pub dropped: usize,
    pub estimated_tokens: usize,
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
    pub model_name: String,
}

/// The model answered, and the tool calls it asked for were run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnCompleted {
    pub model_name: String,
    /// Whose protocol the model's server speaks, such as `openai`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// How long the model took, without the tool calls.
    pub latency_ms: u64,
    /// All input tokens, the cached ones too.
    pub input_tokens: u64,
    pub cached_input_tokens: u64,
    pub output_tokens: u64,
    pub tool_calls: usize,
    /// Whether the reply was cut at the length limit.
    pub cut: bool,
    /// What the reply cost, in millionths of the currency of the model's prices; absent without prices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micros: Option<u64>,
}

/// The model answered a request beside the turns, such as one of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelRequestCompleted {
    /// What it was for: the name of a tool, or `summary`.
    pub purpose: String,
    pub model_name: String,
    /// As of a turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    pub latency_ms: u64,
    /// All input tokens, the cached ones too.
    pub input_tokens: u64,
    pub cached_input_tokens: u64,
    pub output_tokens: u64,
    /// As of a turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micros: Option<u64>,
}

/// The task has a plan, or another one than before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanCreated {
    #[serde(flatten)]
    pub plan: Plan,
}

/// A step of the task's plan has another status.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanUpdated {
    /// Which one, from 1.
    pub step: usize,
    pub status: StepStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The whole plan from now on.
    pub plan: Plan,
}

/// A limit ended a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlLimitReached {
    /// Of the task: `turns`, `wall_time` or `tokens`; of its chat: `turns_per_day`, `tokens_per_day` or
    /// `money_per_day`.
    pub limit: String,
    /// The limit's value, in words.
    pub value: String,
}

/// The model repeats itself without progress.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgressStalled {
    /// How many turns the repetition took: three equal rounds of one to three turns each.
    pub equal_turns: u32,
}

/// A request to the model that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestFailed {
    /// How many requests of this turn have failed.
    pub failed_requests: u32,
    /// What the provider or the network said.
    pub error: String,
    pub error_class: String,
    /// The provider of the model that was asked first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// How long the provider asks to wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// The server, if it could not be reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unreachable: Option<Unreachable>,
}

/// A server to which no connection could be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unreachable {
    /// Its address, without a secret in it.
    pub address: String,
    /// Why, such as `connection refused`.
    pub cause: String,
}

/// A circuit breaker opened: the model is not asked for a while.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CircuitOpened {
    /// The class of error that opened it.
    pub error_class: String,
    /// How many failures in a row.
    pub failures: u32,
    pub open_ms: u64,
}

/// A circuit breaker lets one request through.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CircuitHalfOpen {
    pub error_class: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CircuitClosed {
    pub error_class: String,
}
