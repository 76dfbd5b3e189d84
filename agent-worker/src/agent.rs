//! What a task works with: the agent, which outlives it, and the run, which is the task itself.
//!
//! Data only. The loop over a task is [`crate::agent_loop`].

use protocol::{EventId, Task};
use tokio::time::Instant;

use crate::breaker::ModelBreaker;
use crate::budget::Limits;
use crate::event_sink::EventSink;
use crate::model::Model;
use crate::tool_client::ToolClient;

/// What works on tasks: a model, tools, and limits. It keeps nothing of a task.
pub struct Agent {
    /// Who is asked what to do.
    pub(crate) model: Box<dyn Model>,
    /// Whether the model may be asked; what it learns of the provider outlives a task.
    pub(crate) breaker: ModelBreaker,
    /// Who does it.
    pub(crate) tools: ToolClient,
    /// What a task may use.
    pub(crate) limits: Limits,
    /// How often a failed request to the model is repeated (`AUTONOUS_CONTROL_MAX_RETRIES`, 3).
    pub(crate) max_retries: u32,
}

/// One task under way.
pub(crate) struct TaskRun<'a> {
    pub(crate) agent: &'a Agent,
    pub(crate) task: &'a Task,
    pub(crate) events: &'a EventSink,
    /// The `agent.started` event.
    pub(crate) agent_id: EventId,
    pub(crate) started: Instant,
}
