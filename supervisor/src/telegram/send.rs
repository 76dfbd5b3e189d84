//! Sends what is queued, one message at a time, in order per chat.

use std::time::Duration;

use protocol::now_ms;
use teloxide::prelude::Requester;
use teloxide::types::ChatId;
use tokio_util::sync::CancellationToken;

use super::bot::{Remedy, TelegramBot, pause, remedy};
use crate::channel::Channel;
use crate::store::outbox::{self, Next, Outgoing};
use crate::store::{Store, StoreError};

const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// A refusal with an unknown reason is taken as final after this many times.
const A_FEW_TIMES: u32 = 5;

/// Sends until it is told to stop.
pub async fn run(bot: TelegramBot, store: Store, stop: CancellationToken) {
    let mut changes = store.changes();
    while !stop.is_cancelled() {
        changes.mark_unchanged();
        let until = match send_next(&bot, &store).await {
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

/// What one step did.
enum Step {
    Sent,
    Idle { until_ms: Option<i64> },
}

async fn send_next(bot: &TelegramBot, store: &Store) -> Result<Step, StoreError> {
    let message = match store.write(|tx| outbox::next(tx, Channel::Telegram)).await? {
        Next::Message(message) => *message,
        Next::Nothing { until_ms } => return Ok(Step::Idle { until_ms }),
    };
    let after = send(bot, &message).await;
    let marked = store.write(move |tx| match after {
        After::Delivered => outbox::mark_sent(tx, &message),
        After::PutOff { error, pause } => outbox::put_off(tx, &message, &error, pause),
        After::GivenUp { error } => outbox::give_up(tx, &message, &error),
    });
    marked.await.map(|()| Step::Sent)
}

/// What became of a message.
enum After {
    Delivered,
    PutOff { error: String, pause: Duration },
    GivenUp { error: String },
}

async fn send(bot: &TelegramBot, message: &Outgoing) -> After {
    let Ok(chat) = message.chat.id.parse() else {
        return After::GivenUp { error: format!("{:?} is no Telegram chat", message.chat.id) };
    };
    let Err(error) = bot.api.send_message(ChatId(chat), message.text.as_str()).await else {
        return After::Delivered;
    };
    let words = bot.describe(&error);
    let growing = pause(FIRST_PAUSE, message.attempt, LONGEST_PAUSE);
    match remedy(&error) {
        Remedy::Wait(pause) => After::PutOff { error: words, pause },
        Remedy::Retry => After::PutOff { error: words, pause: growing },
        Remedy::RetryAFewTimes if message.attempt < A_FEW_TIMES => {
            After::PutOff { error: words, pause: growing }
        }
        Remedy::Operator(what) => {
            tracing::error!(error = words, "{what}");
            After::PutOff { error: words, pause: LONGEST_PAUSE }
        }
        Remedy::RetryAFewTimes | Remedy::Never => {
            tracing::error!(error = words, chat_id = message.chat.id, "Telegram refuses a reply for good");
            After::GivenUp { error: words }
        }
    }
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
