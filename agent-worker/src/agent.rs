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
use crate::breaker::SharedBreaker;
use crate::budget::{Limit, Limits};
use crate::conversation::Conversation;
use crate::fitting::make_room;
use crate::model::{Message, Model};
use crate::progress::Progress;
use crate::repetition::{NUDGE, Pace, Repetition};
use crate::stop::{Ending, Stop};
use crate::tools::ToolServer;
use crate::trail::Trail;
use crate::turn::{Turn, turn};

/// What works on tasks: a model, tools, and limits. It keeps nothing of a task.
pub struct Agent {
    /// Who is asked what to do.
    pub model: Box<dyn Model>,
    /// Whether the model may be asked; what it learns of the provider outlives a task.
    pub breaker: SharedBreaker,
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
        let mut progress = Progress::of(task);
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
        let mut repetition = Repetition::default();
        loop {
            if let Some(limit) = self.limits.before_turn(&progress.spent) {
                return Err(Stop::Limit(limit));
            }
            make_room(self, run, &mut conversation, progress).await?;
            let fingerprint = match turn(self, run, &mut conversation, progress).await? {
                Turn::Answered(answer) => return Ok(answer),
                Turn::Went { fingerprint } => fingerprint,
            };
            match repetition.note(fingerprint) {
                Pace::Moving => {}
                Pace::Slowing => conversation.messages.push(Message::User(NUDGE.to_owned())),
                Pace::Stalled => return Err(Stop::Stalled),
            }
        }
    }

    async fn prepare(&self, run: &Run<'_>, progress: &mut Progress) -> Result<Conversation, Stop> {
        let tools = self.tools.catalogue().await?;
        progress.tools_answered = true;
        let conversation = Conversation::assemble(run.task, tools, self.limits.context_tokens);
        let facts = json!({
            "messages": conversation.messages.len(),
            "history_messages": run.task.history.len(),
            "earlier_calls": run.task.earlier.calls.len(),
            "tools": conversation.request().tools.len(),
            "system_prompt_chars": conversation.system.chars().count(),
            "estimated_tokens": conversation.tokens(),
        });
        run.trail.record(EventType::ContextAssembled, &run.agent_id, facts).await;
        Ok(conversation)
    }

    async fn finalise(&self, run: &Run<'_>, end: Result<String, Stop>, progress: &Progress) -> Outcome {
        let ending = match end {
            Ok(reply) => Ending::answer(reply),
            Err(stop) => {
                if let Some((event_type, facts)) = stop.event(&self.limits) {
                    run.trail.record(event_type, &run.agent_id, facts).await;
                }
                stop.ending(&self.limits, progress)
            }
        };
        let facts = with_totals(ending.facts, run, progress);
        run.trail.record(ending.event_type, &run.agent_id, facts).await;
        answer::bounded(ending.outcome)
    }
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
