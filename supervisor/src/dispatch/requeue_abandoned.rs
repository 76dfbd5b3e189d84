//! Puts tasks back into the queue whose worker, or the supervisor, exited while they ran.

use std::time::Duration;

use protocol::Outcome;

use super::{Dispatcher, decide, jitter};
use crate::store::attempt::{self, Ending};
use crate::store::claim::{self, Claimed};

impl Dispatcher {
    /// Requeues the tasks that no worker is running, as failed attempts.
    pub(crate) async fn requeue_abandoned(&self, why: &str) {
        let (settings, why, jitter) = (self.settings, why.to_owned(), jitter());
        self.end_all(move |task| {
            let outcome = Outcome::Failed { error: why.clone(), retryable: true, retry_after_ms: None };
            decide::ending(outcome, task.tries, &settings, jitter)
        })
        .await;
    }

    /// Requeues the task that a shutdown interrupted: this is not a failure of the task, so it always runs
    /// again.
    pub(crate) async fn requeue_at_shutdown(&self) {
        let error = "The supervisor was stopped during the task.";
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
            tracing::error!(%error, "could not requeue the tasks in progress");
        }
    }
}
