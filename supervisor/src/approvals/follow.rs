//! Follows all approvals: asks about each that waits, and closes the questions of each that
//! does not. After every break it looks at all of them, so that nothing is missed.

use std::time::Duration;

use store::StoreError;
use tokio_util::sync::CancellationToken;
use toolkit::approvals::{Approval, ApprovalState};

use super::ask::Asker;
use super::client::Approvals;
use super::events::EventsError;
use super::pass_on::{self, NotPassedOn};
use crate::cancel_signal::CancelSignal;
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
    Events(#[from] EventsError),
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
                    Err(FollowError::Server(error) | FollowError::Events(EventsError::Server(error))) => {
                        let error = error_chain(&error.without_url());
                        tracing::debug!(error, "no approvals are heard of");
                    }
                    Err(error) => {
                        tracing::warn!(error = error_chain(&error), "approvals are looked at again");
                    }
                }
            }
            pause = if has_looked { FIRST_PAUSE } else { (pause * 2).min(LONGEST_PAUSE) };
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(pause) => {}
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
                event = events.next() => event?,
                // The decision may have come while the task still had a worker.
                () = self.approvals.changed.notified() => {
                    self.look_at_all().await?;
                    continue;
                }
                _ = cancelled.changed() => {
                    self.look_at_all().await?;
                    continue;
                }
            };
            if let Some(approval) = data_of(&event) {
                self.handle(&approval).await?;
            }
        }
    }

    async fn look_at_all(&self) -> Result<(), FollowError> {
        pass_on::the_rest(&self.approvals, &self.asker.store, self.since_ms).await?;
        let pending = self.approvals.pending().await?;
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

/// The approval that an event is about; comments have none.
fn data_of(event: &[u8]) -> Option<Approval> {
    let text = std::str::from_utf8(event).ok()?;
    let data: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("data:")).map(str::trim).collect();
    if data.is_empty() {
        return None;
    }
    serde_json::from_str(&data.join("\n"))
        .map_err(|error| tracing::error!(%error, "an approval could not be read"))
        .ok()
}
