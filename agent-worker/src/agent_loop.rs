//! The loop over a task: prepare, take turns, finalise. A turn asks the model, runs the calls of its reply,
//! and adds the results to the conversation.
//!
//! The work is one future. The wall time limit or a cancel drops it together with the running request or
//! tool call; [`TaskProgress`] keeps what was done until then. Every exit leads through [`Agent::finalise`],
//! so there is always an outcome with its events. A failed tool is a result for the model and never ends the
//! task. The calls of a reply that was cut at the length limit never run: their arguments may be incomplete.

use std::sync::Arc;

use protocol::event::{
    AgentCompleted, AgentFailed, AgentStarted, AgentTotals, ContextAssembled, InitialContext, TurnCompleted,
    TurnStarted,
};
use protocol::{EventBody, EventId, Outcome, Parked, Task, ToolSpec, millis};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::additions::Additions;
use crate::agent::{Agent, Agents, IfSmall, TaskRun};
use crate::attached_images;
use crate::budget::{Limit, TaskUsage};
use crate::compaction::compact;
use crate::compaction_note::calls_of;
use crate::conversation::Conversation;
use crate::event_sink::EventSink;
use crate::model::{Message, ModelErrorClass, Reply, Request, ToolCall};
use crate::model_request;
use crate::parked_turn::{CallTurn, known_result};
use crate::partial_answer;
use crate::past;
use crate::picture;
use crate::plans::{PlanFunctions, TaskPlan};
use crate::prompt::{PromptForm, default_form};
use crate::repetition::{LoopStatus, RepetitionDetector, WARNING, fingerprint};
use crate::stop_reason::{LastEvent, StopReason, TaskEnd};
use crate::task_progress::TaskProgress;
use crate::tool_calls;
use crate::tool_client::{CallContext, CallEnd};
use crate::transcript::Transcript;
use crate::wall_clock::WallClock;

/// What the model reads when nothing in its cut reply is usable.
const TRUNCATED_REPLY: &str = "[Your reply was cut at the length limit, so none of its tool calls were run. \
     Write a shorter reply: one call at a time, with smaller arguments.]";

/// What the user reads below a cut answer.
const TRUNCATED_ANSWER: &str = "\n\n(The model's answer was cut at its length limit.)";

#[derive(Debug)]
enum TurnOutcome {
    Answered(String),
    /// With a fingerprint, which is equal for turns with equal calls and results.
    Continue(u64),
}

impl Agents {
    /// Works on a task with the agent of its model until it is answered, reaches a limit, fails, or is
    /// cancelled.
    pub(crate) async fn run(
        &self,
        task: &Task,
        (events, additions): (&EventSink, &Additions),
        clock: &WallClock,
        cancel: &CancellationToken,
    ) -> Outcome {
        let agent = &*self.of(task).for_its_size().await;
        let started = Instant::now();
        let agent_started = AgentStarted {
            attempt: task.attempt,
            session_id: task.session_id.clone(),
            model_name: agent.model.name().to_owned(),
        };
        let agent_id = events.record(agent_started, &task.parent_event_id).await;
        let plan = TaskPlan::new(&agent.plan_functions, task);
        let run = TaskRun { agent, agents: self, task, events, additions, plan, agent_id, started, clock };
        let mut progress = TaskProgress::new(task);
        let end = tokio::select! {
            biased;
            end = agent.work(&run, &mut progress) => end,
            () = cancel.cancelled() => Err(StopReason::Cancelled),
            () = clock.reaches(agent.limits.wall_time) => Err(StopReason::Limit(Limit::WallTime)),
        };
        agent.finalise(&run, end, &progress).await
    }

    /// The agent with the model that the task's chat has chosen. A model that is not there any more leaves
    /// its tasks to the first one.
    fn of(&self, task: &Task) -> Arc<Agent> {
        let chosen = task.model.as_ref().and_then(|name| self.by_name.get(name));
        Arc::clone(chosen.unwrap_or(&self.first))
    }
}

impl Agent {
    /// The agent with the form for the size of its model.
    async fn for_its_size(self: Arc<Self>) -> Arc<Self> {
        let Some(IfSmall { agent, size }) = &self.if_small else { return self };
        let form = default_form(self.limits.context_tokens, size.billions().await);
        if form == PromptForm::Small { Arc::clone(agent) } else { self }
    }

    async fn work(&self, run: &TaskRun<'_>, progress: &mut TaskProgress) -> Result<String, StopReason> {
        let mut conversation = self.prepare(run, progress).await?;
        let tools = conversation.request().tools;
        match &run.task.parked {
            Some(parked) => resume(run, &mut conversation, progress, parked).await?,
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
            read_additions(run, &mut conversation).await;
            compact(run, &mut conversation, progress).await?;
            let fingerprint = match take_turn(run, &mut conversation, progress).await? {
                TurnOutcome::Answered(answer) => return Ok(answer),
                TurnOutcome::Continue(fingerprint) => fingerprint,
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
                let message = past::message(run.task, !self.model.is_language_model());
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
            LastEvent::Failed(failure) => {
                let provider = Some(self.model.provider().to_owned());
                AgentFailed { failure, provider, totals }.into()
            }
        };
        run.events.record(last, &run.agent_id).await;
        partial_answer::bounded(end.outcome)
    }
}

impl TaskRun<'_> {
    /// The tools of the tool server and the functions of this worker, sorted by name.
    async fn catalogue(&self) -> Result<Arc<Vec<ToolSpec>>, StopReason> {
        let tools = self.agent.tools.catalogue(&self.task.session_id).await.map_err(StopReason::Tools)?;
        let mut own = self.plan.offered().peekable();
        if own.peek().is_none() {
            return Ok(tools);
        }
        let others = tools.iter().filter(|tool| !PlanFunctions::has(&tool.name));
        let mut all: Vec<ToolSpec> = others.chain(own).cloned().collect();
        all.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(Arc::new(all))
    }
}

async fn take_turn(
    run: &TaskRun<'_>,
    conversation: &mut Conversation,
    progress: &mut TaskProgress,
) -> Result<TurnOutcome, StopReason> {
    progress.usage.turns += 1;
    let model_name = run.agent.model.name();
    let turn_started = TurnStarted { turn: progress.usage.turns, model_name: model_name.to_owned() };
    let turn_id = run.events.record(turn_started, &run.agent_id).await;
    if run.agent.tools.has_new_tools() || run.plan.has_changed() {
        conversation.replace_tools(&run.catalogue().await?);
    }
    let asked = Instant::now();
    let reply = send_within_window(run, &turn_id, conversation, progress).await?;
    let turn_completed = TurnCompleted {
        model_name: reply.model_name.as_deref().unwrap_or(model_name).to_owned(),
        provider: Some(reply.provider.unwrap_or(run.agent.model.provider()).to_owned()),
        latency_ms: millis(asked.elapsed()),
        input_tokens: reply.usage.input_tokens,
        cached_input_tokens: reply.usage.cached_input_tokens,
        output_tokens: reply.usage.output_tokens,
        tool_calls: reply.calls.len(),
        cut: reply.cut,
        cost_micros: reply.cost_micros,
    };
    progress.usage += TaskUsage::of(&reply);
    let end = act_on(run, &turn_id, conversation, progress, reply).await;
    if matches!(end, Ok(_) | Err(StopReason::Parked(_))) {
        run.events.record(turn_completed, &turn_id).await;
    }
    end
}

/// Puts into the conversation what people have said meanwhile. The supervisor is told of each before anything
/// that follows from it. A model that is none would take it for a command.
async fn read_additions(run: &TaskRun<'_>, conversation: &mut Conversation) {
    run.additions.without(|message| conversation.has_addition(message));
    while run.agent.model.is_language_model()
        && let Some(addition) = run.additions.next()
    {
        run.events.added(addition.message.clone()).await;
        conversation.add(addition);
    }
}

/// Continues the turn in which an earlier attempt waited for a person.
async fn resume(
    run: &TaskRun<'_>,
    conversation: &mut Conversation,
    progress: &mut TaskProgress,
    parked: &Parked,
) -> Result<(), StopReason> {
    run_calls(run, &run.agent_id, conversation, progress, CallTurn::of(parked)).await?;
    if parked.conversation.is_some() {
        let told = past::attempts_after_a_wait(run.task);
        conversation.messages.extend(told.map(Message::User));
    }
    Ok(())
}

/// Asks the model; once per task, compacts a conversation that the provider finds too long.
async fn send_within_window(
    run: &TaskRun<'_>,
    turn_id: &EventId,
    conversation: &mut Conversation,
    progress: &mut TaskProgress,
) -> Result<Reply, StopReason> {
    loop {
        let request = Request { words: Some(&run.events.words), ..conversation.request() };
        match model_request::send(run.agent, run, turn_id, request).await {
            Err(StopReason::Model(error))
                if error.class == ModelErrorClass::ContextTooLong && conversation.shrink() =>
            {
                compact(run, conversation, progress).await?;
            }
            end => return end,
        }
    }
}

async fn act_on(
    run: &TaskRun<'_>,
    turn_id: &EventId,
    conversation: &mut Conversation,
    progress: &mut TaskProgress,
    reply: Reply,
) -> Result<TurnOutcome, StopReason> {
    if !reply.cut && !reply.calls.is_empty() {
        return run_calls(run, turn_id, conversation, progress, CallTurn::new(reply)).await;
    }
    let Reply { text, calls, reasoning, cut, .. } = reply;
    if cut && (text.is_empty() || !calls.is_empty()) {
        conversation.messages.push(Message::User(TRUNCATED_REPLY.to_owned()));
        return Ok(TurnOutcome::Continue(fingerprint(TRUNCATED_REPLY)));
    }
    let Some(doubt) = conversation.doubt(progress) else {
        return Ok(TurnOutcome::Answered(if cut { text + TRUNCATED_ANSWER } else { text }));
    };
    conversation.messages.push(Message::Assistant { text, calls, reasoning });
    conversation.messages.push(Message::User(doubt.to_owned()));
    Ok(TurnOutcome::Continue(fingerprint(doubt)))
}

async fn run_calls(
    run: &TaskRun<'_>,
    turn_id: &EventId,
    conversation: &mut Conversation,
    progress: &mut TaskProgress,
    turn: CallTurn,
) -> Result<TurnOutcome, StopReason> {
    progress.last_note.clone_from(&turn.text);
    let caller = CallContext { task: run.task, turn_id };
    let ends = tool_calls::run_all(run, caller, conversation, &turn.calls, progress).await?;
    if ends.iter().any(CallEnd::waits) {
        return Err(StopReason::Parked(Box::new(turn.park(ends, conversation, &progress.usage, run.clock))));
    }
    let CallTurn { text, calls, reasoning } = turn;
    let calls: Vec<ToolCall> = calls.into_iter().map(|(call, _)| call).collect();
    let fingerprint = fingerprint_of(&calls, &ends);
    let has_succeeded = ends.iter().all(CallEnd::has_succeeded);
    let ids: Vec<String> = calls.iter().map(|call| call.id.clone()).collect();
    conversation.messages.push(Message::Assistant { text, calls, reasoning });
    let mut images = Vec::new();
    for (id, end) in ids.into_iter().zip(ends) {
        let text = match end {
            CallEnd::Open(state) => known_result(state),
            CallEnd::Answered(envelope) => {
                let mut text = conversation.result_text(&envelope);
                match picture::find(envelope, run.agent.sees).await {
                    None => {}
                    Some(Ok(image)) => images.push(image),
                    Some(Err(why)) => text.push_str(&format!("\n[The image is not shown: {why}.]")),
                }
                text
            }
        };
        conversation.push_result(id, &text);
    }
    if has_succeeded {
        conversation.end_results();
    }
    // No message may stand between the results of a turn.
    images.into_iter().for_each(|image| conversation.push_image(image));
    Ok(TurnOutcome::Continue(fingerprint))
}

fn fingerprint_of(calls: &[ToolCall], ends: &[CallEnd]) -> u64 {
    let asked = calls.iter().map(|call| (&call.name, &call.arguments));
    let found = ends.iter().map(|end| match end {
        CallEnd::Answered(envelope) => Some((envelope.exit_code, &envelope.stdout, &envelope.stderr)),
        CallEnd::Open(_) => None,
    });
    fingerprint((asked.collect::<Vec<_>>(), found.collect::<Vec<_>>()))
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
