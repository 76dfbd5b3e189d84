//! One turn: ask the model, then run what it asked for and put the results where it will see them.
//!
//! A tool that fails is a result for the model, never an end of the task. A reply that was cut by
//! length never runs its calls: their arguments may be torn.

use protocol::text_form::text_form;
use protocol::{EventId, EventType};
use serde_json::json;
use tokio::time::Instant;

use crate::agent::{Agent, Run, Stop};
use crate::conversation::Conversation;
use crate::model::{Message, Reply, ToolCall};
use crate::progress::{CallMade, Progress};
use crate::retry;
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

/// Runs one turn; returns the answer, if the model gave one.
pub(crate) async fn turn(
    agent: &Agent,
    run: &Run<'_>,
    conversation: &mut Conversation,
    progress: &mut Progress,
) -> Result<Option<String>, Stop> {
    progress.spent.turns += 1;
    let model_name = agent.model.name();
    let facts = json!({"turn": progress.spent.turns, "model_name": model_name});
    let turn_id = run.trail.record(EventType::TurnStarted, &run.agent_id, facts).await;
    let asked = Instant::now();
    let reply = ask(agent, run, conversation).await?;
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
    let answer = follow(agent, run, &turn_id, conversation, progress, reply).await?;
    run.trail.record(EventType::TurnCompleted, &turn_id, facts).await;
    Ok(answer)
}

/// Asks the model, again after failures that can pass.
async fn ask(agent: &Agent, run: &Run<'_>, conversation: &Conversation) -> Result<Reply, Stop> {
    let mut failed = 0;
    loop {
        let error = match agent.model.reply(conversation.request()).await {
            Ok(reply) => return Ok(reply),
            Err(error) => error,
        };
        failed += 1;
        let remaining = agent.limits.wall_time.saturating_sub(run.started.elapsed());
        let wait = retry::before_asking_again(&error, failed, agent.max_retries, remaining, retry::jitter());
        let Some(wait) = wait else { return Err(error.into()) };
        tracing::warn!(
            class = error.class.as_str(),
            detail = error.detail,
            ?wait,
            "the model is asked again"
        );
        tokio::time::sleep(wait).await;
    }
}

async fn follow(
    agent: &Agent,
    run: &Run<'_>,
    turn_id: &EventId,
    conversation: &mut Conversation,
    progress: &mut Progress,
    reply: Reply,
) -> Result<Option<String>, Stop> {
    match next(&reply) {
        Next::Answer(answer) => return Ok(Some(answer)),
        Next::SayShorter => conversation.messages.push(Message::User(CUT.to_owned())),
        Next::Calls => {
            progress.said.clone_from(&reply.text);
            let calls = reply.calls.clone();
            conversation.messages.push(Message::Assistant { text: reply.text, calls: reply.calls });
            for call in calls {
                let text = execute(agent, Caller { task: run.task, turn_id }, &call, progress).await?;
                conversation.messages.push(Message::ToolResult { call_id: call.id, text });
            }
        }
    }
    Ok(None)
}

/// Runs one call and returns its result as the model reads it.
async fn execute(
    agent: &Agent,
    caller: Caller<'_>,
    call: &ToolCall,
    progress: &mut Progress,
) -> Result<String, Stop> {
    let (name, arguments) = (call.name.clone(), call.arguments.clone());
    progress.calls.push(CallMade { name, arguments, outcome: None });
    let text = text_form(&agent.tools.call(call, caller).await?);
    if let Some(made) = progress.calls.last_mut() {
        made.outcome = text.lines().next().map(str::to_owned);
    }
    Ok(text)
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
