//! Who is asked about an approval, and what they read afterwards.

use std::collections::BTreeSet;
use std::sync::Arc;

use channel::{Channel, Channels, Chat, Delivery};
use protocol::EventId;
use store::parked::{self, WaitEnd};
use store::questions;
use store::{Store, StoreError};
use toolkit::approvals::{Approval, ApprovalState};

use super::words;

#[derive(Clone)]
pub(crate) struct Asker {
    pub(crate) store: Store,
    pub(crate) channels: Channels,
    /// This run's `process.started`.
    pub(crate) run: EventId,
}

impl Asker {
    /// Asks about an approval, once.
    pub(crate) async fn ask(&self, approval: &Approval) -> Result<(), StoreError> {
        let id = approval.id.clone();
        if self.store.write(move |tx| questions::was_asked(tx, &id)).await? {
            return Ok(());
        }
        let chats = self.chats_for(approval).await;
        if chats.is_empty() {
            tracing::warn!(approval_id = %approval.id, "nobody can be asked: see `supervisor approvals`");
        }
        let (id, contents, run) = (approval.id.clone(), words::question(approval), self.run.clone());
        let ask = move |tx: &rusqlite::Transaction<'_>| {
            chats.iter().try_for_each(|chat| questions::ask(tx, &id, chat, contents.clone(), &run))
        };
        self.store.write_until_done(ask).await
    }

    /// The chat that the task came from, if an approver is in it; else each approver's own.
    async fn chats_for(&self, approval: &Approval) -> Vec<Chat> {
        let session = approval.session.as_str();
        let (channel, chat) = session.split_once(':').unwrap_or((session, ""));
        let asks = |channel: &&Arc<dyn Channel>| channel.delivery() == Delivery::Push;
        let own = self.channels.iter().filter(asks).find(|known| known.name().as_str() == channel);
        if let Some(own) = own
            && has_approver(own.as_ref(), chat).await
        {
            return vec![Chat::new(own.name(), chat)];
        }
        let all = self.channels.iter().filter(asks);
        let approvers = |channel: &Arc<dyn Channel>| {
            let name = channel.name();
            channel.access().approvers().into_iter().map(move |person| Chat::new(name.clone(), person))
        };
        all.flat_map(approvers).collect()
    }

    /// Tells all who were asked what became of it, takes their buttons away, and lets the task that waits for
    /// it go on.
    pub(crate) async fn close(&self, approval: &Approval) -> Result<(), StoreError> {
        let end = if approval.state == ApprovalState::Expired { WaitEnd::Expired } else { WaitEnd::Decided };
        self.end(approval.id.clone(), words::outcome(approval), end).await
    }

    async fn end(&self, id: EventId, text: String, end: WaitEnd) -> Result<(), StoreError> {
        let run = self.run.clone();
        let close = move |tx: &rusqlite::Transaction<'_>| {
            questions::close(tx, &id, &text, &run)?;
            parked::settle(tx, &id, end)
        };
        self.store.write_until_done(close).await
    }

    /// The approvals with open questions, and those that tasks wait for.
    pub(crate) async fn open(&self) -> Result<BTreeSet<EventId>, StoreError> {
        let open = |tx: &rusqlite::Transaction<'_>| {
            let mut open: BTreeSet<EventId> = parked::awaited(tx)?.into_iter().collect();
            open.extend(questions::open(tx)?.into_iter().map(|question| question.approval));
            Ok(open)
        };
        self.store.write(open).await
    }

    /// Tells those who were asked that the approval is not known any more.
    pub(crate) async fn forget(&self, id: EventId) -> Result<(), StoreError> {
        self.end(id, "This is not waited for any more.".to_owned(), WaitEnd::Decided).await
    }
}

/// Whether somebody who may decide is in a chat.
async fn has_approver(channel: &dyn Channel, chat: &str) -> bool {
    let access = channel.access();
    if !access.is_group(chat) || !access.allows(chat) {
        return access.may_approve(chat);
    }
    for person in access.approvers() {
        if channel.is_member(chat, &person).await {
            return true;
        }
    }
    false
}
