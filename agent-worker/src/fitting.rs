//! Making room in a conversation that has outgrown the model's window, and recording it.
//!
//! What is taken away is decided by [`crate::context`]. When the task's own turns have to go, the model is
//! asked once for a summary of them, which then stands in their place; where that fails, or for turns that
//! go later, a list of the calls does. The summary is in the event, so that another attempt can have it.

use protocol::EventType;
use serde_json::json;

use crate::agent::{Agent, Run};
use crate::context::{self, Bounds, TooLarge};
use crate::conversation::Conversation;
use crate::model::{Message, ModelError, ModelErrorClass};
use crate::progress::Progress;
use crate::recap::Recap;
use crate::stop::Stop;
use crate::summary;

/// The part of the limit that the recap may take, as a divisor.
const RECAP_SHARE: usize = 10;

/// Fits the conversation into the window, if it has outgrown it.
pub(crate) async fn make_room(
    agent: &Agent,
    run: &Run<'_>,
    conversation: &mut Conversation,
    progress: &mut Progress,
) -> Result<(), Stop> {
    let bounds = conversation.bounds();
    if conversation.tokens() <= bounds.limit {
        return Ok(());
    }
    let messages = std::mem::take(&mut conversation.messages);
    let fitted = context::fit(messages, conversation.pinned.clone(), bounds);
    let fitted = fitted.map_err(|error| too_large(error, conversation, bounds))?;
    let (shortened, dropped) = (fitted.shortened, fitted.dropped_before + fitted.lost.len());
    conversation.messages = fitted.messages;
    conversation.pinned = fitted.pinned;
    let summary = match fitted.lost.as_slice() {
        [] => None,
        lost => retell(agent, run, conversation, progress, lost, bounds).await,
    };
    let mut facts = json!({
        "messages": conversation.messages.len(),
        "shortened": shortened,
        "dropped": dropped,
        "estimated_tokens": conversation.tokens(),
        "limit_tokens": bounds.limit,
    });
    if let Some(summary) = summary {
        facts["summary"] = json!(summary);
    }
    run.trail.record(EventType::ContextAssembled, &run.agent_id, facts).await;
    Ok(())
}

/// Puts a recap of what was lost behind the user's message, or brings the one that is there up to date.
/// Returns a summary that was made for it.
async fn retell(
    agent: &Agent,
    run: &Run<'_>,
    conversation: &mut Conversation,
    progress: &mut Progress,
    lost: &[Message],
    bounds: Bounds,
) -> Option<String> {
    let (recap, summary) = match conversation.take_recap() {
        Some(recap) => (recap.with(lost), None),
        None => match summary::of(agent, run, progress, conversation.user_request(), lost, bounds).await {
            Some(summary) => (Recap::new(summary.clone()), Some(summary)),
            None => (Recap::default().with(lost), None),
        },
    };
    let room = bounds.limit.saturating_sub(conversation.tokens()).min(bounds.limit / RECAP_SHARE);
    conversation.put_recap(recap, room);
    summary
}

fn too_large(TooLarge { tokens }: TooLarge, conversation: &Conversation, bounds: Bounds) -> Stop {
    let detail = format!(
        "the message takes about {tokens} tokens; beside the prompt and the tools, which take about {}, and a \
         reply, AUTONOUS_MODEL_CONTEXT_TOKENS leaves {} for it",
        conversation.fixed_tokens(),
        bounds.limit
    );
    Stop::Model(ModelError::new(ModelErrorClass::ContextTooLong, detail))
}
