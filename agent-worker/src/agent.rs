//! The agent, which outlives a task, and the run of one task. Data only: the loop is
//! [`crate::agent_loop`].

use std::collections::BTreeMap;
use std::sync::Arc;

use protocol::{EventId, Task};
use tokio::time::Instant;

use crate::additions::Additions;
use crate::breaker::ModelBreaker;
use crate::budget::Limits;
use crate::event_sink::EventSink;
use crate::model::Model;
use crate::model_size::SizeProbe;
use crate::plans::{PlanFunctions, TaskPlan};
use crate::prompt::PromptForm;
use crate::tool_client::ToolClient;
use crate::wall_clock::WallClock;

/// What works on tasks: a model, tools and limits. It keeps nothing of a task.
pub(crate) struct Agent {
    pub(crate) model: Box<dyn Model>,
    /// Whether any of its models sees images.
    pub(crate) sees: bool,
    /// Pauses a failing provider, across tasks.
    pub(crate) breaker: ModelBreaker,
    pub(crate) tools: ToolClient,
    /// What changes only the conversation.
    pub(crate) plan_functions: PlanFunctions,
    pub(crate) limits: Limits,
    pub(crate) prompt_form: PromptForm,
    /// What works in its place if its model turns out to be small.
    pub(crate) if_small: Option<IfSmall>,
    /// How often a failed request to the model is retried (`AUTONOUS_CONTROL_MAX_RETRIES`, 3).
    pub(crate) max_retries: u32,
}

/// An agent for a model of which only its server can say whether it is small.
pub(crate) struct IfSmall {
    pub(crate) agent: Arc<Agent>,
    pub(crate) size: SizeProbe,
}

/// The agents of a worker: one for each model that a chat can choose.
#[derive(Clone)]
pub struct Agents {
    pub(crate) first: Arc<Agent>,
    /// The others, by the names of their models in `models.toml`.
    pub(crate) by_name: Arc<BTreeMap<String, Arc<Agent>>>,
}

impl Agents {
    /// The agent with the model of this name.
    pub(crate) fn named(&self, name: &str) -> Option<&Agent> {
        let first = (self.first.model.name() == name).then_some(&self.first);
        first.or_else(|| self.by_name.get(name)).map(AsRef::as_ref)
    }

    /// The names of all models.
    pub(crate) fn names(&self) -> Vec<&str> {
        let others = self.by_name.keys().map(String::as_str);
        std::iter::once(self.first.model.name()).chain(others).collect()
    }
}

pub(crate) struct TaskRun<'a> {
    pub(crate) agent: &'a Agent,
    /// All agents, for a request to another model.
    pub(crate) agents: &'a Agents,
    pub(crate) task: &'a Task,
    pub(crate) events: &'a EventSink,
    /// What was said since the task began and is not in the conversation yet.
    pub(crate) additions: &'a Additions,
    /// The plan of the task.
    pub(crate) plan: TaskPlan<'a>,
    /// The `agent.started` event.
    pub(crate) agent_id: EventId,
    pub(crate) started: Instant,
    /// The time that counts.
    pub(crate) clock: &'a WallClock,
}
