//! Runs the tool calls of one reply.
//!
//! Consecutive read-only calls run concurrently, every other call alone, so that a read after a change sees
//! it. Results keep the order of the calls. A call is recorded as soon as it begins, because the work can be
//! dropped at any time.

use std::sync::Arc;

use futures_util::stream::{FuturesUnordered, StreamExt as _};
use protocol::{Envelope, ToolSpec};

use crate::agent::TaskRun;
use crate::conversation::Conversation;
use crate::model::ToolCall;
use crate::stop_reason::StopReason;
use crate::task_progress::{CallRecord, TaskProgress};
use crate::tool_client::{CallContext, ToolServerError};
use crate::untrusted;

const MAX_CONCURRENT: usize = 8;

/// Runs the calls of a reply and returns their results in the order of the calls.
pub(crate) async fn run_all(
    run: &TaskRun<'_>,
    caller: CallContext<'_>,
    conversation: &Conversation,
    calls: &[ToolCall],
    progress: &mut TaskProgress,
) -> Result<Vec<Envelope>, StopReason> {
    let mut results = Vec::with_capacity(calls.len());
    for batch in batches(calls, |call| conversation.is_read_only(&call.name)) {
        results.extend(run_batch(run, caller, batch, progress).await?);
    }
    Ok(results)
}

impl TaskRun<'_> {
    /// The tools of the tool server and of the task's channel, sorted by name.
    pub(crate) async fn catalogue(&self) -> Result<Arc<Vec<ToolSpec>>, StopReason> {
        let tools = self.agent.tools.catalogue().await.map_err(StopReason::Tools)?;
        let own = &self.task.channel_tools.offered;
        if own.is_empty() {
            return Ok(tools);
        }
        // A name that both have is the supervisor's, which is where the call goes.
        let others = tools.iter().filter(|tool| !self.task.channel_tools.has(&tool.name));
        let mut merged: Vec<ToolSpec> = others.chain(own).cloned().collect();
        merged.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(Arc::new(merged))
    }

    /// Makes a call where the tool belongs.
    async fn call(&self, call: &ToolCall, caller: CallContext<'_>) -> Result<Envelope, ToolServerError> {
        if self.task.channel_tools.has(&call.name) {
            return Ok(self.supervisor.call(call, caller).await);
        }
        self.agent.tools.call(call, caller, self.clock).await
    }
}

/// Batches of consecutive read-only calls, and between them every other call alone.
fn batches(
    calls: &[ToolCall],
    is_read_only: impl Fn(&ToolCall) -> bool,
) -> impl Iterator<Item = &[ToolCall]> {
    calls.chunk_by(move |one, next| is_read_only(one) && is_read_only(next))
}

async fn run_batch(
    run: &TaskRun<'_>,
    caller: CallContext<'_>,
    batch: &[ToolCall],
    progress: &mut TaskProgress,
) -> Result<Vec<Envelope>, StopReason> {
    let first = progress.calls.len();
    let mut waiting = batch.iter().enumerate();
    let mut running = FuturesUnordered::new();
    let mut results: Vec<(usize, Envelope)> = Vec::with_capacity(batch.len());
    loop {
        while running.len() < MAX_CONCURRENT
            && let Some((index, call)) = waiting.next()
        {
            progress.calls.push(CallRecord::running(&call.name, &call.arguments));
            running.push(async move { (index, run.call(call, caller).await) });
        }
        let Some((index, envelope)) = running.next().await else { break };
        let envelope = envelope.map_err(StopReason::Tools)?;
        progress.calls[first + index].outcome = Some(untrusted::status(&envelope));
        results.push((index, envelope));
    }
    results.sort_by_key(|(index, _)| *index);
    Ok(results.into_iter().map(|(_, envelope)| envelope).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consecutive_reads_run_together_and_everything_else_alone() {
        for (names, expected) in [
            ("", &[][..]),
            ("rrr", &["rrr"]),
            ("rrwrr", &["rr", "w", "rr"]),
            ("wwr", &["w", "w", "r"]),
            ("rw", &["r", "w"]),
        ] {
            let calls: Vec<ToolCall> = names.chars().map(|name| ToolCall::new("", name, "")).collect();
            let batches: Vec<String> = batches(&calls, |call| call.name == "r")
                .map(|batch| batch.iter().map(|call| call.name.as_str()).collect())
                .collect();
            assert_eq!(batches, expected, "{names}");
        }
    }
}
