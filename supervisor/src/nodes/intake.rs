//! What a channel delivers to the leader: it is stored for the nodes of its chats.

use std::sync::Arc;

use channel::update::Update;
use channel::update_sink::{NotStored, ServiceState, UpdateSink};
use channel::{BoxFuture, Channel};
use store::sql::Connection;
use store::{kv, received};

use crate::reception::{Inbound, Reception, not_stored, position_key};

/// Stores what one channel delivers, while this node leads.
pub(crate) struct Intake {
    channel: Arc<dyn Channel>,
    inbound: Inbound,
    /// Which leader this is; none for a channel that delivers to every node.
    epoch: Option<i64>,
    is_in_backlog: bool,
    /// What tells chats that nothing can be stored.
    reception: Reception,
}

impl Intake {
    pub(crate) fn new(channel: Arc<dyn Channel>, inbound: Inbound, epoch: Option<i64>) -> Self {
        let is_in_backlog = channel.backlog().is_some();
        let reception = Reception::new(Arc::clone(&channel), inbound.clone());
        Self { channel, inbound, epoch, is_in_backlog, reception }
    }

    async fn take(
        &mut self,
        updates: Vec<Update>,
        position: Option<String>,
        is_last: bool,
    ) -> Result<(), NotStored> {
        let ends_backlog = is_last && self.is_in_backlog;
        if updates.is_empty() && position.is_none() && !ends_backlog {
            return Ok(());
        }
        let (name, run, epoch) = (self.channel.name(), self.inbound.run.clone(), self.epoch);
        let (key, given) = (position_key(self.channel.as_ref()), updates.clone());
        let stored = self.inbound.store.write(move |tx: &Connection| {
            if epoch.map(|epoch| received::is_led(tx, epoch)).transpose()? == Some(false) {
                return Ok(false);
            }
            received::store(tx, &name, &given, &run)?;
            if let Some(position) = &position {
                kv::set(tx, &key, position)?;
            }
            if ends_backlog {
                received::set_through(tx, &name)?;
            }
            Ok(true)
        });
        match stored.await {
            Ok(true) => {
                self.is_in_backlog &= !ends_backlog;
                self.reception.stores_again();
                Ok(())
            }
            Ok(false) => Err(NotStored("another node leads by now".to_owned())),
            Err(error) => {
                self.reception.cannot_store(updates).await;
                Err(not_stored(error))
            }
        }
    }
}

impl UpdateSink for Intake {
    fn is_in_backlog(&self) -> bool {
        self.is_in_backlog
    }

    fn position(&self) -> BoxFuture<'_, Result<Option<String>, NotStored>> {
        self.reception.position()
    }

    fn store(
        &mut self,
        updates: Vec<Update>,
        position: Option<String>,
        is_last: bool,
    ) -> BoxFuture<'_, Result<(), NotStored>> {
        Box::pin(self.take(updates, position, is_last))
    }

    fn report(&self, state: ServiceState) {
        self.reception.report(state);
    }
}
