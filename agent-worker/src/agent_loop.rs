//! The loop over a task: prepare, take turns, finalise.
//!
//! The work is one future. A limit on time or a person's cancel drops it, and with it the running
//! request or tool call, wherever it is; what was done until then is in [`TaskProgress`]. Every way out
//! leads through [`Agent::finalise`], so there is always an outcome with its events.

use protocol::{EventType, Outcome, Task};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::agent::{Agent, TaskRun};
use crate::budget::Limit;
use crate::compaction::compact;
use crate::conversation::Conversation;
use crate::model::Message;
use crate::partial_answer;
use crate::repetition::{LoopStatus, RepetitionDetector, WARNING};
use crate::stop_reason::{StopReason, TaskEnd};
use crate::task_progress::TaskProgress;
use crate::trail::Trail;
use crate::turn::{self, TurnOutcome};

impl Agent {
    /// Works on a task until there is an answer, a limit is reached, it fails, or it is cancelled.
    pub(crate) async fn run(&self, task: &Task, trail: &Trail, cancel: &CancellationToken) -> Outcome {
        let started = Instant::now();
        let facts = json!({
            "attempt": task.attempt,
            "session_id": task.session_id,
            "model_name": self.model.name(),
        });
        let agent_id = trail.record(EventType::AgentStarted, &task.parent_event_id, facts).await;
        let run = TaskRun { agent: self, task, trail, agent_id, started };
        let mut progress = TaskProgress::of(task);
        let end = tokio::select! {
            biased;
            end = self.work(&run, &mut progress) => end,
            () = cancel.cancelled() => Err(StopReason::Cancelled),
            () = sleep(self.limits.wall_time) => Err(StopReason::Limit(Limit::WallTime)),
        };
        self.finalise(&run, end, &progress).await
    }

    async fn work(&self, run: &TaskRun<'_>, progress: &mut TaskProgress) -> Result<String, StopReason> {
        let mut conversation = self.prepare(run, progress).await?;
        let mut repetition = RepetitionDetector::default();
        loop {
            if let Some(limit) = self.limits.before_turn(&progress.usage) {
                return Err(StopReason::Limit(limit));
            }
            compact(run, &mut conversation, progress).await?;
            let fingerprint = match turn::take(run, &mut conversation, progress).await? {
                TurnOutcome::Answered(answer) => return Ok(answer),
                TurnOutcome::Continue { fingerprint } => fingerprint,
            };
            match repetition.observe(fingerprint) {
                LoopStatus::Progressing => {}
                LoopStatus::Repeating => conversation.messages.push(Message::User(WARNING.to_owned())),
                LoopStatus::Stalled => return Err(StopReason::Stalled),
            }
        }
    }

    async fn prepare(
        &self,
        run: &TaskRun<'_>,
        progress: &mut TaskProgress,
    ) -> Result<Conversation, StopReason> {
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

    async fn finalise(
        &self,
        run: &TaskRun<'_>,
        end: Result<String, StopReason>,
        progress: &TaskProgress,
    ) -> Outcome {
        let ending = match end {
            Ok(reply) => TaskEnd::answer(reply),
            Err(stop) => {
                if let Some((event_type, facts)) = stop.event(&self.limits) {
                    run.trail.record(event_type, &run.agent_id, facts).await;
                }
                stop.ending(&self.limits, progress)
            }
        };
        let facts = with_totals(ending.facts, run, progress);
        run.trail.record(ending.event_type, &run.agent_id, facts).await;
        partial_answer::bounded(ending.outcome)
    }
}

fn with_totals(mut facts: Value, run: &TaskRun<'_>, progress: &TaskProgress) -> Value {
    let usage = &progress.usage;
    facts["latency_ms"] = json!(run.started.elapsed().as_millis());
    facts["turns"] = json!(usage.turns);
    facts["tool_calls"] = json!(progress.calls.len());
    facts["input_tokens"] = json!(usage.input_tokens);
    facts["cached_input_tokens"] = json!(usage.cached_input_tokens);
    facts["output_tokens"] = json!(usage.output_tokens);
    facts
}
