//! Compacts a conversation that has outgrown the model's window, and records it.
//!
//! [`crate::window`] decides which are removed. When turns of the task itself are dropped, the model is asked
//! once for a summary, which replaces them; if that fails, or for turns dropped later, a list of their calls
//! does. A plan of the task stands beside them, as it is then. The summary is in the event, so that
//! another attempt can use it.

use protocol::Plan;
use protocol::event::{ContextAssembled, FittedContext};

use crate::agent::TaskRun;
use crate::compaction_note::CompactionNote;
use crate::conversation::Conversation;
use crate::model::{Message, ModelError, ModelErrorClass};
use crate::stop_reason::StopReason;
use crate::summary;
use crate::task_progress::TaskProgress;
use crate::window::{self, RequestTooLarge, WindowBounds};

/// The share of the limit that the note may take, as a divisor.
const NOTE_SHARE: usize = 10;

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
    let (shortened, dropped) = (fitted.shortened, fitted.dropped_before + fitted.dropped.len());
    conversation.messages = fitted.messages;
    conversation.pinned = fitted.pinned;
    let plan = run.plan.plan();
    let summary = match fitted.dropped.as_slice() {
        [] if plan.is_none() => None,
        dropped => add_note(run, conversation, progress, (dropped, plan), bounds).await,
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

/// Adds or extends the note about dropped turns and the plan; returns the summary if one was made.
async fn add_note(
    run: &TaskRun<'_>,
    conversation: &mut Conversation,
    progress: &mut TaskProgress,
    (dropped, plan): (&[Message], Option<Plan>),
    bounds: WindowBounds,
) -> Option<String> {
    let (note, summary) = match conversation.take_note() {
        Some(note) => (note.with(dropped), None),
        None if dropped.is_empty() => (CompactionNote::default(), None),
        None => match summary::of(run, progress, conversation.user_request(), dropped, bounds).await {
            Some(summary) => (CompactionNote::new(summary.clone()), Some(summary)),
            None => (CompactionNote::default().with(dropped), None),
        },
    };
    let room = bounds.limit.saturating_sub(conversation.tokens()).min(bounds.limit / NOTE_SHARE);
    conversation.put_note(note.with_plan(plan), room);
    summary
}

fn too_large(
    RequestTooLarge { tokens }: RequestTooLarge,
    conversation: &Conversation,
    bounds: WindowBounds,
) -> StopReason {
    let detail = format!(
        "the message takes about {tokens} tokens; after the prompt and the tools (about {}) and room for a \
         reply, AUTONOUS_MODEL_CONTEXT_TOKENS leaves {} for it",
        conversation.fixed_tokens(),
        bounds.limit
    );
    StopReason::Model(ModelError::new(ModelErrorClass::ContextTooLong, detail))
}
