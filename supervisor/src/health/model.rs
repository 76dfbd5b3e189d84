//! How the model is, from the events of the workers.

use protocol::event::{RetryExhausted, RetryScheduled};
use protocol::{EventBody, now_ms};

use super::Reading;

const REMEDY: &str = "Check the key, the address and the provider's status page; see docs/models.md.";

/// What an event tells of the model, if anything.
pub(crate) fn reading(event: &EventBody) -> Option<Reading> {
    match event {
        EventBody::TurnCompleted(turn) => {
            Some(Reading::ok(format!("{} answered in {} ms", turn.model_name, turn.latency_ms)))
        }
        EventBody::RetryScheduled(RetryScheduled::Request { failed, .. }) => {
            let detail =
                format!("a request failed and is tried again ({}): {}", failed.error_class, failed.error);
            Some(Reading::degraded(detail, REMEDY))
        }
        EventBody::RetryExhausted(RetryExhausted::Request(failed)) => {
            let detail = format!("the last request failed ({}): {}", failed.error_class, failed.error);
            Some(Reading::failed(detail, REMEDY))
        }
        EventBody::CircuitOpened(circuit) => {
            let detail = format!(
                "it failed {} times in a row ({}) and is not asked for {} s",
                circuit.failures,
                circuit.error_class,
                circuit.open_ms / 1000
            );
            let until_ms = now_ms().saturating_add(i64::try_from(circuit.open_ms).unwrap_or(i64::MAX));
            Some(Reading::failed(detail, REMEDY).until(until_ms))
        }
        _ => None,
    }
}
