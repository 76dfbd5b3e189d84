//! What other nodes have changed: wakes the parts of this one that it concerns.

use std::sync::Arc;

use channel::Channels;
use store::membership::Heard;
use store::{Store, StoreError, pairing};
use tokio::sync::{Notify, mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::Leading;
use crate::cancel_signal::CancelSignal;

/// What can be woken.
pub(crate) struct Listener {
    pub(crate) store: Store,
    pub(crate) channels: Channels,
    pub(crate) heard: mpsc::UnboundedReceiver<Heard>,
    pub(crate) leading: Leading,
    /// Tasks may be cancelled, or have more to read.
    pub(crate) cancel_signal: CancelSignal,
    pub(crate) approvals: Arc<Notify>,
    pub(crate) schedules: Arc<Notify>,
    pub(crate) files_came: Arc<Notify>,
    pub(crate) file_requests: Arc<Notify>,
    /// The leader has received something for this node.
    pub(crate) received: watch::Sender<()>,
}

impl Listener {
    /// Until `stop`.
    pub(crate) async fn listen(mut self, stop: CancellationToken) {
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                // What was not heard of is seen then.
                () = self.leading.changed() => self.wake_all().await,
                Some(heard) = self.heard.recv() => self.wake(heard).await,
            }
        }
    }

    async fn wake_all(&self) {
        for heard in [Heard::Access, Heard::Schedules, Heard::Decision, Heard::Received, Heard::Chat] {
            self.wake(heard).await;
        }
    }

    async fn wake(&self, heard: Heard) {
        match heard {
            Heard::Access => {
                if let Err(error) = self.read_access().await {
                    tracing::warn!(%error, "could not read which chats are paired");
                }
            }
            Heard::Schedules => self.schedules.notify_one(),
            Heard::Decision => self.approvals.notify_one(),
            Heard::Received => self.received.send_replace(()),
            Heard::Chat => {
                self.cancel_signal.send_replace(());
                self.files_came.notify_one();
                self.file_requests.notify_one();
            }
        }
    }

    /// Pairing is allowed by a person on any node.
    async fn read_access(&self) -> Result<(), StoreError> {
        let paired = self.store.write(pairing::paired).await?;
        for channel in self.channels.iter() {
            let name = channel.name();
            let of_channel = paired.iter().filter(|known| known.chat.channel == name);
            channel.access().replace_paired(of_channel.map(|known| known.chat.id.clone()));
        }
        Ok(())
    }
}
