//! The tool calls of one reply: which may run at once, and running them.
//!
//! Calls that only look run together, the others one after the other and apart from them, so that a look
//! behind a change sees it. Results come in the order of the calls, whichever ended first. A call is in
//! the progress from the moment it begins, because this can be dropped at any time.

use futures_util::stream::{FuturesUnordered, StreamExt as _};
use protocol::Envelope;

use crate::agent::TaskRun;
use crate::conversation::Conversation;
use crate::model::ToolCall;
use crate::stop_reason::StopReason;
use crate::task_progress::{CallRecord, TaskProgress};
use crate::tool_client::CallContext;
use crate::untrusted;

/// How many calls run at once.
const AT_ONCE: usize = 8;

/// Runs the calls of a reply; returns their results as the model reads them, in the order of the calls.
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

/// Runs of calls that only look, and between them every other call alone.
fn batches(calls: &[ToolCall], looks: impl Fn(&ToolCall) -> bool) -> impl Iterator<Item = &[ToolCall]> {
    calls.chunk_by(move |one, next| looks(one) && looks(next))
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
        while running.len() < AT_ONCE
            && let Some((index, call)) = waiting.next()
        {
            progress.calls.push(begun(call));
            running.push(async move { (index, run.agent.tools.call(call, caller).await) });
        }
        let Some((index, envelope)) = running.next().await else { break };
        let envelope = envelope?;
        progress.calls[first + index].outcome = Some(untrusted::status(&envelope));
        results.push((index, envelope));
    }
    results.sort_by_key(|(index, _)| *index);
    Ok(results.into_iter().map(|(_, envelope)| envelope).collect())
}

fn begun(call: &ToolCall) -> CallRecord {
    CallRecord { name: call.name.clone(), arguments: call.arguments.clone(), outcome: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_that_follow_each_other_run_together_and_everything_else_alone() {
        for (names, expected) in [
            ("", &[][..]),
            ("rrr", &["rrr"]),
            ("rrwrr", &["rr", "w", "rr"]),
            ("wwr", &["w", "w", "r"]),
            ("rw", &["r", "w"]),
        ] {
            let calls = names.chars().map(|name| ToolCall {
                id: String::new(),
                name: name.to_string(),
                arguments: String::new(),
            });
            let calls: Vec<ToolCall> = calls.collect();
            let batches: Vec<String> = batches(&calls, |call| call.name == "r")
                .map(|batch| batch.iter().map(|call| call.name.as_str()).collect())
                .collect();
            assert_eq!(batches, expected, "{names}");
        }
    }
}
