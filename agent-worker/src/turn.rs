//! One turn: ask the model, run the calls of its reply, and add the results to the conversation.
//!
//! A failed tool is a result for the model and never ends the task. The calls of a reply that was cut at the
//! length limit never run: their arguments may be incomplete.

use protocol::event::{TurnCompleted, TurnStarted};
use protocol::{EventId, Parked, millis};
use tokio::time::Instant;

use crate::agent::TaskRun;
use crate::budget::TaskUsage;
use crate::compaction::compact;
use crate::conversation::Conversation;
use crate::model::{Message, ModelErrorClass, Reply, ToolCall};
use crate::model_request;
use crate::parked_turn::{CallEnd, CallTurn, known_result};
use crate::picture;
use crate::prior_context;
use crate::repetition::fingerprint;
use crate::stop_reason::StopReason;
use crate::task_progress::TaskProgress;
use crate::tool_calls;
use crate::tool_client::CallContext;

/// What the model reads when nothing in its cut reply is usable.
const TRUNCATED_REPLY: &str = "[Your reply was cut at the length limit, so none of its tool calls were run. \
     Write a shorter reply: one call at a time, with smaller arguments.]";

/// What the user reads below a cut answer.
const TRUNCATED_ANSWER: &str = "\n\n(The model's answer was cut at its length limit.)";

#[derive(Debug, PartialEq, Eq)]
enum ReplyAction {
    Answer(String),
    RunCalls,
    AskShorter,
}

#[derive(Debug)]
pub(crate) enum TurnOutcome {
    Answered(String),
    Continue {
        /// Equal for turns with equal calls and results.
        fingerprint: u64,
    },
}

pub(crate) async fn take(
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

/// Continues the turn in which an earlier attempt waited for a person.
pub(crate) async fn resume(
    run: &TaskRun<'_>,
    conversation: &mut Conversation,
    progress: &mut TaskProgress,
    parked: &Parked,
) -> Result<(), StopReason> {
    run_calls(run, &run.agent_id, conversation, progress, CallTurn::of(parked)).await?;
    if parked.conversation.is_some() {
        let told = prior_context::attempts_after_a_wait(run.task);
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
        match model_request::send(run, turn_id, conversation.request()).await {
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
    match action(&reply) {
        ReplyAction::Answer(answer) => {
            let Some(doubt) = conversation.doubt(progress) else { return Ok(TurnOutcome::Answered(answer)) };
            let Reply { text, reasoning, .. } = reply;
            conversation.messages.push(Message::Assistant { text, calls: Vec::new(), reasoning });
            conversation.messages.push(Message::User(doubt.to_owned()));
            Ok(TurnOutcome::Continue { fingerprint: fingerprint(doubt) })
        }
        ReplyAction::AskShorter => {
            conversation.messages.push(Message::User(TRUNCATED_REPLY.to_owned()));
            Ok(TurnOutcome::Continue { fingerprint: fingerprint(TRUNCATED_REPLY) })
        }
        ReplyAction::RunCalls => run_calls(run, turn_id, conversation, progress, CallTurn::new(reply)).await,
    }
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
    Ok(TurnOutcome::Continue { fingerprint })
}

fn fingerprint_of(calls: &[ToolCall], ends: &[CallEnd]) -> u64 {
    let asked = calls.iter().map(|call| (&call.name, &call.arguments));
    let found = ends.iter().map(|end| match end {
        CallEnd::Answered(envelope) => Some((envelope.exit_code, &envelope.stdout, &envelope.stderr)),
        CallEnd::Open(_) => None,
    });
    fingerprint((asked.collect::<Vec<_>>(), found.collect::<Vec<_>>()))
}

fn action(reply: &Reply) -> ReplyAction {
    match (reply.cut, reply.calls.is_empty()) {
        (false, false) => ReplyAction::RunCalls,
        (false, true) => ReplyAction::Answer(reply.text.clone()),
        (true, true) if !reply.text.is_empty() => {
            ReplyAction::Answer(format!("{}{TRUNCATED_ANSWER}", reply.text))
        }
        (true, _) => ReplyAction::AskShorter,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_a_cut_reply_are_never_run() {
        let call = || ToolCall::new("a", "write", "{\"path\":");
        let reply = |text: &str, calls, cut| Reply { text: text.into(), calls, cut, ..Reply::default() };
        for (reply, expected) in [
            (reply("hm", vec![call()], true), ReplyAction::AskShorter),
            (reply("", vec![], true), ReplyAction::AskShorter),
            (reply("half", vec![], true), ReplyAction::Answer(format!("half{TRUNCATED_ANSWER}"))),
            (reply("hm", vec![call()], false), ReplyAction::RunCalls),
            (reply("whole", vec![], false), ReplyAction::Answer("whole".into())),
        ] {
            assert_eq!(action(&reply), expected, "{reply:?}");
        }
    }
}
