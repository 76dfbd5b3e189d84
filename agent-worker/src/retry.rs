//! When to retry and how long to wait: pure decisions about transient failures.
//!
//! A request to the model is retried a bounded number of times, a call that the tool server did not answer
//! for as long as the task lasts.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use crate::model::ModelError;

/// The longest wait for a model provider that asks for none.
const MODEL_LONGEST: Duration = Duration::from_secs(30);

/// The longest wait that a provider may ask for. If it asks for more, the task ends at once with an error.
const LONGEST_GRANTED: Duration = Duration::from_secs(120);

/// The first and the longest wait for the tool server, which restarts in less than a second.
const TOOLS_FIRST: Duration = Duration::from_millis(50);
const TOOLS_LONGEST: Duration = Duration::from_secs(2);

/// How long to wait before the model is asked again; none if that cannot help.
///
/// `failed` requests failed so far, including this one. Waits are 1, 2, 4 … at most 30 s, or what the
/// provider asked for, plus up to a quarter by `jitter` (0 to 1), so that many workers do not return at the
/// same instant. A wait beyond `remaining` would only reach the task's wall time limit.
pub(crate) fn model_retry_delay(
    error: &ModelError,
    failed: u32,
    max_retries: u32,
    remaining: Duration,
    jitter: f64,
) -> Option<Duration> {
    if !is_retryable(error) || failed > max_retries {
        return None;
    }
    let own = Duration::from_secs(1).saturating_mul(1 << failed.saturating_sub(1).min(5)).min(MODEL_LONGEST);
    // Bounded before the multiplication, which could overflow.
    let wait = error.retry_after.unwrap_or(own).min(remaining).mul_f64(1.0 + jitter / 4.0);
    (wait < remaining).then_some(wait)
}

/// Whether the same request can succeed within minutes.
pub(crate) fn is_retryable(error: &ModelError) -> bool {
    error.class.is_transient() && error.retry_after.is_none_or(|wait| wait <= LONGEST_GRANTED)
}

/// How long to wait for the tool server after `failed` failures in a row.
pub(crate) fn tool_server_retry_delay(failed: u32) -> Duration {
    TOOLS_FIRST.saturating_mul(1 << failed.saturating_sub(1).min(6)).min(TOOLS_LONGEST)
}

/// A random number from 0 to 1; good enough to spread waits, but not for secrets.
pub(crate) fn jitter() -> f64 {
    let random = u32::try_from(RandomState::new().hash_one(0) >> 32).unwrap_or(0);
    f64::from(random) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ModelErrorClass;

    const LONG: Duration = Duration::from_secs(600);

    #[test]
    fn waits_double_up_to_thirty_seconds_until_the_retries_are_used_up() {
        let error = ModelError::new(ModelErrorClass::Overloaded, "");
        let waits = (1..=8).map(|failed| model_retry_delay(&error, failed, 7, LONG, 0.0));
        let expected = [1, 2, 4, 8, 16, 30, 30].map(Duration::from_secs).map(Some);
        assert_eq!(waits.collect::<Vec<_>>(), [&expected[..], &[None]].concat());
    }

    #[test]
    fn the_providers_wait_has_precedence_over_ours() {
        let retry_after = Some(Duration::from_secs(45));
        let error = ModelError { retry_after, ..ModelError::new(ModelErrorClass::RateLimit, "") };
        assert_eq!(model_retry_delay(&error, 1, 3, LONG, 0.0), retry_after);
        assert_eq!(model_retry_delay(&error, 1, 3, Duration::from_secs(40), 0.0), None);
        let minutes = ModelError { retry_after: Some(Duration::from_secs(121)), ..error.clone() };
        assert_eq!(model_retry_delay(&minutes, 1, 3, LONG, 0.0), None);
        let endless = ModelError { retry_after: Some(Duration::MAX), ..error };
        assert_eq!(model_retry_delay(&endless, 1, 3, LONG, 1.0), None);
    }

    #[test]
    fn jitter_adds_at_most_a_quarter() {
        let error = ModelError::new(ModelErrorClass::Network, "");
        assert_eq!(model_retry_delay(&error, 1, 1, LONG, 1.0), Some(Duration::from_millis(1250)));
        assert!((0..100).map(|_| jitter()).all(|jitter| (0.0..=1.0).contains(&jitter)));
    }

    #[test]
    fn the_tool_server_is_retried_soon_and_then_every_two_seconds() {
        let waits: Vec<u128> = (1..=8).map(|failed| tool_server_retry_delay(failed).as_millis()).collect();
        assert_eq!(waits, [50, 100, 200, 400, 800, 1600, 2000, 2000]);
    }
}
