//! What was in progress when its worker, or the supervisor, ended goes back to the queue.

use std::time::Duration;

use protocol::Outcome;

use super::{Dispatcher, decide};
use crate::random;
use crate::store::attempt::{self, Ending};
use crate::store::claim::{self, Claimed};

impl Dispatcher {
    /// Gives back what nobody works on any more, as a failed attempt.
    pub async fn requeue_abandoned(&self, why: &str) {
        let (settings, why, jitter) = (self.settings, why.to_owned(), random::unit());
        self.end_all(move |task| {
            let outcome = Outcome::Failed { error: why.clone(), retryable: true, retry_after_ms: None };
            decide::ending(outcome, task.tries, &settings, jitter)
        })
        .await;
    }

    /// Gives back what an orderly stop cut short: whatever attempt it was, that was no failure of the task.
    pub async fn requeue_at_shutdown(&self) {
        let error = "The supervisor was stopped in the middle of the task.";
        self.end_all(|_| Ending::Retry { error: error.to_owned(), after: Duration::ZERO }).await;
    }

    async fn end_all(&self, ending: impl Fn(&Claimed) -> Ending + Clone + Send + 'static) {
        self.journal.drain().await;
        let channels = self.channels.clone();
        let ended = self.store.write_until_done(move |tx| {
            let tasks = claim::in_progress(tx)?;
            tasks.iter().try_for_each(|task| attempt::end(tx, &channels, task, &ending(task)).map(|_| ()))
        });
        if let Err(error) = ended.await {
            tracing::error!(%error, "tasks in progress could not be given back to the queue");
        }
    }
}
