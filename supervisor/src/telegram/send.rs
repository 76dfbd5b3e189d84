//! Sends what is queued, one message at a time, in order per chat.

use std::time::Duration;

use protocol::now_ms;
use teloxide::types::ChatId;
use tokio_util::sync::CancellationToken;

use super::bot::{RetryPolicy, TelegramBot, pause, retry_policy};
use super::methods;
use crate::channel::Channel;
use crate::store::delivery::{self, Next, Outgoing};
use crate::store::{Store, StoreError};

const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// With the default of 20 attempts, a message is tried for about an hour.
const LONGEST_PAUSE: Duration = Duration::from_secs(300);
/// How long a message may still take when everything ends.
const STOP_PATIENCE: Duration = Duration::from_secs(3);
/// A rejection with an unknown reason is taken as final after this many times.
const A_FEW_TIMES: u32 = 5;

/// What sends.
#[derive(Clone)]
pub struct Sender {
    /// The way out.
    pub bot: TelegramBot,
    /// What is to be sent.
    pub store: Store,
    /// After so many failures a message is given up.
    pub max_attempts: u32,
}

impl Sender {
    /// Sends until it is told to stop. A message that is on its way then is given a little time to arrive:
    /// one that is left behind unmarked is sent once more at the next start.
    pub async fn run(self, stop: CancellationToken) {
        let mut changes = self.store.changes();
        while !stop.is_cancelled() {
            changes.mark_unchanged();
            let step = tokio::select! {
                step = send_next(&self) => step,
                () = patience_with(&stop) => return,
            };
            let until = match step {
                Ok(Step::Sent) => continue,
                Ok(Step::Idle { until_ms }) => until_ms,
                Err(error) => {
                    tracing::error!(%error, "the outbox could not be read or marked; trying again");
                    Some(now_ms() + 1000)
                }
            };
            tokio::select! {
                () = stop.cancelled() => return,
                changed = changes.changed() => if changed.is_err() { return },
                () = sleep_until(until) => {}
            }
        }
    }
}

/// What one step did.
enum Step {
    Sent,
    Idle { until_ms: Option<i64> },
}

async fn send_next(sender: &Sender) -> Result<Step, StoreError> {
    let message = match sender.store.write(|tx| delivery::next(tx, Channel::Telegram)).await? {
        Next::Message(message) => *message,
        Next::Nothing { until_ms } => return Ok(Step::Idle { until_ms }),
    };
    let after = send(sender, &message).await;
    // Until it is done: a message that was sent and can not be marked, on a full disk, must not be sent again.
    let marked = sender.store.write_until_done(move |tx| match &after {
        After::Delivered { message_id } => delivery::mark_sent(tx, &message, *message_id),
        After::PutOff { error, pause } => delivery::put_off(tx, &message, error, *pause),
        After::GivenUp { error } => delivery::give_up(tx, &message, error),
    });
    marked.await.map(|()| Step::Sent)
}

/// What became of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
enum After {
    Delivered { message_id: Option<i64> },
    PutOff { error: String, pause: Duration },
    GivenUp { error: String },
}

async fn send(sender: &Sender, message: &Outgoing) -> After {
    let Ok(chat) = message.chat.id.parse() else {
        return After::GivenUp { error: format!("{:?} is no Telegram chat", message.chat.id) };
    };
    let error = match methods::send(&sender.bot.api, ChatId(chat), &message.content).await {
        Ok(message_id) => return After::Delivered { message_id },
        Err(error) => error,
    };
    let (words, policy) = (sender.bot.describe(&error), retry_policy(&error));
    if let RetryPolicy::NeedsOperator { what, .. } = policy {
        tracing::error!(error = words, "{what}");
    }
    let after = after_failure(policy, words, message.attempt + 1, sender.max_attempts);
    if let After::GivenUp { error } = &after {
        tracing::error!(error, chat_id = message.chat.id, "a message can not be delivered and is given up");
    }
    after
}

/// What follows from the failure of an attempt, counted from 1. Everything ends at some time, so that no
/// message holds its chat back for ever.
fn after_failure(policy: RetryPolicy, error: String, attempt: u32, max_attempts: u32) -> After {
    let growing = pause(FIRST_PAUSE, attempt - 1, LONGEST_PAUSE);
    let (attempts, pause) = match policy {
        RetryPolicy::Wait(told) => (max_attempts, told),
        RetryPolicy::Retry => (max_attempts, growing),
        RetryPolicy::RetryLimited => (max_attempts.min(A_FEW_TIMES), growing),
        RetryPolicy::NeedsOperator { pause, .. } => (max_attempts, growing.max(pause)),
        RetryPolicy::Never => (0, growing),
    };
    if attempt < attempts { After::PutOff { error, pause } } else { After::GivenUp { error } }
}

/// Resolves a while after the end was asked for.
async fn patience_with(stop: &CancellationToken) {
    stop.cancelled().await;
    tokio::time::sleep(STOP_PATIENCE).await;
}

/// Sleeps until a time in milliseconds since the epoch; for ever without one.
async fn sleep_until(until_ms: Option<i64>) {
    match until_ms {
        Some(until) => {
            let pause = u64::try_from(until - now_ms()).unwrap_or(0);
            tokio::time::sleep(Duration::from_millis(pause)).await;
        }
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(policy: RetryPolicy, attempt: u32) -> After {
        after_failure(policy, "no luck".to_owned(), attempt, 20)
    }

    fn put_off(seconds: u64) -> After {
        After::PutOff { error: "no luck".to_owned(), pause: Duration::from_secs(seconds) }
    }

    fn given_up() -> After {
        After::GivenUp { error: "no luck".to_owned() }
    }

    #[test]
    fn the_network_is_waited_for_with_growing_pauses_and_not_for_ever() {
        for (attempt, seconds) in [(1, 1), (2, 2), (3, 4), (9, 256), (10, 300), (19, 300)] {
            assert_eq!(after(RetryPolicy::Retry, attempt), put_off(seconds), "{attempt}");
        }
        assert_eq!(after(RetryPolicy::Retry, 20), given_up());
    }

    #[test]
    fn telegrams_own_pause_is_kept_to_the_second() {
        assert_eq!(after(RetryPolicy::Wait(Duration::from_secs(1234)), 1), put_off(1234));
        assert_eq!(after(RetryPolicy::Wait(Duration::from_secs(1)), 20), given_up());
    }

    #[test]
    fn a_refusal_is_final_at_once_or_after_a_few_times_when_its_reason_is_unknown() {
        assert_eq!(after(RetryPolicy::Never, 1), given_up());
        assert_eq!(after(RetryPolicy::RetryLimited, 4), put_off(8));
        assert_eq!(after(RetryPolicy::RetryLimited, 5), given_up());
    }
}
