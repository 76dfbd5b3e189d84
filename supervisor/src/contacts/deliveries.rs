//! Notes in the file of contacts what became of each message: one that did not arrive sets a time until which
//! its contact is not written to, one that did clears it.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp, Unit};
use store::StoreError;
use store::contact_messages::{self, Ended};
use tokio_util::sync::CancellationToken;

use super::Contacts;
use crate::tool_files::PutError;

/// The pause before something is tried again.
const PAUSE: Duration = Duration::from_secs(5);

/// Follows the outbox until `stop`.
pub(crate) async fn follow(contacts: Contacts, stop: CancellationToken) {
    let mut changes = contacts.store.changes();
    loop {
        changes.mark_unchanged();
        let is_done = contacts.settle_all().await.unwrap_or_else(|error| {
            tracing::error!(%error, "could not look at the messages to contacts; trying again");
            false
        });
        let again =
            async { if is_done { std::future::pending().await } else { tokio::time::sleep(PAUSE).await } };
        tokio::select! {
            () = stop.cancelled() => return,
            () = again => {}
            changed = changes.changed() => if changed.is_err() { return },
        }
        if !is_done {
            // The tool server is not asked at each commit.
            let _ = stop.run_until_cancelled(tokio::time::sleep(PAUSE)).await;
        }
    }
}

impl Contacts {
    /// Returns whether all that has ended is noted.
    async fn settle_all(&self) -> Result<bool, StoreError> {
        let ended = self.store.write(contact_messages::ended).await?;
        let mut is_done = true;
        for message in ended {
            match self.note(&message).await {
                Ok(()) => {}
                Err(PutError::Refused(why)) => {
                    let contact = message.contact_id.as_str();
                    tracing::warn!(contact, why, "what became of a message is not in the file of contacts");
                }
                Err(PutError::NotNow(why)) => {
                    tracing::debug!(why, "what became of a message is noted later");
                    is_done = false;
                    continue;
                }
            }
            self.store.write(move |tx| contact_messages::settle(tx, &message.call)).await?;
        }
        Ok(is_done)
    }

    async fn note(&self, message: &Ended) -> Result<(), PutError> {
        let cooldown = SignedDuration::try_from(self.cooldown).unwrap_or_default();
        let until = (!message.is_sent && !self.cooldown.is_zero()).then(|| {
            let until = Timestamp::now().saturating_add(cooldown).unwrap_or(Timestamp::MAX);
            until.round(Unit::Second).unwrap_or(until).to_string()
        });
        self.note_in_file(&message.contact_id, &message.session, until.as_deref()).await
    }
}
