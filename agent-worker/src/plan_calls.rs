//! Answers the calls of `plan_create` and `plan_update`, with an event below the turn for each change.
//!
//! A plan that another model writes is a question whose answer has to be a JSON object of one form: asked,
//! repaired once, then given up.

use std::time::Instant;

use protocol::{Envelope, ErrorCode, EventId, Plan, ToolError};
use serde::de::DeserializeOwned;
use serde_json::Value;
use texts::Language;
use toolkit::{Outcome, runner};

use crate::agent::{Agent, TaskRun};
use crate::budget::TaskUsage;
use crate::model::{Message, ModelErrorClass, Reply, ReplySchema, Request, ToolCall};
use crate::model_request::{self, completed};
use crate::plans::PlanCall;
use crate::plans::create::{self, CreateArguments};
use crate::stop_reason::StopReason;

/// Answers a call of the turn `turn_id`.
pub(crate) async fn answer(run: &TaskRun<'_>, call: &ToolCall, turn_id: &EventId) -> Envelope {
    runner::answer(&call.name, outcome(run, call, turn_id).await)
}

async fn outcome(run: &TaskRun<'_>, call: &ToolCall, turn_id: &EventId) -> Outcome<Plan> {
    let (plan, notices) = match run.plan.read(call)? {
        PlanCall::Create(plan, notices) => (plan, notices),
        PlanCall::Ask(asking) => {
            let name = asking.model.as_deref().unwrap_or_default();
            let agent = run.agents.named(name).ok_or_else(|| no_such_model(run, name))?;
            Question { run, agent, turn_id, asking: &asking, schema: create::schema() }.ask().await?
        }
        PlanCall::Update(arguments) => {
            let (success, updated) = run.plan.update(arguments)?;
            run.events.record(updated, turn_id).await;
            return Ok(success);
        }
    };
    let (success, created) = run.plan.create(plan, notices);
    run.events.record(created, turn_id).await;
    Ok(success)
}

fn no_such_model(run: &TaskRun<'_>, name: &str) -> ToolError {
    let message = format!("`model` is {name:?}, and no such model is configured.");
    let names = run.agents.names().join(", ");
    ToolError::new(ErrorCode::InvalidArgument, message)
        .with_hint(format!("Give `steps` instead, or name one of: {names}."))
}

/// A plan that another model writes, asked for by a call of a turn.
struct Question<'a> {
    run: &'a TaskRun<'a>,
    agent: &'a Agent,
    turn_id: &'a EventId,
    asking: &'a CreateArguments,
    schema: ReplySchema,
}

impl Question<'_> {
    /// Asks at most twice: the second time with the fault of the first answer.
    async fn ask(&self) -> Result<(Plan, Vec<String>), ToolError> {
        // A provider may take no schema, so the model reads it as well.
        let system = format!("{}\n{}\n", create::SYSTEM.trim_end(), self.schema.schema);
        let mut messages = vec![Message::User(self.asking.text())];
        let mut mistake = String::new();
        for _ in 0..2 {
            let asked = Instant::now();
            let reply = self.reply(&system, &messages).await.map_err(|stop| unanswered(&stop))?;
            self.run.plan.spend(TaskUsage::of(&reply));
            let event = completed(self.agent, create::NAME, &reply, asked);
            self.run.events.record(event, self.turn_id).await;
            let accepted = |written| create::accepted(written, self.asking.most());
            mistake = match parsed(&reply.text).and_then(accepted) {
                Ok(accepted) => return Ok(accepted),
                Err(mistake) => mistake,
            };
            // Some providers refuse an empty message.
            let said = if reply.text.trim().is_empty() { "{}".to_owned() } else { reply.text };
            messages.push(Message::assistant(said, Vec::new()));
            messages.push(Message::User(format!(
                "[That cannot be used: {mistake}. Reply with the corrected JSON object and nothing else.]"
            )));
        }
        let message = format!("invalid {} response: {mistake}", self.schema.name);
        Err(ToolError::new(ErrorCode::IoError, message).with_hint("Call again with `steps` of your own."))
    }

    /// The model's reply. One that takes no schema is asked without.
    async fn reply(&self, system: &str, messages: &[Message]) -> Result<Reply, StopReason> {
        let send = |schema| {
            let request = Request { system, messages, schema, ..Request::default() };
            model_request::send(self.agent, self.run, self.turn_id, request)
        };
        match send(Some(&self.schema)).await {
            Err(StopReason::Model(error)) if error.class == ModelErrorClass::BadRequest => {
                tracing::info!(detail = error.detail, "asking the model without a schema");
                send(None).await
            }
            end => end,
        }
    }
}

/// Why the model gave no answer, for a caller who may ask again.
fn unanswered(stop: &StopReason) -> ToolError {
    let (message, retryable) = match stop {
        StopReason::Model(error) => (error.to_string(), error.class.is_transient()),
        StopReason::Paused(paused, server) => (paused.told(server.as_ref(), Language::English), true),
        StopReason::Limit(_)
        | StopReason::Stalled(_)
        | StopReason::Cancelled
        | StopReason::Tools(_)
        | StopReason::Parked(_) => ("the task ended".to_owned(), false),
    };
    let error = ToolError::new(ErrorCode::IoError, format!("The model gave no answer: {message}."));
    ToolError { retryable, ..error.with_hint("Call again with `steps` of your own, or later.") }
}

/// The object in a text, which some models put into a fence or between words.
fn parsed<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let (Some(start), Some(end)) = (text.find('{'), text.rfind('}')) else {
        return Err("it has no JSON object".to_owned());
    };
    let object = text.get(start..=end).ok_or("it has no JSON object")?;
    let value: Value = serde_json::from_str(object).map_err(|error| format!("it is no JSON: {error}"))?;
    serde_json::from_value(value).map_err(|error| format!("it does not fit the schema: {error}"))
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Answer {
        a: u32,
    }

    #[test]
    fn an_object_is_found_in_what_models_write_around_it() {
        for (text, expected) in [
            ("{\"a\":1}", Ok(1)),
            ("```json\n{\"a\": 2}\n```", Ok(2)),
            ("Here it is: {\"a\":3, \"more\": {}} Good luck!", Ok(3)),
            ("", Err("it has no JSON object")),
            ("} {", Err("it has no JSON object")),
            ("{\"a\": }", Err("it is no JSON")),
            ("{\"b\": 1}", Err("it does not fit the schema: missing field `a`")),
        ] {
            match (parsed::<Answer>(text), expected) {
                (Ok(answer), Ok(a)) => assert_eq!(answer, Answer { a }, "{text}"),
                (Err(error), Err(part)) => assert!(error.starts_with(part), "{text}: {error}"),
                (end, _) => panic!("{text}: {end:?}"),
            }
        }
    }
}
