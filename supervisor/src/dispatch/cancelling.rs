//! How the dispatcher hears that the task that runs is to be cancelled.
//!
//! The wish itself lies in the task's row. The bell only says that it is worth looking there now: whoever
//! rings it too often does no harm, and a bell that nobody hears is kept until somebody listens.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

/// A worker that has not ended a cancelled task after this time is ended itself.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// Rung after a commit that may have asked to cancel what runs.
#[derive(Debug, Clone, Default)]
pub struct CancelBell {
    notify: Arc<Notify>,
}

impl CancelBell {
    /// Says that somebody asked.
    pub fn ring(&self) {
        self.notify.notify_one();
    }

    /// Resolves once somebody has asked since the last time.
    pub async fn rung(&self) {
        self.notify.notified().await;
    }
}
