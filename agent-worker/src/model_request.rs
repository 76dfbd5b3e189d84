//! A request to the model: through the circuit breaker, with retries after transient errors, and with
//! their events.

use std::time::Instant;

use protocol::event::{
    CircuitClosed, CircuitHalfOpen, CircuitOpened, ModelRequestCompleted, RequestFailed, RetryExhausted,
    RetryScheduled,
};
use protocol::{EventBody, EventId, millis};
use toolkit::breaker::Transition;

use crate::agent::{Agent, TaskRun};
use crate::breaker::{Change, FAILURES_TO_OPEN, OPEN_FOR};
use crate::model::{ModelError, Reply, Request};
use crate::retry;
use crate::stop_reason::StopReason;

/// The reply of an agent's model, or why there is none after all retries. Events get the parent `parent`.
pub(crate) async fn send(
    agent: &Agent,
    run: &TaskRun<'_>,
    parent: &EventId,
    request: Request<'_>,
) -> Result<Reply, StopReason> {
    let mut failed = 0;
    loop {
        let error = match send_once(agent, run, parent, request).await? {
            Ok(reply) => return Ok(reply),
            Err(error) => error,
        };
        failed += 1;
        if let Some(paused) = agent.breaker.paused() {
            return Err(StopReason::Paused(paused, agent.breaker.unreachable()));
        }
        let remaining = agent.limits.wall_time.saturating_sub(run.clock.elapsed());
        let wait = retry::model_retry_delay(&error, failed, agent.max_retries, remaining, retry::jitter());
        let request_failed = request_failed(agent, &error, failed);
        let Some(wait) = wait else {
            if error.class.is_transient() {
                run.events.record(RetryExhausted::Request(request_failed), parent).await;
            }
            return Err(StopReason::Model(error));
        };
        let retry = RetryScheduled::Request { failed: request_failed, wait_ms: millis(wait) };
        run.events.record(retry, parent).await;
        tracing::warn!(class = error.class.as_str(), detail = error.detail, ?wait, "retrying the model");
        tokio::time::sleep(wait).await;
    }
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
        provider: Some(reply.provider.unwrap_or(agent.model.provider()).to_owned()),
        latency_ms: millis(asked.elapsed()),
        input_tokens: reply.usage.input_tokens,
        cached_input_tokens: reply.usage.cached_input_tokens,
        output_tokens: reply.usage.output_tokens,
        cost_micros: reply.cost_micros,
    }
}

/// One request. The outer error is the breaker's, the inner one the model's.
async fn send_once(
    agent: &Agent,
    run: &TaskRun<'_>,
    parent: &EventId,
    request: Request<'_>,
) -> Result<Result<Reply, ModelError>, StopReason> {
    let (admitted, changes) = match agent.breaker.admit() {
        Ok(admitted) => admitted,
        Err(paused) => return Err(StopReason::Paused(paused, agent.breaker.unreachable())),
    };
    record(run, parent, &changes).await;
    let reply = agent.model.reply(request).await;
    let changes = admitted.settle(reply.as_ref().map(|_| ()));
    record(run, parent, &changes).await;
    Ok(reply)
}

async fn record(run: &TaskRun<'_>, parent: &EventId, changes: &[Change]) {
    for (class, transition) in changes {
        let error_class = class.as_str().to_owned();
        let event: EventBody = match transition {
            Transition::Opened => {
                let (failures, open_ms) = (FAILURES_TO_OPEN, millis(OPEN_FOR));
                CircuitOpened { error_class, failures, open_ms }.into()
            }
            Transition::HalfOpened => CircuitHalfOpen { error_class }.into(),
            Transition::Closed => CircuitClosed { error_class }.into(),
        };
        run.events.record(event, parent).await;
    }
}

fn request_failed(agent: &Agent, error: &ModelError, failed_requests: u32) -> RequestFailed {
    RequestFailed {
        failed_requests,
        error: error.detail.clone(),
        error_class: error.class.as_str().to_owned(),
        provider: Some(agent.model.provider().to_owned()),
        retry_after_ms: error.retry_after.map(millis),
        unreachable: error.unreachable.clone(),
    }
}
