//! Puts tasks back into the queue whose worker, or the supervisor, exited while they ran.

use std::time::Duration;

use protocol::Outcome;
use store::StoreError;
use store::attempt::{self, Ending};
use store::claim::{self, Claimed};
use store::sql::Connection;
use texts::{Language, Text};

use super::decide::Try;
use super::{Dispatcher, decide, jitter};

impl Dispatcher {
    /// Requeues a task whose worker exited, as a failed attempt.
    pub(super) async fn requeue(&self, task: Claimed, why: Text<'_>) {
        let ending = decide::ending(failed(why, task.language), counted(&task), &self.settings, jitter());
        self.end_all(move |_| Ok(vec![(task.clone(), ending.clone())])).await;
    }

    /// Requeues the tasks that ran when the supervisor exited.
    pub(crate) async fn requeue_abandoned(&self) {
        self.requeue_all(claim::in_progress, Text::SupervisorRestarted).await;
    }

    /// Requeues the tasks that ran on nodes that are gone.
    pub(crate) async fn requeue_left_behind(&self) {
        self.requeue_all(claim::left_behind, Text::NodeGone).await;
    }

    /// Requeues tasks as failed attempts.
    async fn requeue_all(
        &self,
        tasks: fn(&Connection) -> Result<Vec<Claimed>, StoreError>,
        why: Text<'static>,
    ) {
        let (settings, jitter) = (self.settings, jitter());
        self.end_all(move |tx| {
            let ended = |task: Claimed| {
                let outcome = failed(why, task.language);
                let ending = decide::ending(outcome, counted(&task), &settings, jitter);
                (task, ending)
            };
            Ok(tasks(tx)?.into_iter().map(ended).collect())
        })
        .await;
    }

    /// Requeues the tasks that a shutdown interrupted: this is not a failure of theirs, so they always run
    /// again.
    pub(crate) async fn requeue_at_shutdown(&self) {
        self.end_all(|tx| {
            let error = "The supervisor was stopped during the task.".to_owned();
            let ending = Ending::Retry { error, after: Duration::ZERO };
            Ok(claim::in_progress(tx)?.into_iter().map(|task| (task, ending.clone())).collect())
        })
        .await;
    }

    async fn end_all(
        &self,
        endings: impl Fn(&Connection) -> Result<Vec<(Claimed, Ending)>, StoreError> + Clone + Send + 'static,
    ) {
        self.journal.drain().await;
        let channels = self.channels.clone();
        let ended = self.store.write_until_done(move |tx| {
            let end = |(task, ending)| attempt::end(tx, &channels, &task, &ending).map(|_| ());
            endings(tx)?.into_iter().try_for_each(end)
        });
        if let Err(error) = ended.await {
            tracing::error!(%error, "could not requeue the tasks in progress");
        }
    }
}

fn failed(why: Text<'_>, language: Language) -> Outcome {
    let (error, told) = (why.to(Language::English), Some(why.to(language)));
    Outcome::Failed { error, told, retryable: true, retry_after_ms: None }
}

/// A try whose task may be why its worker ended.
fn counted(task: &Claimed) -> Try {
    Try { number: task.tries, failing_for: None, language: task.language }
}
