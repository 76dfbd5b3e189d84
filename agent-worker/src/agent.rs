//! The loop over a task: prepare, take turns, finalise.
//!
//! The work is one future. A limit on time or a person's cancel drops it, and with it the running
//! request or tool call, wherever it is; what was done until then is in [`Progress`]. Every way out
//! leads through [`Agent::finalise`], so there is always an outcome with its events.

use protocol::{EventId, EventType, Outcome, Task};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::answer;
use crate::budget::{Limit, Limits};
use crate::conversation::Conversation;
use crate::model::{Model, ModelError};
use crate::progress::Progress;
use crate::tools::{ToolServer, ToolServerError};
use crate::trail::Trail;
use crate::turn::turn;

/// What works on tasks: a model, tools, and limits. It keeps nothing of a task.
pub struct Agent {
    /// Who is asked what to do.
    pub model: Box<dyn Model>,
    /// Who does it.
    pub tools: ToolServer,
    /// What a task may use.
    pub limits: Limits,
    /// How often a failed request to the model is repeated (`AUTONOUS_CONTROL_MAX_RETRIES`, 3).
    pub max_retries: u32,
}

/// One task under way.
pub(crate) struct Run<'a> {
    pub(crate) task: &'a Task,
    pub(crate) trail: &'a Trail,
    /// The `agent.started` event.
    pub(crate) agent_id: EventId,
    pub(crate) started: Instant,
}

/// Why a task ended without an answer of the model.
pub(crate) enum Stop {
    Limit(Limit),
    Cancelled,
    Model(ModelError),
    Tools(ToolServerError),
}

impl From<ModelError> for Stop {
    fn from(error: ModelError) -> Self {
        Self::Model(error)
    }
}

impl From<ToolServerError> for Stop {
    fn from(error: ToolServerError) -> Self {
        Self::Tools(error)
    }
}

impl Agent {
    /// Works on a task until there is an answer, a limit is reached, it fails, or it is cancelled.
    pub async fn run(&self, task: &Task, trail: &Trail, cancel: &CancellationToken) -> Outcome {
        let started = Instant::now();
        let facts = json!({
            "attempt": task.attempt,
            "session_id": task.session_id,
            "model_name": self.model.name(),
        });
        let agent_id = trail.record(EventType::AgentStarted, &task.parent_event_id, facts).await;
        let run = Run { task, trail, agent_id, started };
        let mut progress = Progress::default();
        let end = tokio::select! {
            biased;
            end = self.work(&run, &mut progress) => end,
            () = cancel.cancelled() => Err(Stop::Cancelled),
            () = sleep(self.limits.wall_time) => Err(Stop::Limit(Limit::WallTime)),
        };
        self.finalise(&run, end, &progress).await
    }

    async fn work(&self, run: &Run<'_>, progress: &mut Progress) -> Result<String, Stop> {
        let mut conversation = self.prepare(run, progress).await?;
        loop {
            if let Some(limit) = self.limits.before_turn(&progress.spent) {
                return Err(Stop::Limit(limit));
            }
            if let Some(answer) = turn(self, run, &mut conversation, progress).await? {
                return Ok(answer);
            }
        }
    }

    async fn prepare(&self, run: &Run<'_>, progress: &mut Progress) -> Result<Conversation, Stop> {
        let tools = self.tools.catalogue().await?;
        progress.tools_answered = true;
        let conversation = Conversation::assemble(run.task, tools);
        let facts = json!({
            "messages": conversation.messages.len(),
            "history_messages": run.task.history.len(),
            "tools": conversation.tools.len(),
            "system_prompt_chars": conversation.system.chars().count(),
        });
        run.trail.record(EventType::ContextAssembled, &run.agent_id, facts).await;
        Ok(conversation)
    }

    async fn finalise(&self, run: &Run<'_>, end: Result<String, Stop>, progress: &Progress) -> Outcome {
        let (event_type, facts, outcome) = match end {
            Ok(reply) => (EventType::AgentCompleted, json!({"end": "answer"}), Outcome::Done { reply }),
            Err(Stop::Limit(limit)) => {
                let facts = json!({"limit": limit.as_str(), "value": self.limits.in_words(limit)});
                run.trail.record(EventType::ControlLimitReached, &run.agent_id, facts).await;
                let reply = answer::at_limit(&self.limits, limit, progress);
                (EventType::AgentCompleted, json!({"end": "limit"}), Outcome::Done { reply })
            }
            Err(Stop::Cancelled) => {
                let reply = answer::cancelled(progress);
                (EventType::AgentFailed, json!({"end": "cancelled"}), Outcome::Cancelled { reply })
            }
            Err(Stop::Model(error)) => {
                let facts = json!({"error": error.to_string(), "error_class": error.class.as_str()});
                let retryable = error.class.can_pass();
                (EventType::AgentFailed, facts, failed(&error.to_string(), retryable, progress))
            }
            Err(Stop::Tools(error)) => {
                let facts = json!({"error": error.to_string(), "error_class": "tool_server"});
                (EventType::AgentFailed, facts, failed(&error.to_string(), false, progress))
            }
        };
        run.trail.record(event_type, &run.agent_id, with_totals(facts, run, progress)).await;
        bounded(outcome)
    }
}

fn failed(error: &str, retryable: bool, progress: &Progress) -> Outcome {
    Outcome::Failed { error: answer::failed(error, progress), retryable }
}

fn with_totals(mut facts: Value, run: &Run<'_>, progress: &Progress) -> Value {
    let spent = &progress.spent;
    facts["latency_ms"] = json!(run.started.elapsed().as_millis());
    facts["turns"] = json!(spent.turns);
    facts["tool_calls"] = json!(progress.calls.len());
    facts["input_tokens"] = json!(spent.input_tokens);
    facts["cached_input_tokens"] = json!(spent.cached_input_tokens);
    facts["output_tokens"] = json!(spent.output_tokens);
    facts
}

fn bounded(outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::Done { reply } => Outcome::Done { reply: answer::bounded(reply) },
        Outcome::Failed { error, retryable } => Outcome::Failed { error: answer::bounded(error), retryable },
        Outcome::Cancelled { reply } => Outcome::Cancelled { reply: answer::bounded(reply) },
    }
}
