//! Wakes the dispatcher when somebody asked to cancel a task.
//!
//! The request itself is stored in the task's row. The signal only says that the row is worth reading now: a
//! spurious signal does no harm, and one that nobody is waiting for is kept.

use std::sync::Arc;

use tokio::sync::Notify;

/// Sent after a commit that may have asked to cancel the running task.
#[derive(Debug, Clone, Default)]
pub(crate) struct CancelSignal {
    notify: Arc<Notify>,
}

impl CancelSignal {
    pub(crate) fn notify(&self) {
        self.notify.notify_one();
    }

    /// Resolves once somebody has asked since the last call.
    pub(crate) async fn notified(&self) {
        self.notify.notified().await;
    }
}
