//! What a slot remembers between two messages of its worker.

use protocol::Addition;
use store::claim::Claimed;
use store::conversation::PriorContext;
use tokio::sync::OwnedMutexGuard;
use tokio::time::Instant;
use tokio_util::task::task_tracker::TaskTrackerToken;

use crate::words::Saying;

#[derive(Default)]
pub(super) struct DispatchState {
    /// Whether the worker accepts tasks.
    pub(super) ready: bool,
    pub(super) running: Option<Running>,
    /// Held while this slot is the one that looks for work.
    pub(super) turn: Option<OwnedMutexGuard<()>>,
    /// When to look for work again.
    pub(super) due: Option<Instant>,
}

impl DispatchState {
    pub(super) fn is_idle(&self) -> bool {
        self.ready && self.running.is_none()
    }
}

pub(super) enum Work {
    /// Give this task to the worker, with what happened before it.
    Task(Box<Claimed>, Box<PriorContext>),
    /// Nothing is due before this time, in milliseconds since the epoch; `None`: nothing is queued.
    Nothing { until_ms: Option<i64> },
}

pub(super) struct Running {
    pub(super) task: Claimed,
    /// When its lease was last renewed.
    pub(super) renewed: Instant,
    /// Whether the attempt is another node's by now: what it still does is in vain.
    pub(super) is_lost: bool,
    /// Once the worker got a cancel line: when we end the worker itself.
    pub(super) stop_by: Option<Instant>,
    /// When we end the worker if it has recorded no event by then.
    pub(super) progress_by: Instant,
    /// Where its words are said; it goes before the attempt's end is stored.
    pub(super) saying: Saying,
    /// What was said meanwhile, as the worker was told.
    pub(super) offered: Vec<Addition>,
    /// When something may have been said that is complete by then.
    pub(super) offer_at: Option<Instant>,
    /// An orderly stop waits for it.
    pub(super) unfinished: TaskTrackerToken,
}

/// Decides when a worker's silence is long enough to end it.
pub(super) struct Patience {
    silent_since: Instant,
    /// Until when a silent worker can still be heard.
    second_chance: Option<Instant>,
}

impl Patience {
    pub(super) fn new() -> Self {
        Self { silent_since: Instant::now(), second_chance: None }
    }

    pub(super) fn ends_at(&self) -> Instant {
        self.second_chance.unwrap_or(self.silent_since + super::SILENCE - super::SECOND_CHANCE)
    }

    pub(super) fn heard(&mut self) {
        *self = Self::new();
    }

    /// Its time is over. A suspended process reads nothing either, so the first time it gets some more.
    /// Returns whether that is over, too.
    pub(super) fn is_over(&mut self) -> bool {
        self.second_chance.replace(Instant::now() + super::SECOND_CHANCE).is_some()
    }
}
