//! The time of a task, which stands still while a person decides about one of its calls.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, timeout};

/// Runs from the moment when it is made.
#[derive(Debug)]
pub(crate) struct WallClock {
    started: Instant,
    /// How long the earlier attempts ran that the task continues.
    before: Duration,
    /// How long a person may hold the worker.
    pub(crate) patience: Option<Duration>,
    pauses: watch::Sender<Pauses>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Pauses {
    /// How many calls wait for a person now.
    waiting: usize,
    /// Since when at least one does.
    since: Option<Instant>,
    /// How long the clock stood still before.
    total: Duration,
}

/// A person decides, until this is dropped.
pub(crate) struct Pause<'a>(&'a WallClock);

impl WallClock {
    pub(crate) fn start() -> Self {
        Self::go_on(Duration::ZERO, None)
    }

    /// Begins with the time that the task has used `before`. A person who decides holds the worker for as
    /// long as `patience`; without it, for as long as it takes.
    pub(crate) fn go_on(before: Duration, patience: Option<Duration>) -> Self {
        Self { started: Instant::now(), before, patience, pauses: watch::Sender::default() }
    }

    /// Lets the clock stand still.
    pub(crate) fn pause(&self) -> Pause<'_> {
        self.pauses.send_modify(|pauses| {
            pauses.waiting += 1;
            pauses.since.get_or_insert_with(Instant::now);
        });
        Pause(self)
    }

    /// Whether it stands still.
    pub(crate) fn is_paused(&self) -> bool {
        self.pauses.borrow().waiting > 0
    }

    /// How long it has run.
    pub(crate) fn elapsed(&self) -> Duration {
        let Pauses { since, total, .. } = *self.pauses.borrow();
        let ongoing = since.map_or(Duration::ZERO, |since| since.elapsed());
        self.before + self.started.elapsed().saturating_sub(total + ongoing)
    }

    /// Resolves once it has run for as long as `limit`.
    pub(crate) async fn reaches(&self, limit: Duration) {
        let mut pauses = self.pauses.subscribe();
        loop {
            let is_paused = pauses.borrow_and_update().waiting > 0;
            if is_paused {
                // The sender lives as long as the clock.
                let _ = pauses.changed().await;
                continue;
            }
            let left = limit.saturating_sub(self.elapsed());
            if left.is_zero() {
                return;
            }
            let _ = timeout(left, pauses.changed()).await;
        }
    }
}

impl Pause<'_> {
    /// Ends the pause; the call itself ran for this part of it.
    pub(crate) fn end(self, ran: Duration) {
        let clock = self.0;
        drop(self);
        clock.pauses.send_modify(|pauses| pauses.total = pauses.total.saturating_sub(ran));
    }
}

impl Drop for Pause<'_> {
    fn drop(&mut self) {
        self.0.pauses.send_modify(|pauses| {
            pauses.waiting -= 1;
            if pauses.waiting == 0 {
                let since = pauses.since.take();
                pauses.total += since.map_or(Duration::ZERO, |since| since.elapsed());
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn it_stands_still_while_anybody_decides() {
        let clock = WallClock::start();
        advance(Duration::from_secs(2)).await;
        let (one, other) = (clock.pause(), clock.pause());
        advance(Duration::from_secs(100)).await;
        drop(one);
        advance(Duration::from_secs(100)).await;
        assert!(clock.is_paused());
        assert_eq!(clock.elapsed(), Duration::from_secs(2));
        other.end(Duration::from_secs(5));
        assert_eq!(clock.elapsed(), Duration::from_secs(7));
        let before = Instant::now();
        clock.reaches(Duration::from_secs(10)).await;
        assert_eq!(before.elapsed(), Duration::from_secs(3));
    }

    #[tokio::test(start_paused = true)]
    async fn a_limit_that_would_pass_during_a_pause_waits_for_its_end() {
        let clock = WallClock::start();
        let pause = clock.pause();
        let limit = clock.reaches(Duration::from_secs(1));
        assert!(timeout(Duration::from_secs(60), limit).await.is_err());
        drop(pause);
        let before = Instant::now();
        clock.reaches(Duration::from_secs(1)).await;
        assert_eq!(before.elapsed(), Duration::from_secs(1));
    }
}
