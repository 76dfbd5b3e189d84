//! What a run does otherwise where several nodes share the database.

use std::sync::{Arc, Mutex, PoisonError};

use channel::Channel;
use store::membership::{Heard, Membership};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::system::System;
use crate::nodes::heard::Listener;
use crate::nodes::intake::Intake;
use crate::nodes::pick_up::pick_up;
use crate::nodes::{Leading, lead};
use crate::reception::{Inbound, Reception};
use crate::schedules;
use crate::traces::Traces;

/// This node's place among the others.
pub(super) struct Place {
    pub(super) leading: Leading,
    /// Until it is listened to.
    heard: Mutex<Option<mpsc::UnboundedReceiver<Heard>>>,
    /// Sent when the leader has received something for a chat of this node.
    received: watch::Sender<()>,
    /// Whether the channels deliver to every node.
    has_webhook: bool,
}

impl Place {
    pub(super) fn new(membership: Membership, has_webhook: bool) -> Self {
        Self {
            leading: Leading::new(membership.standing),
            heard: Mutex::new(Some(membership.heard)),
            received: watch::Sender::new(()),
            has_webhook,
        }
    }
}

impl System {
    /// Receives what a channel delivers; of several nodes, the leader does.
    pub(super) fn start_receiver(&self, channel: Arc<dyn Channel>) {
        let (name, stop, inbound) = (channel.name(), self.stop.clone(), self.inbound.clone());
        let task = format!("receiver of {name}");
        // Messages of a channel without a backlog come to the node at which they are written.
        let Some(place) = self.place.as_ref().filter(|_| channel.backlog().is_some()) else {
            self.tasks.spawn(task, async move {
                let reception = Reception::after_a_pause(Arc::clone(&channel), inbound).await;
                channel.receive(Box::new(reception), stop).await;
            });
            return;
        };
        let picking_up =
            pick_up(Arc::clone(&channel), inbound.clone(), place.received.subscribe(), stop.clone());
        self.tasks.spawn(format!("reader of {name}"), picking_up);
        if place.has_webhook {
            self.tasks.spawn(task, receive(channel, inbound, None, stop));
            return;
        }
        let receiving = place.leading.clone().while_it_leads(stop, move |leads, ends| {
            receive(Arc::clone(&channel), inbound.clone(), Some(leads.epoch), ends)
        });
        self.tasks.spawn(task, receiving);
    }

    /// Queues what was set for later; of several nodes, the leader does.
    pub(super) fn start_schedules(&self) {
        let (schedules, run, stop) = (self.schedules.clone(), self.run.clone(), self.stop.clone());
        match &self.place {
            None => self.tasks.spawn("schedules", schedules::due::keep(schedules, run, stop)),
            Some(place) => {
                let clock = place.leading.clone().while_it_leads(stop, move |_, ends| {
                    schedules::due::keep(schedules.clone(), run.clone(), ends)
                });
                self.tasks.spawn("schedules", clock);
            }
        }
    }

    /// Sends traces; of several nodes, the leader does.
    pub(super) fn export_traces(&self, traces: Traces) {
        let stop = self.stop.clone();
        match &self.place {
            None => self.tasks.spawn("traces", traces.export(stop)),
            Some(place) => {
                let exporting =
                    place.leading.clone().while_it_leads(stop, move |_, ends| traces.clone().export(ends));
                self.tasks.spawn("traces", exporting);
            }
        }
    }

    /// Hears what other nodes change, and looks after them while it leads.
    pub(super) fn start_node(&self) {
        let Some(place) = &self.place else { return };
        let heard = place.heard.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(heard) = heard else { return };
        let listener = Listener {
            store: self.store.clone(),
            channels: self.channels.clone(),
            heard,
            leading: place.leading.clone(),
            cancel_signal: self.inbound.cancel_signal.clone(),
            approvals: Arc::clone(&self.approvals.changed),
            schedules: Arc::clone(&self.schedules.changed),
            files_came: Arc::clone(&self.inbound.files_came),
            file_requests: Arc::clone(&self.inbound.file_requests),
            received: place.received.clone(),
        };
        self.tasks.spawn("node", listener.listen(self.stop.clone()));
        let looking = lead::look_after_all(self.dispatcher(), place.leading.clone(), self.stop.clone());
        self.tasks.spawn("leader", looking);
    }
}

/// Stores what a channel delivers for the nodes of its chats, until `stop`.
async fn receive(channel: Arc<dyn Channel>, inbound: Inbound, epoch: Option<i64>, stop: CancellationToken) {
    while !stop.is_cancelled() {
        match Intake::begin(Arc::clone(&channel), inbound.clone(), epoch).await {
            Ok(intake) => return channel.receive(Box::new(intake), stop).await,
            Err(error) => {
                tracing::error!(%error, channel = %channel.name(), "cannot receive yet; trying again");
                let _ = stop.run_until_cancelled(tokio::time::sleep(super::LOCKED_PAUSE)).await;
            }
        }
    }
}
