//! The handle of the follower, with which others wait for what the journal has.

use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

/// How long a reader waits for records of a tool server on another machine. They come later otherwise.
const COPY_PATIENCE: Duration = Duration::from_secs(5);
const COPY_PAUSE: Duration = Duration::from_millis(100);

/// Answered once all is copied that the journal on another machine has.
pub(crate) type CopyRequest = oneshot::Sender<()>;

#[derive(Debug, Clone)]
pub struct Journal {
    requests: mpsc::Sender<Request>,
    /// What copies the journal, if it is on another machine.
    copy: Option<mpsc::Sender<CopyRequest>>,
}

#[derive(Debug)]
pub(super) enum Request {
    /// Answered once everything is stored as events that is in the journal by now.
    Drain(oneshot::Sender<()>),
    /// Answered once nothing is read, until the other end is dropped.
    Hold(oneshot::Sender<()>, oneshot::Receiver<()>),
}

/// Keeps the follower from reading while its files are replaced.
pub(crate) struct Hold(#[expect(dead_code, reason = "dropped at the end")] oneshot::Sender<()>);

impl Journal {
    /// The handle of a follower that takes these requests.
    pub(super) fn new(requests: mpsc::Sender<Request>) -> Self {
        Self { requests, copy: None }
    }

    /// Resolves once everything that is in the journal by now is stored as events.
    pub async fn drain(&self) {
        if let Some(copy) = &self.copy
            && timeout(COPY_PATIENCE, until_copied(copy)).await.is_err()
        {
            tracing::warn!("the journal elsewhere could not be read; its records become events later");
        }
        self.drain_copy().await;
    }

    /// The same for a journal on another machine, of which this is the copy.
    pub(crate) fn of_copy(self, copy: mpsc::Sender<CopyRequest>) -> Self {
        Self { copy: Some(copy), ..self }
    }

    /// Waits until nothing is read of the files, which may be replaced then.
    pub(crate) async fn hold(&self) -> Hold {
        let ((begin, begun), (hold, over)) = (oneshot::channel(), oneshot::channel());
        if self.requests.send(Request::Hold(begin, over)).await.is_ok() {
            let _ = begun.await;
        }
        Hold(hold)
    }

    /// Resolves once everything that is in the files of this machine is stored as events.
    pub(crate) async fn drain_copy(&self) {
        let (done, drained) = oneshot::channel();
        if self.requests.send(Request::Drain(done)).await.is_ok() {
            let _ = drained.await;
        }
    }
}

async fn until_copied(copy: &mpsc::Sender<CopyRequest>) {
    loop {
        let (done, copied) = oneshot::channel();
        if copy.send(done).await.is_err() || copied.await.is_ok() {
            return;
        }
        tokio::time::sleep(COPY_PAUSE).await;
    }
}
