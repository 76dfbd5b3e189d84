//! What a run does otherwise where several nodes share the database.

use std::sync::Arc;

use channel::Channel;
use tokio_util::sync::CancellationToken;

use super::system::System;
use crate::nodes::heard::Listener;
use crate::nodes::intake::Intake;
use crate::nodes::lead;
use crate::nodes::pick_up::pick_up;
use crate::reception::Reception;
use crate::schedules;
use crate::traces::Traces;

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
        let reading =
            pick_up(Arc::clone(&channel), inbound.clone(), place.received.subscribe(), stop.clone());
        self.tasks.spawn(format!("reader of {name}"), reading);
        if place.has_webhook {
            self.tasks.spawn(
                task,
                Arc::clone(&channel).receive(Box::new(Intake::new(channel, inbound, None)), stop),
            );
            return;
        }
        let receiving = place.leading.clone().while_it_leads(stop, move |leads, ends| {
            let intake = Intake::new(Arc::clone(&channel), inbound.clone(), Some(leads.epoch));
            Arc::clone(&channel).receive(Box::new(intake), ends)
        });
        self.tasks.spawn(task, receiving);
    }

    /// Queues what was set for later.
    pub(super) fn start_schedules(&self) {
        let (schedules, run) = (self.schedules.clone(), self.run.clone());
        self.start_for_all("schedules", move |stop| {
            schedules::due::keep(schedules.clone(), run.clone(), stop)
        });
    }

    pub(super) fn export_traces(&self, traces: Traces) {
        self.start_for_all("traces", move |stop| traces.clone().export(stop));
    }

    /// Starts what works for all nodes: of several, the leader does it.
    fn start_for_all<F: Future<Output = ()> + Send + 'static>(
        &self,
        name: &str,
        work: impl Fn(CancellationToken) -> F + Send + Sync + 'static,
    ) {
        let stop = self.stop.clone();
        match &self.place {
            None => self.tasks.spawn(name, work(stop)),
            Some(place) => {
                self.tasks.spawn(name, place.leading.clone().while_it_leads(stop, move |_, ends| work(ends)));
            }
        }
    }

    /// Hears what other nodes change, and looks after them while it leads.
    pub(super) fn start_node(&self) {
        let Some(place) = &self.place else { return };
        let Some(heard) = place.heard() else { return };
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
