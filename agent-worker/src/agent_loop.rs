//! The loop over a task: prepare, take turns, finalise.
//!
//! The work is one future. The wall time limit or a cancel drops it together with the running request or
//! tool call; [`TaskProgress`] keeps what was done until then. Every exit leads through
//! [`Agent::finalise`], so there is always an outcome with its events.

use protocol::event::{
    AgentCompleted, AgentFailed, AgentStarted, AgentTotals, ContextAssembled, InitialContext,
};
use protocol::{EventBody, Outcome, Task, millis};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::agent::{Agent, Agents, TaskRun};
use crate::attached_images;
use crate::budget::Limit;
use crate::compaction::compact;
use crate::compaction_note::calls_of;
use crate::conversation::Conversation;
use crate::event_sink::EventSink;
use crate::model::Message;
use crate::partial_answer;
use crate::plans::TaskPlan;
use crate::repetition::{LoopStatus, RepetitionDetector, WARNING};
use crate::stop_reason::{LastEvent, StopReason, TaskEnd};
use crate::supervisor_tools::SupervisorTools;
use crate::task_progress::TaskProgress;
use crate::transcript::Transcript;
use crate::turn::{self, TurnOutcome};
use crate::wall_clock::WallClock;

impl Agents {
    /// Works on a task with the agent of its model, as [`Agent::run`].
    pub(crate) async fn run(
        &self,
        task: &Task,
        events: &EventSink,
        supervisor: &SupervisorTools,
        clock: &WallClock,
        cancel: &CancellationToken,
    ) -> Outcome {
        let agent = self.of(task).for_its_size().await;
        agent.run(self, task, events, supervisor, clock, cancel).await
    }
}

impl Agent {
    /// Works on a task until it is answered, reaches a limit, fails, or is cancelled.
    async fn run(
        &self,
        agents: &Agents,
        task: &Task,
        events: &EventSink,
        supervisor: &SupervisorTools,
        clock: &WallClock,
        cancel: &CancellationToken,
    ) -> Outcome {
        let started = Instant::now();
        let agent_started = AgentStarted {
            attempt: task.attempt,
            session_id: task.session_id.clone(),
            model_name: self.model.name().to_owned(),
        };
        let agent_id = events.record(agent_started, &task.parent_event_id).await;
        let plan = TaskPlan::new(&self.plan_functions, task);
        let run = TaskRun { agent: self, agents, task, events, supervisor, plan, agent_id, started, clock };
        let mut progress = TaskProgress::new(task);
        let end = tokio::select! {
            biased;
            end = self.work(&run, &mut progress) => end,
            () = cancel.cancelled() => Err(StopReason::Cancelled),
            () = clock.reaches(self.limits.wall_time) => Err(StopReason::Limit(Limit::WallTime)),
        };
        self.finalise(&run, end, &progress).await
    }

    async fn work(&self, run: &TaskRun<'_>, progress: &mut TaskProgress) -> Result<String, StopReason> {
        let mut conversation = self.prepare(run, progress).await?;
        let tools = conversation.request().tools;
        match &run.task.parked {
            Some(parked) => turn::resume(run, &mut conversation, progress, parked).await?,
            None => {
                if let Some(answer) = self.model.answer_to_retry(&run.task.earlier, tools) {
                    return Ok(answer);
                }
            }
        }
        let limits = self.limits.of_task(run.task.quota, &TaskProgress::new(run.task).usage);
        let mut repetition = RepetitionDetector::default();
        loop {
            if let Some(limit) = limits.before_turn(&progress.usage) {
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
                LoopStatus::Stalled(cycle) => return Err(StopReason::Stalled(cycle)),
            }
        }
    }

    async fn prepare(
        &self,
        run: &TaskRun<'_>,
        progress: &mut TaskProgress,
    ) -> Result<Conversation, StopReason> {
        let tools = run.catalogue().await?;
        progress.tools_answered = true;
        let conversation = match kept(run.task) {
            Some(transcript) => {
                progress.earlier.splice(0..0, calls_of(&transcript.messages[transcript.pinned.end..]));
                Conversation::resume(run.task, transcript, &tools, &self.limits, self.prompt_form)
            }
            None => {
                let message = self.model.message(run.task);
                let mut begun =
                    Conversation::assemble(run.task, message, &tools, &self.limits, self.prompt_form);
                attached_images::show(run, &mut begun).await?;
                begun
            }
        };
        let context = InitialContext {
            messages: conversation.messages.len(),
            history_messages: run.task.history.len(),
            earlier_calls: run.task.earlier.calls.len(),
            tools: conversation.request().tools.len(),
            system_prompt_chars: conversation.system.chars().count(),
            estimated_tokens: conversation.tokens(),
        };
        run.events.record(ContextAssembled::Initial(context), &run.agent_id).await;
        Ok(conversation)
    }

    async fn finalise(
        &self,
        run: &TaskRun<'_>,
        end: Result<String, StopReason>,
        progress: &TaskProgress,
    ) -> Outcome {
        let end = match end {
            Ok(reply) => TaskEnd::answered(reply, self.model.reply_format()),
            Err(stop) => {
                if let Some(event) = stop.event(&self.limits) {
                    run.events.record(event, &run.agent_id).await;
                }
                stop.end(&self.limits, progress)
            }
        };
        let totals = totals(run, progress);
        let last: EventBody = match end.last_event {
            LastEvent::Completed(end) => AgentCompleted { end: end.to_owned(), totals }.into(),
            LastEvent::Failed(failure) => AgentFailed { failure, totals }.into(),
        };
        run.events.record(last, &run.agent_id).await;
        partial_answer::bounded(end.outcome)
    }
}

/// What an earlier attempt had seen and written when it began to wait for a person, if that was kept.
fn kept(task: &Task) -> Option<Transcript> {
    Transcript::from_stored(task.parked.as_ref()?.conversation.as_ref()?)
}

fn totals(run: &TaskRun<'_>, progress: &TaskProgress) -> AgentTotals {
    let tokens = &progress.usage.tokens;
    AgentTotals {
        latency_ms: millis(run.started.elapsed()),
        turns: progress.usage.turns,
        tool_calls: progress.calls.len(),
        input_tokens: tokens.input_tokens,
        cached_input_tokens: tokens.cached_input_tokens,
        output_tokens: tokens.output_tokens,
    }
}
