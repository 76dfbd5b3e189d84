//! What the dispatcher remembers between two messages of its worker.

use tokio::time::Instant;

use super::task_template::PriorContext;
use crate::store::claim::Claimed;

#[derive(Default)]
pub(super) struct DispatchState {
    /// Whether the worker accepts tasks.
    pub(super) ready: bool,
    pub(super) running: Option<Running>,
    /// When to look for work again.
    pub(super) due: Option<Instant>,
}

pub(super) enum Work {
    /// Give this task to the worker, with what happened before it.
    Task(Box<Claimed>, PriorContext),
    /// Nothing is due before this time, in milliseconds since the epoch; `None`: nothing is queued.
    Nothing { until_ms: Option<i64> },
}

pub(super) struct Running {
    pub(super) task: Claimed,
    /// When its lease was last renewed.
    pub(super) renewed: Instant,
    /// Once the worker was told to cancel: when we end the worker itself.
    pub(super) stop_by: Option<Instant>,
}
