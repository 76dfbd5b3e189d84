//! Making room in a conversation that has outgrown the model's window, and recording it.
//!
//! What is taken away is decided by [`crate::window`]. When the task's own turns have to go, the model is
//! asked once for a summary of them, which then stands in their place; where that fails, or for turns that
//! go later, a list of the calls does. The summary is in the event, so that another attempt can have it.

use protocol::event::{ContextAssembled, FittedContext};

use crate::agent::TaskRun;
use crate::compaction_note::CompactionNote;
use crate::conversation::Conversation;
use crate::model::{Message, ModelError, ModelErrorClass};
use crate::stop_reason::StopReason;
use crate::summary;
use crate::task_progress::TaskProgress;
use crate::window::{self, RequestTooLarge, WindowBounds};

/// The part of the limit that the recap may take, as a divisor.
const RECAP_SHARE: usize = 10;

/// Fits the conversation into the window, if it has outgrown it.
pub(crate) async fn compact(
    run: &TaskRun<'_>,
    conversation: &mut Conversation,
    progress: &mut TaskProgress,
) -> Result<(), StopReason> {
    let bounds = conversation.bounds();
    if conversation.tokens() <= bounds.limit {
        return Ok(());
    }
    let messages = std::mem::take(&mut conversation.messages);
    let fitted = window::fit(messages, conversation.pinned.clone(), bounds);
    let fitted = fitted.map_err(|error| too_large(error, conversation, bounds))?;
    let (shortened, dropped) = (fitted.shortened, fitted.dropped_before + fitted.lost.len());
    conversation.messages = fitted.messages;
    conversation.pinned = fitted.pinned;
    let summary = match fitted.lost.as_slice() {
        [] => None,
        lost => retell(run, conversation, progress, lost, bounds).await,
    };
    let context = FittedContext {
        messages: conversation.messages.len(),
        shortened,
        dropped,
        estimated_tokens: conversation.tokens(),
        limit_tokens: bounds.limit,
        summary,
    };
    run.events.record(ContextAssembled::Fitted(context), &run.agent_id).await;
    Ok(())
}

/// Puts a recap of what was lost behind the user's message, or brings the one that is there up to date.
/// Returns a summary that was made for it.
async fn retell(
    run: &TaskRun<'_>,
    conversation: &mut Conversation,
    progress: &mut TaskProgress,
    lost: &[Message],
    bounds: WindowBounds,
) -> Option<String> {
    let (recap, summary) = match conversation.take_recap() {
        Some(recap) => (recap.with(lost), None),
        None => match summary::of(run, progress, conversation.user_request(), lost, bounds).await {
            Some(summary) => (CompactionNote::new(summary.clone()), Some(summary)),
            None => (CompactionNote::default().with(lost), None),
        },
    };
    let room = bounds.limit.saturating_sub(conversation.tokens()).min(bounds.limit / RECAP_SHARE);
    conversation.put_recap(recap, room);
    summary
}

fn too_large(
    RequestTooLarge { tokens }: RequestTooLarge,
    conversation: &Conversation,
    bounds: WindowBounds,
) -> StopReason {
    let detail = format!(
        "the message takes about {tokens} tokens; beside the prompt and the tools, which take about {}, and a \
         reply, AUTONOUS_MODEL_CONTEXT_TOKENS leaves {} for it",
        conversation.fixed_tokens(),
        bounds.limit
    );
    StopReason::Model(ModelError::new(ModelErrorClass::ContextTooLong, detail))
}
