//! Sends what is queued for a channel, one message at a time, in order per chat.

use std::sync::Arc;
use std::time::Duration;

use protocol::now_ms;
use tokio_util::sync::CancellationToken;

use crate::channel::{Channel, SendOutcome};
use crate::store::delivery::{self, Next, OutgoingMessage};
use crate::store::{Store, StoreError};

/// How long a message that is being sent may still take once the supervisor stops.
const STOP_PATIENCE: Duration = Duration::from_secs(3);
/// The pause after the database failed.
const STORE_PAUSE_MS: i64 = 1000;

/// Sends until `stop`, and a little longer: a message sent but not marked is sent again at the next start.
pub(crate) async fn send_queued(channel: Arc<dyn Channel>, store: Store, stop: CancellationToken) {
    let mut changes = store.changes();
    while !stop.is_cancelled() {
        changes.mark_unchanged();
        let sent = tokio::select! {
            sent = send_next(channel.as_ref(), &store) => sent,
            () = patience_over(&stop) => return,
        };
        let until_ms = match sent {
            Ok(Sent::One) => continue,
            Ok(Sent::Nothing { until_ms }) => until_ms,
            Err(error) => {
                tracing::error!(%error, "could not read or update the outbox; trying again");
                Some(now_ms() + STORE_PAUSE_MS)
            }
        };
        tokio::select! {
            () = stop.cancelled() => return,
            changed = changes.changed() => if changed.is_err() { return },
            () = sleep_until(until_ms) => {}
        }
    }
}

enum Sent {
    One,
    Nothing { until_ms: Option<i64> },
}

async fn send_next(channel: &dyn Channel, store: &Store) -> Result<Sent, StoreError> {
    let name = channel.name();
    let message = match store.write(move |tx| delivery::next(tx, &name)).await? {
        Next::Message(message) => *message,
        Next::Nothing { until_ms } => return Ok(Sent::Nothing { until_ms }),
    };
    let OutgoingMessage { chat, content, attempt, .. } = &message;
    let outcome = channel.send(&chat.id, content, attempt + 1).await;
    if let SendOutcome::GiveUp { error } = &outcome {
        tracing::error!(error, chat_id = chat.id, "could not deliver a message; giving up");
    }
    // Until it succeeds: a message that was sent but not marked, on a full disk, must not be sent again.
    let marked = store.write_until_done(move |tx| match &outcome {
        SendOutcome::Sent { message_id } => delivery::mark_sent(tx, &message, *message_id),
        SendOutcome::Retry { error, pause } => delivery::put_off(tx, &message, error, *pause),
        SendOutcome::GiveUp { error } => delivery::give_up(tx, &message, error),
    });
    marked.await.map(|()| Sent::One)
}

async fn patience_over(stop: &CancellationToken) {
    stop.cancelled().await;
    tokio::time::sleep(STOP_PATIENCE).await;
}

/// Sleeps until a time in milliseconds since the epoch; forever without one.
async fn sleep_until(until_ms: Option<i64>) {
    match until_ms {
        Some(until) => {
            let pause = u64::try_from(until - now_ms()).unwrap_or(0);
            tokio::time::sleep(Duration::from_millis(pause)).await;
        }
        None => std::future::pending().await,
    }
}
