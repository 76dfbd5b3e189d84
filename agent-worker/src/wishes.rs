//! Does for a tool of the worker's own what only its task can: asks the model, and records events.

use std::time::Instant;

use protocol::event::ModelRequestCompleted;
use protocol::{ErrorCode, Event, ToolError, millis};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::agent::{Agent, TaskRun};
use crate::budget::TaskUsage;
use crate::model::{ModelErrorClass, Reply, Request};
use crate::model_request;
use crate::stop_reason::StopReason;
use crate::tool_client::ToolServerError;
use crate::tools::{Prompt, Wish};

/// Does what a tool wants, unless its call has `ended`; returns what it took.
pub(crate) async fn fulfil(run: &TaskRun<'_>, wish: Wish, ended: CancellationToken) -> Option<TaskUsage> {
    match wish {
        Wish::Record { id, parent, body } => {
            let event = Event { id, ..Event::now(*body, parent.as_ref(), Some(&run.task.task_id)) };
            run.events.send(event).await;
            None
        }
        Wish::Read { path, call_id, answer } => {
            let read = run.agent.tools.read_file(&path, run.task, &call_id);
            send_unless(&ended, answer, read).await;
            None
        }
        Wish::Change { body, call_id, answer } => {
            let change = run.agent.tools.change_files(&body, run.task, &call_id, run.clock);
            send_unless(&ended, answer, change).await;
            None
        }
        Wish::Ask { prompt, answer } => tokio::select! {
            (reply, spent) = ask(run, &prompt) => {
                let _ = answer.send(reply);
                Some(spent)
            }
            () = ended.cancelled() => None,
        },
    }
}

/// Answers with what the tool server said, unless the call has ended.
async fn send_unless<T>(
    ended: &CancellationToken,
    answer: oneshot::Sender<Result<T, ToolError>>,
    asked: impl Future<Output = Result<T, ToolServerError>>,
) {
    let said = tokio::select! {
        said = asked => said,
        () = ended.cancelled() => return,
    };
    let said = said.map_err(|error| match error {
        ToolServerError::Refused(error) => error,
        other => ToolError::new(ErrorCode::IoError, other.to_string()),
    });
    let _ = answer.send(said);
}

/// Asks the model that the prompt names. One that takes no schema is asked without.
async fn ask(run: &TaskRun<'_>, prompt: &Prompt) -> (Result<Reply, ToolError>, TaskUsage) {
    let agent = match &prompt.model {
        None => run.agent,
        Some(name) => match run.agents.named(name) {
            Some(agent) => agent,
            None => return (Err(no_such_model(run, name)), TaskUsage::default()),
        },
    };
    let asked = Instant::now();
    let end = match send(run, agent, prompt, true).await {
        Err(StopReason::Model(error)) if error.class == ModelErrorClass::BadRequest => {
            tracing::info!(detail = error.detail, "asking the model without a schema");
            send(run, agent, prompt, false).await
        }
        end => end,
    };
    match end {
        Ok(reply) => {
            let spent = TaskUsage::of(&reply);
            let event = completed(agent, prompt.purpose, &reply, asked);
            run.events.record(event, &prompt.call_id).await;
            (Ok(reply), spent)
        }
        Err(stop) => (Err(unanswered(&stop)), TaskUsage::default()),
    }
}

async fn send(
    run: &TaskRun<'_>,
    agent: &Agent,
    prompt: &Prompt,
    with_schema: bool,
) -> Result<Reply, StopReason> {
    let Prompt { call_id, system, messages, schema, .. } = prompt;
    let request = Request { system, messages, tools: &[], schema: with_schema.then_some(schema) };
    model_request::send_to(agent, run, call_id, request).await
}

/// The event of a request that is no turn.
pub(crate) fn completed(
    agent: &Agent,
    purpose: &str,
    reply: &Reply,
    asked: Instant,
) -> ModelRequestCompleted {
    ModelRequestCompleted {
        purpose: purpose.to_owned(),
        model_name: reply.model_name.as_deref().unwrap_or(agent.model.name()).to_owned(),
        latency_ms: millis(asked.elapsed()),
        input_tokens: reply.usage.input_tokens,
        cached_input_tokens: reply.usage.cached_input_tokens,
        output_tokens: reply.usage.output_tokens,
        cost_micros: reply.cost_micros,
    }
}

fn no_such_model(run: &TaskRun<'_>, name: &str) -> ToolError {
    let names = run.agents.names().join(", ");
    ToolError::new(
        ErrorCode::InvalidArgument,
        format!("`model` is {name:?}, and no such model is configured."),
    )
    .with_hint(format!("Leave `model` out, or name one of: {names}."))
}

/// Why the model gave no answer, for a caller who may ask again.
fn unanswered(stop: &StopReason) -> ToolError {
    let (message, retryable) = match stop {
        StopReason::Model(error) => (error.to_string(), error.class.is_transient()),
        StopReason::Paused(paused) => (paused.class.user_message().to_owned(), true),
        StopReason::Limit(_)
        | StopReason::Stalled(_)
        | StopReason::Cancelled
        | StopReason::Tools(_)
        | StopReason::Parked(_) => ("the task ended".to_owned(), false),
    };
    let error = ToolError::new(ErrorCode::IoError, format!("The model gave no answer: {message}."));
    ToolError { retryable, ..error.with_hint("Go on without it, or call again later.") }
}
