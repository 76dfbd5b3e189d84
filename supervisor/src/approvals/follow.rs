//! Follows all approvals: asks about each that waits, and closes the questions of each that does not. After
//! every break it looks at all of them, so that nothing is missed.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use channel::{Channel, Channels, Chat, Delivery};
use protocol::EventId;
use store::parked::{self, WaitEnd};
use store::{Store, StoreError, approvals, asked, inbox, languages};
use texts::{Language, Text};
use tokio_util::sync::CancellationToken;
use toolkit::approvals::{Approval, ApprovalState};

use super::client::{Approvals, NotPassedOn};
use super::words;
use crate::cancel_signal::CancelSignal;
use crate::event_stream::StreamError;
use process::error_chain;

const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

#[derive(Debug, thiserror::Error)]
enum FollowError {
    #[error("the tool server's approvals could not be read")]
    Server(#[from] reqwest::Error),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Events(#[from] StreamError),
    #[error(transparent)]
    Decision(#[from] NotPassedOn),
}

pub(crate) struct Follower {
    pub(crate) approvals: Approvals,
    pub(crate) asker: Asker,
    /// Notified when a task may have been cancelled.
    pub(crate) cancel_signal: CancelSignal,
    /// When this process began, in milliseconds since the epoch.
    pub(crate) since_ms: i64,
}

impl Follower {
    pub(crate) async fn follow(self, stop: CancellationToken) {
        let mut pause = FIRST_PAUSE;
        loop {
            let mut has_looked = false;
            tokio::select! {
                () = stop.cancelled() => return,
                ended = self.follow_once(&mut has_looked) => match ended {
                    Ok(never) => match never {},
                    Err(FollowError::Server(error) | FollowError::Events(StreamError::Server(error))) => {
                        let error = error_chain(&error.without_url());
                        tracing::debug!(error, "no approvals are heard of");
                    }
                    Err(error) => {
                        tracing::warn!(error = error_chain(&error), "approvals are looked at again");
                    }
                }
            }
            pause = if has_looked { FIRST_PAUSE } else { (pause * 2).min(LONGEST_PAUSE) };
            if stop.run_until_cancelled(tokio::time::sleep(pause)).await.is_none() {
                return;
            }
        }
    }

    async fn follow_once(&self, has_looked: &mut bool) -> Result<std::convert::Infallible, FollowError> {
        // First the stream, then the list: what comes in between is in both.
        let mut events = self.approvals.events().await?;
        self.look_at_all().await?;
        *has_looked = true;
        let mut cancelled = self.cancel_signal.subscribe();
        loop {
            let event = tokio::select! {
                event = events.next() => Some(event?),
                // The decision may have come while the task still had a worker.
                () = self.approvals.changed.notified() => None,
                _ = cancelled.changed() => None,
            };
            let Some(event) = event else {
                self.look_at_all().await?;
                continue;
            };
            match serde_json::from_slice(&event.data) {
                Ok(approval) => self.handle(&approval).await?,
                Err(error) => tracing::error!(%error, "an approval could not be read"),
            }
        }
    }

    async fn look_at_all(&self) -> Result<(), FollowError> {
        self.approvals.pass_on_the_rest(&self.asker.store, self.since_ms).await?;
        let pending = self.approvals.list("?state=pending").await?;
        for approval in &pending {
            self.asker.ask(approval).await?;
        }
        for id in self.asker.open().await? {
            if pending.iter().any(|approval| approval.id == id) {
                continue;
            }
            match self.approvals.one(&id).await? {
                Some(approval) => self.handle(&approval).await?,
                None => self.asker.forget(id).await?,
            }
        }
        Ok(())
    }

    async fn handle(&self, approval: &Approval) -> Result<(), StoreError> {
        match approval.state {
            ApprovalState::Pending => self.asker.ask(approval).await,
            ApprovalState::Granted | ApprovalState::Denied | ApprovalState::Expired | ApprovalState::Used => {
                self.asker.close(approval).await
            }
        }
    }
}

/// Asks people about approvals, and says what became of them.
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
        if self.store.write(move |tx| approvals::was_asked(tx, &id)).await? {
            return Ok(());
        }
        let chats = self.chats_for(approval).await;
        if chats.is_empty() {
            tracing::warn!(approval_id = %approval.id, "nobody can be asked: see `supervisor approvals`");
        }
        let (approval, run) = (approval.clone(), self.run.clone());
        let ask = move |tx: &store::sql::Connection| {
            chats.iter().try_for_each(|chat| {
                let contents = words::question(&approval, &chat.session(), languages::of(tx, chat)?);
                approvals::ask(tx, &approval.id, chat, contents, &run)
            })?;
            let Some(question) = &approval.question else { return Ok(()) };
            let origin = approval.task_id.as_ref().map(|task| inbox::origin(tx, task)).transpose()?.flatten();
            let asker = origin.and_then(|origin| origin.from).map(|from| from.id);
            asked::note(tx, &approval.id, question, asker.as_ref())
        };
        self.store.write_until_done(ask).await
    }

    /// The chat that the task came from, if an approver is in it; else each approver's own. A question is for
    /// the people of the chat, whether an approver is in it or not.
    async fn chats_for(&self, approval: &Approval) -> Vec<Chat> {
        let session = approval.session.as_str();
        let (channel, chat) = session.split_once(':').unwrap_or((session, ""));
        let asks = |channel: &&Arc<dyn Channel>| channel.delivery() == Delivery::Push;
        let own = self.channels.iter().filter(asks).find(|known| known.name().as_str() == channel);
        let is_question = approval.question.is_some();
        if let Some(own) = own
            && (is_question && own.access().allows(chat) || has_approver(own.as_ref(), chat).await)
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
        let is_expired = approval.state == ApprovalState::Expired;
        // The call of a question that nobody answered runs, and says so.
        let is_refused = is_expired && approval.question.is_none();
        let end = if is_refused { WaitEnd::Expired } else { WaitEnd::Decided };
        let (id, approval) = (approval.id.clone(), approval.clone());
        self.end(id, move |language| words::outcome(&approval, language), end).await
    }

    async fn end(
        &self,
        id: EventId,
        text: impl Fn(Language) -> String + Clone + Send + 'static,
        end: WaitEnd,
    ) -> Result<(), StoreError> {
        let run = self.run.clone();
        let close = move |tx: &store::sql::Connection| {
            approvals::close(tx, &id, &text, &run)?;
            parked::settle(tx, &id, end)
        };
        self.store.write_until_done(close).await
    }

    /// The approvals with open questions, and those that tasks wait for.
    pub(crate) async fn open(&self) -> Result<BTreeSet<EventId>, StoreError> {
        let open = |tx: &store::sql::Connection| {
            let mut open: BTreeSet<EventId> = parked::awaited(tx)?.into_iter().collect();
            open.extend(approvals::open(tx)?.into_iter().map(|question| question.approval));
            Ok(open)
        };
        self.store.write(open).await
    }

    /// Tells those who were asked that the approval is not known any more.
    pub(crate) async fn forget(&self, id: EventId) -> Result<(), StoreError> {
        self.end(id, |language| Text::PressNotWaitedFor.to(language), WaitEnd::Decided).await
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
