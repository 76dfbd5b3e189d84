//! Runs the tool calls of one reply.
//!
//! Consecutive read-only calls run concurrently, every other call alone, so that a read after a change sees
//! it. Results keep the order of the calls. A call is recorded as soon as it begins, because the work can be
//! dropped at any time.

use futures_util::stream::{FuturesUnordered, StreamExt as _};
use protocol::{CallState, ErrorCode};
use serde_json::{Value, json};

use crate::agent::TaskRun;
use crate::conversation::Conversation;
use crate::model::ToolCall;
use crate::plan_calls;
use crate::plans::PlanFunctions;
use crate::prompt::PromptForm;
use crate::stop_reason::StopReason;
use crate::task_progress::{CallRecord, TaskProgress};
use crate::tool_client::{CallContext, CallEnd, ToolServerError};
use crate::untrusted;

const MAX_CONCURRENT: usize = 8;

/// Runs the calls of a reply and returns their ends in the order of the calls. Those after one that waits for
/// a person do not begin.
pub(crate) async fn run_all(
    run: &TaskRun<'_>,
    caller: CallContext<'_>,
    conversation: &Conversation,
    calls: &[(ToolCall, CallState)],
    progress: &mut TaskProgress,
) -> Result<Vec<CallEnd>, StopReason> {
    let mut ends: Vec<CallEnd> = Vec::with_capacity(calls.len());
    let is_read_only = |(call, _): &(ToolCall, CallState)| conversation.is_read_only(&call.name);
    for batch in calls.chunk_by(|one, next| is_read_only(one) && is_read_only(next)) {
        if ends.iter().any(CallEnd::waits) {
            ends.extend(batch.iter().map(|(_, state)| CallEnd::Open(state.clone())));
        } else {
            ends.extend(run_batch(run, caller, batch, progress).await?);
        }
    }
    Ok(ends)
}

impl TaskRun<'_> {
    /// Makes a call where the tool belongs, unless it has ended before.
    async fn call(
        &self,
        (call, state): &(ToolCall, CallState),
        caller: CallContext<'_>,
    ) -> Result<CallEnd, ToolServerError> {
        let key = match state {
            CallState::NotBegun { key } => key.as_deref(),
            CallState::Waits { key, .. } => Some(key.as_str()),
            CallState::Answered { .. } | CallState::Expired => return Ok(CallEnd::Open(state.clone())),
        };
        // Whether it is offered or not; an unknown tool is the tool server's to refuse.
        if PlanFunctions::has(&call.name) {
            return Ok(CallEnd::Answered(plan_calls::answer(self, call, caller.turn_id).await));
        }
        let end = self.agent.tools.call(call, caller, self.clock, key).await?;
        if self.agent.prompt_form == PromptForm::Small
            && let Some(read) = reading_first(call, &end)
        {
            self.agent.tools.call(&read, caller, self.clock, None).await?;
            return self.agent.tools.call(call, caller, self.clock, None).await;
        }
        Ok(end)
    }
}

/// The call that an edit of an unread file needs first. A small model makes it when it is asked to, and then
/// forgets the edit. An edit names the exact text that it replaces, so it changes nothing unseen.
fn reading_first(call: &ToolCall, end: &CallEnd) -> Option<ToolCall> {
    let CallEnd::Answered(envelope) = end else { return None };
    let error = envelope.meta.error.as_ref()?;
    if call.name != "edit" || error.code != ErrorCode::NotRead {
        return None;
    }
    let arguments: Value = serde_json::from_str(&call.arguments).ok()?;
    Some(ToolCall::new(&call.id, "read", json!({"path": arguments["path"]}).to_string()))
}

async fn run_batch(
    run: &TaskRun<'_>,
    caller: CallContext<'_>,
    batch: &[(ToolCall, CallState)],
    progress: &mut TaskProgress,
) -> Result<Vec<CallEnd>, StopReason> {
    let first = progress.calls.len();
    let mut waiting = batch.iter().enumerate();
    let mut running = FuturesUnordered::new();
    let mut ends: Vec<(usize, CallEnd)> = Vec::with_capacity(batch.len());
    loop {
        while running.len() < MAX_CONCURRENT
            && let Some((index, call)) = waiting.next()
        {
            progress.calls.push(CallRecord::running(&call.0.name, &call.0.arguments));
            running.push(async move { (index, run.call(call, caller).await) });
        }
        let Some((index, end)) = running.next().await else { break };
        progress.usage += run.plan.take_spent();
        let end = end.map_err(StopReason::Tools)?;
        progress.calls[first + index].outcome = Some(in_words(&end));
        ends.push((index, end));
    }
    ends.sort_by_key(|(index, _)| *index);
    Ok(ends.into_iter().map(|(_, end)| end).collect())
}

fn in_words(end: &CallEnd) -> String {
    match end {
        CallEnd::Answered(envelope) => untrusted::status(envelope),
        CallEnd::Open(CallState::Answered { .. }) => "was answered before".to_owned(),
        CallEnd::Open(CallState::Expired) => "not run: nobody decided in time".to_owned(),
        CallEnd::Open(CallState::Waits { .. } | CallState::NotBegun { .. }) => {
            "waits for a decision".to_owned()
        }
    }
}
