//! Passes on decisions that were made here to the keeper of the approval.
//!
//! A decision is stored first. The one who took it passes it on at once; one that they give up, and one that
//! a process that was killed had in hand, the follower passes on as soon as the keeper answers.

use std::time::Duration;

use protocol::now_ms;
use store::decisions::{self, Decision};
use store::{Store, StoreError};
use tokio::time::timeout;

use super::client::{Approvals, Outcome};

/// Within this, the process that took a decision passes it on or gives it up.
const BY_WHOM_IT_WAS_TAKEN: Duration = Duration::from_secs(5);

/// A decision could not be passed on now.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotPassedOn {
    #[error("a decision could not be passed on")]
    Unreachable,
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Passes on a decision that has just been stored. If its keeper does not answer, the follower does it later.
pub(crate) async fn just_taken(approvals: &Approvals, store: &Store, decision: Decision) -> Outcome {
    let decided = timeout(BY_WHOM_IT_WAS_TAKEN, approvals.decide(&decision)).await;
    let outcome = decided.unwrap_or(Outcome::Unreachable);
    let approval = decision.approval;
    let noted = if outcome == Outcome::Unreachable {
        let given_up = store.write_until_done(move |tx| decisions::give_up(tx, &approval)).await;
        approvals.changed.notify_one();
        given_up
    } else {
        // If this fails, it is passed on once more, and is too late.
        store.write_until_done(move |tx| decisions::remove(tx, &approval)).await
    };
    if let Err(error) = noted {
        tracing::error!(%error, "could not note what became of a decision");
    }
    outcome
}

/// Passes on all that no other process has in hand, in a process that began at this time.
pub(crate) async fn the_rest(
    approvals: &Approvals,
    store: &Store,
    began_at_ms: i64,
) -> Result<(), NotPassedOn> {
    let by_others = i64::try_from(BY_WHOM_IT_WAS_TAKEN.as_millis()).unwrap_or(i64::MAX);
    let until = (now_ms() - by_others).max(began_at_ms);
    for decision in store.write(move |tx| decisions::until(tx, until)).await? {
        match approvals.decide(&decision).await {
            Outcome::Unreachable => return Err(NotPassedOn::Unreachable),
            Outcome::Taken(_) | Outcome::Before(_) | Outcome::Unknown => {}
            Outcome::Failed(why) => tracing::error!(why, "a decision was refused"),
        }
        store.write_until_done(move |tx| decisions::remove(tx, &decision.approval)).await?;
    }
    Ok(())
}
