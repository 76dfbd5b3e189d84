//! The agent, which outlives a task, and the run of one task. Data only: the loop is
//! [`crate::agent_loop`].

use protocol::{EventId, Task};
use tokio::time::Instant;

use crate::breaker::ModelBreaker;
use crate::budget::Limits;
use crate::event_sink::EventSink;
use crate::model::Model;
use crate::prompt::PromptForm;
use crate::tool_client::ToolClient;

/// What works on tasks: a model, tools and limits. It keeps nothing of a task.
pub struct Agent {
    pub(crate) model: Box<dyn Model>,
    /// Whether any of its models sees images.
    pub(crate) sees: bool,
    /// Pauses a failing provider, across tasks.
    pub(crate) breaker: ModelBreaker,
    pub(crate) tools: ToolClient,
    pub(crate) limits: Limits,
    pub(crate) prompt_form: PromptForm,
    /// How often a failed request to the model is retried (`AUTONOUS_CONTROL_MAX_RETRIES`, 3).
    pub(crate) max_retries: u32,
}

pub(crate) struct TaskRun<'a> {
    pub(crate) agent: &'a Agent,
    pub(crate) task: &'a Task,
    pub(crate) events: &'a EventSink,
    /// The `agent.started` event.
    pub(crate) agent_id: EventId,
    pub(crate) started: Instant,
}
