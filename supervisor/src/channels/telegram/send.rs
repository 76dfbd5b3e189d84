//! Sends one message, and decides what follows from a failure.

use std::time::Duration;

use teloxide::types::ChatId;

use super::bot::{RetryPolicy, TelegramBot, pause, retry_policy};
use super::methods;
use crate::channel::{Content, SendOutcome};

const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// With the default of 20 attempts, a message is tried for about an hour.
const LONGEST_PAUSE: Duration = Duration::from_secs(300);
/// A rejection with an unknown reason is final after this many attempts.
const LIMITED_ATTEMPTS: u32 = 5;

pub(super) async fn send(
    bot: &TelegramBot,
    max_attempts: u32,
    chat_id: &str,
    content: &Content,
    attempt: u32,
) -> SendOutcome {
    let Ok(chat) = chat_id.parse() else {
        return SendOutcome::GiveUp { error: format!("invalid Telegram chat: {chat_id:?}") };
    };
    let error = match methods::send(&bot.api, ChatId(chat), content).await {
        Ok(message_id) => return SendOutcome::Sent { message_id },
        Err(error) => error,
    };
    let (error, policy) = (bot.describe(&error), retry_policy(&error));
    if let RetryPolicy::NeedsOperator { what, .. } = policy {
        tracing::error!(error, "{what}");
    }
    after_failure(policy, error, attempt, max_attempts)
}

/// What follows from a failed attempt, counted from 1. Nothing is retried forever: it would block its chat.
fn after_failure(policy: RetryPolicy, error: String, attempt: u32, max_attempts: u32) -> SendOutcome {
    let growing = pause(FIRST_PAUSE, attempt - 1, LONGEST_PAUSE);
    let (attempts, pause) = match policy {
        RetryPolicy::Wait(told) => (max_attempts, told),
        RetryPolicy::Retry => (max_attempts, growing),
        RetryPolicy::RetryLimited => (max_attempts.min(LIMITED_ATTEMPTS), growing),
        RetryPolicy::NeedsOperator { pause, .. } => (max_attempts, growing.max(pause)),
        RetryPolicy::Never => (0, growing),
    };
    if attempt < attempts { SendOutcome::Retry { error, pause } } else { SendOutcome::GiveUp { error } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_send_is_retried_with_growing_pauses_but_not_forever() {
        let wait = |seconds| RetryPolicy::Wait(Duration::from_secs(seconds));
        for (policy, attempt, expected) in [
            (RetryPolicy::Retry, 1, Some(1)),
            (RetryPolicy::Retry, 2, Some(2)),
            (RetryPolicy::Retry, 3, Some(4)),
            (RetryPolicy::Retry, 9, Some(256)),
            (RetryPolicy::Retry, 10, Some(300)),
            (RetryPolicy::Retry, 19, Some(300)),
            (RetryPolicy::Retry, 20, None),
            // Telegram's own pause is kept to the second.
            (wait(1234), 1, Some(1234)),
            (wait(1), 20, None),
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
