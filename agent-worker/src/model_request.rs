//! Asking the model: through the circuit breaker, again after failures that can pass, each with its event.

use protocol::{EventId, EventType};
use serde_json::{Value, json};
use toolkit::breaker::Transition;

use crate::agent::TaskRun;
use crate::breaker::{Change, FAILURES_TO_OPEN, OPEN_FOR};
use crate::model::{ModelError, Reply, Request};
use crate::retry;
use crate::stop_reason::StopReason;

/// The model's reply, or why there is none after all. Events hang under `parent`.
pub(crate) async fn send(
    run: &TaskRun<'_>,
    parent: &EventId,
    request: Request<'_>,
) -> Result<Reply, StopReason> {
    let mut failed = 0;
    loop {
        let error = match send_once(run, parent, request).await? {
            Ok(reply) => return Ok(reply),
            Err(error) => error,
        };
        failed += 1;
        if let Some(paused) = run.agent.breaker.paused() {
            return Err(paused.into());
        }
        let remaining = run.agent.limits.wall_time.saturating_sub(run.started.elapsed());
        let wait =
            retry::model_retry_delay(&error, failed, run.agent.max_retries, remaining, retry::jitter());
        let mut facts = facts_of(&error, failed);
        let Some(wait) = wait else {
            if error.class.is_transient() {
                run.trail.record(EventType::RetryExhausted, parent, facts).await;
            }
            return Err(error.into());
        };
        facts["wait_ms"] = json!(wait.as_millis());
        run.trail.record(EventType::RetryScheduled, parent, facts).await;
        tracing::warn!(
            class = error.class.as_str(),
            detail = error.detail,
            ?wait,
            "the model is asked again"
        );
        tokio::time::sleep(wait).await;
    }
}

/// One request. The outer error is the breaker's, the inner one the model's.
async fn send_once(
    run: &TaskRun<'_>,
    parent: &EventId,
    request: Request<'_>,
) -> Result<Result<Reply, ModelError>, StopReason> {
    let (admitted, changes) = run.agent.breaker.admit()?;
    record(run, parent, &changes).await;
    let reply = run.agent.model.reply(request).await;
    let changes = admitted.settle(reply.as_ref().map(|_| ()).map_err(|error| error.class));
    record(run, parent, &changes).await;
    Ok(reply)
}

async fn record(run: &TaskRun<'_>, parent: &EventId, changes: &[Change]) {
    for (class, transition) in changes {
        let (event_type, facts) = match transition {
            Transition::Opened => {
                let facts = json!({
                    "error_class": class.as_str(),
                    "failures": FAILURES_TO_OPEN,
                    "open_ms": OPEN_FOR.as_millis(),
                });
                (EventType::CircuitOpened, facts)
            }
            Transition::HalfOpened => (EventType::CircuitHalfOpen, json!({"error_class": class.as_str()})),
            Transition::Closed => (EventType::CircuitClosed, json!({"error_class": class.as_str()})),
        };
        run.trail.record(event_type, parent, facts).await;
    }
}

fn facts_of(error: &ModelError, failed: u32) -> Value {
    let mut facts = json!({
        "failed_requests": failed,
        "error": error.detail,
        "error_class": error.class.as_str(),
    });
    if let Some(retry_after) = error.retry_after {
        facts["retry_after_ms"] = json!(retry_after.as_millis());
    }
    facts
}
