//! What the leader does beside receiving: puts back the tasks of nodes that are gone, moves their chats where
//! others have the files, and tells the people of the other chats.

use channel::{Channels, Content, Delivery};
use protocol::EventId;
use store::sql::Connection;
use store::{StoreError, claim, languages, nodes, outbox, received};
use texts::Text;
use tokio_util::sync::CancellationToken;

use super::Leading;
use crate::dispatch::Dispatcher;

/// Looks after all nodes at each sign of the leadership, until `stop`.
pub(crate) async fn look_after_all(dispatcher: Dispatcher, mut leading: Leading, stop: CancellationToken) {
    let mut known = None;
    loop {
        if let Some(leads) = leading.now() {
            let is_new = known.replace(leads.epoch) != Some(leads.epoch);
            if let Err(error) = look(&dispatcher, leads.epoch, is_new).await {
                tracing::error!(%error, "could not look after the other nodes; trying again");
            }
        }
        if stop.run_until_cancelled(leading.changed()).await.is_none() {
            return;
        }
    }
}

async fn look(dispatcher: &Dispatcher, epoch: i64, is_new: bool) -> Result<(), StoreError> {
    let (run, channels) = (dispatcher.run.clone(), dispatcher.channels.clone());
    let declared = dispatcher.store.write(move |tx| {
        if !received::is_led(tx, epoch)? {
            return Ok(None);
        }
        if is_new {
            nodes::record_leader(tx, epoch, &run)?;
        }
        nodes::declare_gone(tx, &run)?;
        Ok(Some(!claim::left_behind(tx)?.is_empty()))
    });
    match declared.await? {
        Some(true) => dispatcher.requeue_left_behind().await,
        Some(false) => {}
        None => return Ok(()),
    }
    let run = dispatcher.run.clone();
    let told = dispatcher.store.write(move |tx| {
        nodes::take_over(tx, &run)?;
        tell(tx, &channels, &run)
    });
    told.await
}

/// Tells the chats that wait for a node.
fn tell(tx: &Connection, channels: &Channels, run: &EventId) -> Result<(), StoreError> {
    for (chat, node) in nodes::to_be_told(tx)? {
        let Some(channel) = channels.get(&chat.channel) else { continue };
        if channel.delivery() == Delivery::Push && channel.access().allows(&chat.id) {
            let text = Text::NodeAway { node: &node }.to(languages::of(tx, &chat)?);
            outbox::queue(tx, None, &chat, vec![Content::Text(text)], Delivery::Push, Some(run))?;
        }
    }
    Ok(())
}
