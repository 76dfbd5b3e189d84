//! What the dispatcher has before it, between two lines of its worker.

use tokio::time::Instant;

use super::briefing::Past;
use crate::store::claim::Claimed;

/// What is on the desk between two lines.
#[derive(Default)]
pub(super) struct Desk {
    /// Whether the worker takes tasks.
    pub(super) ready: bool,
    /// The task that it works on.
    pub(super) running: Option<Running>,
    /// When there may be something to do again.
    pub(super) due: Option<Instant>,
}

/// What there is to do, with all that has to be known for it.
pub(super) enum Work {
    /// This, now.
    Task(Box<Claimed>, Past),
    /// Nothing before this time, in milliseconds since the epoch; none: nothing at all.
    Nothing { until_ms: Option<i64> },
}

/// A task that the worker works on.
pub(super) struct Running {
    pub(super) task: Claimed,
    /// When its lease was renewed.
    pub(super) renewed: Instant,
    /// When the patience with it ends; none unless the worker was told to stop.
    pub(super) stop_by: Option<Instant>,
}
