//! Reads what the leader received for the chats of this node.

use std::sync::Arc;
use std::time::Duration;

use channel::Channel;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::reception::{Inbound, Reception};

/// How often is looked without being woken.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// The pause after the database failed.
const PAUSE: Duration = Duration::from_secs(1);

/// Reads what comes for one channel, until `stop`.
pub(crate) async fn pick_up(
    channel: Arc<dyn Channel>,
    inbound: Inbound,
    mut received: watch::Receiver<()>,
    stop: CancellationToken,
) {
    let mut reception = Reception::after_a_pause(Arc::clone(&channel), inbound).await;
    while !stop.is_cancelled() {
        let pause = match reception.receive_waiting().await {
            Ok(true) => continue,
            Ok(false) => LOOK_EVERY,
            Err(error) => {
                tracing::error!(%error, channel = %channel.name(), "could not read what was received");
                PAUSE
            }
        };
        tokio::select! {
            () = stop.cancelled() => {}
            _ = received.changed() => {}
            () = tokio::time::sleep(pause) => {}
        }
    }
}
