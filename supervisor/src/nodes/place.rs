//! What the parts of a run need to know of this node.

use std::sync::Mutex;

use store::membership::{Heard, Membership};
use tokio::sync::{mpsc, watch};
use toolkit::locked;

use super::Leading;

/// This node's place among the others.
pub(crate) struct Place {
    pub(crate) leading: Leading,
    /// Until it is listened to.
    heard: Mutex<Option<mpsc::UnboundedReceiver<Heard>>>,
    /// Sent when the leader has received something for a chat of this node.
    pub(crate) received: watch::Sender<()>,
    /// Whether the channels deliver to every node.
    pub(crate) has_webhook: bool,
}

impl Place {
    pub(crate) fn new(membership: Membership, has_webhook: bool) -> Self {
        Self {
            leading: Leading::new(membership.standing),
            heard: Mutex::new(Some(membership.heard)),
            received: watch::Sender::new(()),
            has_webhook,
        }
    }
    /// What other nodes tell: for the first who asks.
    pub(crate) fn heard(&self) -> Option<mpsc::UnboundedReceiver<Heard>> {
        locked(&self.heard).take()
    }
}
