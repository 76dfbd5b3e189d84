//! One turn: ask the model, then run what it asked for and put the results where it will see them.
//!
//! A tool that fails is a result for the model, never an end of the task. A reply that was cut by
//! length never runs its calls: their arguments may be torn.

use protocol::{EventId, EventType};
use serde_json::json;
use tokio::time::Instant;

use crate::agent::{Agent, Run};
use crate::ask::ask;
use crate::calls;
use crate::conversation::Conversation;
use crate::fitting::make_room;
use crate::model::{Message, ModelErrorClass, Reply};
use crate::outside;
use crate::progress::Progress;
use crate::repetition::fingerprint;
use crate::stop::Stop;
use crate::tools::Caller;

/// What the model is told when its reply was cut before it called or said anything usable.
const CUT: &str = "[Your reply was cut at the length limit, so none of its tool calls were run. \
     Write a shorter reply: one call at a time, with smaller arguments.]";

/// What the user is told when an answer was cut.
const CUT_ANSWER: &str = "\n\n(The model's answer was cut at its length limit.)";

/// What follows from a reply.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    Answer(String),
    Calls,
    SayShorter,
}

/// How a turn ended.
#[derive(Debug)]
pub(crate) enum Turn {
    /// With the answer to the user.
    Answered(String),
    /// With more for the model to read.
    Went {
        /// Equal for turns with equal calls and results.
        fingerprint: u64,
    },
}

/// Runs one turn.
pub(crate) async fn turn(
    agent: &Agent,
    run: &Run<'_>,
    conversation: &mut Conversation,
    progress: &mut Progress,
) -> Result<Turn, Stop> {
    progress.spent.turns += 1;
    let model_name = agent.model.name();
    let facts = json!({"turn": progress.spent.turns, "model_name": model_name});
    let turn_id = run.trail.record(EventType::TurnStarted, &run.agent_id, facts).await;
    if agent.tools.has_other_tools() {
        conversation.replace_tools(agent.tools.catalogue().await?);
    }
    let asked = Instant::now();
    let reply = ask_within_window(agent, run, &turn_id, conversation, progress).await?;
    let facts = json!({
        "model_name": reply.model_name.as_deref().unwrap_or(model_name),
        "latency_ms": asked.elapsed().as_millis(),
        "input_tokens": reply.usage.input_tokens,
        "cached_input_tokens": reply.usage.cached_input_tokens,
        "output_tokens": reply.usage.output_tokens,
        "tool_calls": reply.calls.len(),
        "cut": reply.cut,
    });
    progress.spent.add(reply.usage);
    let end = follow(agent, run, &turn_id, conversation, progress, reply).await?;
    run.trail.record(EventType::TurnCompleted, &turn_id, facts).await;
    Ok(end)
}

/// Asks the model; once in a task a conversation that the provider finds too long is made shorter.
async fn ask_within_window(
    agent: &Agent,
    run: &Run<'_>,
    turn_id: &EventId,
    conversation: &mut Conversation,
    progress: &mut Progress,
) -> Result<Reply, Stop> {
    loop {
        match ask(agent, run, turn_id, conversation.request()).await {
            Err(Stop::Model(error))
                if error.class == ModelErrorClass::ContextTooLong && conversation.shrink() =>
            {
                make_room(agent, run, conversation, progress).await?;
            }
            end => return end,
        }
    }
}

async fn follow(
    agent: &Agent,
    run: &Run<'_>,
    turn_id: &EventId,
    conversation: &mut Conversation,
    progress: &mut Progress,
    reply: Reply,
) -> Result<Turn, Stop> {
    match next(&reply) {
        Next::Answer(answer) => Ok(Turn::Answered(answer)),
        Next::SayShorter => {
            conversation.messages.push(Message::User(CUT.to_owned()));
            Ok(Turn::Went { fingerprint: fingerprint(CUT) })
        }
        Next::Calls => {
            progress.said.clone_from(&reply.text);
            let caller = Caller { task: run.task, turn_id };
            let envelopes = calls::run(agent, caller, conversation, &reply.calls, progress).await?;
            let asked = reply.calls.iter().map(|call| (&call.name, &call.arguments));
            let found =
                envelopes.iter().map(|envelope| (envelope.exit_code, &envelope.stdout, &envelope.stderr));
            let fingerprint = fingerprint((asked.collect::<Vec<_>>(), found.collect::<Vec<_>>()));
            let ids: Vec<String> = reply.calls.iter().map(|call| call.id.clone()).collect();
            conversation.messages.push(Message::Assistant { text: reply.text, calls: reply.calls });
            for (id, envelope) in ids.into_iter().zip(&envelopes) {
                conversation.push_result(id, &outside::result(envelope));
            }
            Ok(Turn::Went { fingerprint })
        }
    }
}

fn next(reply: &Reply) -> Next {
    match (reply.cut, reply.calls.is_empty()) {
        (false, false) => Next::Calls,
        (false, true) => Next::Answer(reply.text.clone()),
        (true, true) if !reply.text.is_empty() => Next::Answer(format!("{}{CUT_ANSWER}", reply.text)),
        (true, _) => Next::SayShorter,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ToolCall;

    #[test]
    fn calls_of_a_cut_reply_are_never_run() {
        let call = || ToolCall { id: "a".into(), name: "write".into(), arguments: "{\"path\":".into() };
        let reply = |text: &str, calls, cut| Reply { text: text.into(), calls, cut, ..Reply::default() };
        for (reply, expected) in [
            (reply("hm", vec![call()], true), Next::SayShorter),
            (reply("", vec![], true), Next::SayShorter),
            (reply("half", vec![], true), Next::Answer(format!("half{CUT_ANSWER}"))),
            (reply("hm", vec![call()], false), Next::Calls),
            (reply("whole", vec![], false), Next::Answer("whole".into())),
        ] {
            assert_eq!(next(&reply), expected, "{reply:?}");
        }
    }
}
