//! Runs the tool calls of one reply.
//!
//! Consecutive read-only calls run concurrently, every other call alone, so that a read after a change sees
//! it. Results keep the order of the calls. A call is recorded as soon as it begins, because the work can be
//! dropped at any time.

use futures_util::stream::{FuturesUnordered, StreamExt as _};
use protocol::Envelope;

use crate::agent::TaskRun;
use crate::conversation::Conversation;
use crate::model::ToolCall;
use crate::stop_reason::StopReason;
use crate::task_progress::{CallRecord, TaskProgress};
use crate::tool_client::CallContext;
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
            running.push(async move { (index, run.agent.tools.call(call, caller).await) });
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
