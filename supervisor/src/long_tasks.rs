//! The tasks that run as long as the supervisor. None of them ends unseen: if one returns or panics before
//! the run is to end, health names it and the run ends with an error, so that everything starts again.

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::health::{Board, PartName, Reading};

/// What all of them share; clones are handles to the same tasks.
#[derive(Debug, Clone)]
pub(crate) struct LongTasks {
    /// Ends them.
    stop: CancellationToken,
    tracker: TaskTracker,
    board: Board,
    /// The first one that ended too early.
    lost: watch::Sender<Option<String>>,
}

impl LongTasks {
    /// Tasks that run until `stop`.
    pub(crate) fn until(stop: CancellationToken, board: Board) -> Self {
        board.set(PartName::Supervisor, Reading::ok("all of its tasks run"));
        Self { stop, tracker: TaskTracker::new(), board, lost: watch::Sender::new(None) }
    }

    /// Starts a task that runs until the end of the run.
    pub(crate) fn spawn(&self, name: impl Into<String>, task: impl Future<Output = ()> + Send + 'static) {
        self.tracker.spawn(self.watched(name, self.stop.clone(), task));
    }

    /// Starts a task that may end before.
    pub(crate) fn spawn_short(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.tracker.spawn(task);
    }

    /// The same as [`LongTasks::spawn`], for a task that is waited for elsewhere and runs until `stop`.
    pub(crate) fn watched(
        &self,
        name: impl Into<String>,
        stop: CancellationToken,
        task: impl Future<Output = ()> + Send + 'static,
    ) -> impl Future<Output = ()> + Send + 'static {
        let end = End { name: name.into(), stop, tasks: self.clone() };
        async move {
            let _end = end;
            task.await;
        }
    }

    /// Resolves with the name of a task that ended too early.
    pub(crate) async fn lost(&self) -> String {
        let mut lost = self.lost.subscribe();
        match lost.wait_for(Option::is_some).await {
            Ok(name) => name.clone().unwrap_or_default(),
            Err(_) => std::future::pending().await,
        }
    }

    /// Waits until all have ended, once `stop` is cancelled.
    pub(crate) async fn finish(&self) {
        self.tracker.close();
        self.tracker.wait().await;
    }
}

/// Dropped when its task ends, also by a panic.
struct End {
    name: String,
    stop: CancellationToken,
    tasks: LongTasks,
}

impl Drop for End {
    fn drop(&mut self) {
        if self.stop.is_cancelled() {
            return;
        }
        let detail = format!("its task `{}` has ended, so it ends as well", self.name);
        let remedy = "Start it again, if nothing does so by itself. Its log says why the task ended.";
        self.tasks.board.set(PartName::Supervisor, Reading::failed(detail, remedy));
        self.tasks.lost.send_if_modified(|lost| {
            let is_first = lost.is_none();
            lost.get_or_insert_with(|| self.name.clone());
            is_first
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::health::PartState;

    async fn check(task: impl Future<Output = ()> + Send + 'static) {
        let (stop, board) = (CancellationToken::new(), Board::default());
        let tasks = LongTasks::until(stop.clone(), board.clone());
        tasks.spawn("other", stop.clone().cancelled_owned());
        assert_eq!(board.part(PartName::Supervisor).unwrap().state, PartState::Ok);
        tasks.spawn("one", task);
        assert_eq!(tasks.lost().await, "one");
        let part = board.part(PartName::Supervisor).unwrap();
        assert!(part.state == PartState::Failed && part.detail.contains("`one`"), "{part:?}");
        assert!(!board.report().ready);
        stop.cancel();
        tasks.finish().await;
        assert_eq!(tasks.lost().await, "one", "the other ended in time");
    }

    #[tokio::test]
    async fn a_task_that_returns_or_panics_ends_the_run_and_is_named() {
        check(async {}).await;
        check(async { panic!("a mistake") }).await;
        check(async { tokio::task::yield_now().await }).await;
    }

    #[tokio::test]
    async fn a_task_that_is_dropped_with_its_handle_is_named_as_well() {
        let tasks = LongTasks::until(CancellationToken::new(), Board::default());
        let aborted = tokio::spawn(tasks.watched("one", CancellationToken::new(), std::future::pending()));
        aborted.abort();
        assert_eq!(tasks.lost().await, "one");
    }
}
