//! Sends one message, and decides what follows from a failure.

use std::time::Duration;

use protocol::MessageId;

use super::api::Api;
use super::bot::{RetryPolicy, pause, retry_policy};
use super::methods;
use super::place::Place;
use crate::channel::{Content, SendOutcome};
use crate::store::Store;

const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// With the default of 20 attempts, a message is tried for about an hour.
const LONGEST_PAUSE: Duration = Duration::from_secs(300);
/// A rejection that may not be final is final after this many attempts.
const LIMITED_ATTEMPTS: u32 = 5;

pub(super) async fn send(
    api: &Api,
    store: &Store,
    max_attempts: u32,
    chat_id: &str,
    content: &Content,
    attempt: u32,
) -> SendOutcome {
    let Ok(place) = chat_id.parse::<Place>() else {
        return SendOutcome::GiveUp { error: format!("invalid Telegram chat: {chat_id:?}") };
    };
    let error = match methods::send(api, store, place, content).await {
        Ok(message_id) => return SendOutcome::Sent { message_id: message_id.map(MessageId::from) },
        Err(error) => error,
    };
    let policy = retry_policy(&error);
    if let RetryPolicy::NeedsOperator { what, .. } = policy {
        tracing::error!(%error, "{what}");
    }
    after_failure(policy, error.to_string(), attempt, max_attempts)
}

/// What follows from a failed attempt, counted from 1. Nothing is retried forever: it would block its chat.
/// A pause that Telegram names is a minimum, so that many short ones do not use up the attempts in a minute.
fn after_failure(policy: RetryPolicy, error: String, attempt: u32, max_attempts: u32) -> SendOutcome {
    let growing = pause(FIRST_PAUSE, attempt - 1, LONGEST_PAUSE);
    let (attempts, at_least) = match policy {
        RetryPolicy::Moved { to } => return SendOutcome::Moved { chat_id: to.to_string() },
        RetryPolicy::Retry { at_least } => (max_attempts, at_least),
        RetryPolicy::RetryLimited => (max_attempts.min(LIMITED_ATTEMPTS), Duration::ZERO),
        RetryPolicy::NeedsOperator { pause, .. } => (max_attempts, pause),
        RetryPolicy::Never => (0, Duration::ZERO),
    };
    if attempt < attempts {
        SendOutcome::Retry { error, pause: growing.max(at_least) }
    } else {
        SendOutcome::GiveUp { error }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_send_is_retried_with_growing_pauses_but_not_forever() {
        let retry = |seconds| RetryPolicy::Retry { at_least: Duration::from_secs(seconds) };
        for (policy, attempt, expected) in [
            (retry(0), 1, Some(1)),
            (retry(0), 2, Some(2)),
            (retry(0), 3, Some(4)),
            (retry(0), 9, Some(256)),
            (retry(0), 10, Some(300)),
            (retry(0), 19, Some(300)),
            (retry(0), 20, None),
            // Telegram's own pause is a minimum.
            (retry(1234), 1, Some(1234)),
            (retry(1), 8, Some(128)),
            (retry(1), 20, None),
            (RetryPolicy::Never, 1, None),
            (RetryPolicy::RetryLimited, 4, Some(8)),
            (RetryPolicy::RetryLimited, 5, None),
        ] {
            let error = "no luck".to_owned();
            let expected = match expected {
                Some(seconds) => SendOutcome::Retry { error, pause: Duration::from_secs(seconds) },
                None => SendOutcome::GiveUp { error },
            };
            let outcome = after_failure(policy, "no luck".to_owned(), attempt, 20);
            assert_eq!(outcome, expected, "{policy:?}, attempt {attempt}");
        }
    }
}
