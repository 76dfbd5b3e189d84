//! A circuit breaker: what keeps failing is left alone for a while, then one probe decides.
//!
//! Pure: the caller brings the clock, keeps one breaker for each thing that can fail, and decides which
//! outcomes are failures at all.

use std::time::{Duration, Instant};

/// The breaker of one thing that can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Breaker {
    failures_to_open: u32,
    open_for: Duration,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Closed { failures: u32 },
    Open { until: Instant },
    // One probe is under way; if it has no result by then, the next one may go.
    HalfOpen { until: Instant },
}

/// What the end of something that was admitted says about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It works.
    Succeeded,
    /// It failed by itself.
    Failed,
    /// The end says nothing about it, for instance because the caller made a mistake or went away.
    Inconclusive,
}

/// A change of state that is worth recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transition {
    /// Everything is refused until the pause is over.
    Opened,
    /// One probe goes.
    HalfOpened,
    /// Everything is admitted again.
    Closed,
}

impl Breaker {
    /// A closed breaker that opens for `open_for` after `failures_to_open` failures in a row.
    pub const fn new(failures_to_open: u32, open_for: Duration) -> Self {
        Self { failures_to_open, open_for, state: State::Closed { failures: 0 } }
    }

    /// How long it refuses from now on; `None` when the next one may go.
    pub fn wait(&self, now: Instant) -> Option<Duration> {
        match self.state {
            State::Closed { .. } => None,
            State::Open { until } | State::HalfOpen { until } => {
                until.checked_duration_since(now).filter(|wait| !wait.is_zero())
            }
        }
    }

    /// Admits one, as the probe if the pause is over, or says how long to wait.
    pub fn admit(&mut self, now: Instant) -> Result<Option<Transition>, Duration> {
        match (self.wait(now), self.state) {
            (Some(wait), _) => Err(wait),
            (None, State::Closed { .. }) => Ok(None),
            (None, State::Open { .. } | State::HalfOpen { .. }) => {
                self.state = State::HalfOpen { until: now + self.open_for };
                Ok(Some(Transition::HalfOpened))
            }
        }
    }

    /// Takes note of how something that was admitted ended.
    pub fn settle(&mut self, verdict: Verdict, now: Instant) -> Option<Transition> {
        let (state, transition) = match (verdict, self.state) {
            (Verdict::Succeeded, State::Closed { .. }) => (State::Closed { failures: 0 }, None),
            (Verdict::Succeeded, _) => (State::Closed { failures: 0 }, Some(Transition::Closed)),
            (Verdict::Failed, State::Closed { failures }) if failures + 1 < self.failures_to_open => {
                (State::Closed { failures: failures + 1 }, None)
            }
            (Verdict::Failed, State::Closed { .. } | State::HalfOpen { .. }) => {
                (State::Open { until: now + self.open_for }, Some(Transition::Opened))
            }
            (Verdict::Inconclusive, State::HalfOpen { .. }) => (State::Open { until: now }, None),
            (Verdict::Failed, open @ State::Open { .. }) => (open, None),
            (Verdict::Inconclusive, same @ (State::Closed { .. } | State::Open { .. })) => (same, None),
        };
        self.state = state;
        transition
    }

    /// Whether a probe is under way.
    pub const fn is_half_open(&self) -> bool {
        matches!(self.state, State::HalfOpen { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Verdict::{Failed, Inconclusive, Succeeded};

    const OPEN_FOR: Duration = Duration::from_secs(30);

    fn opened(now: Instant) -> Breaker {
        let mut breaker = Breaker::new(3, OPEN_FOR);
        for expected in [None, None, Some(Transition::Opened)] {
            assert_eq!(breaker.admit(now), Ok(None));
            assert_eq!(breaker.settle(Failed, now), expected);
        }
        breaker
    }

    #[test]
    fn failures_in_a_row_open_it_and_one_probe_decides() {
        let start = Instant::now();
        let over = start + OPEN_FOR;
        for (outcome, transition, admitted) in [
            (Succeeded, Some(Transition::Closed), Ok(None)),
            (Failed, Some(Transition::Opened), Err(OPEN_FOR)),
            (Inconclusive, None, Ok(Some(Transition::HalfOpened))),
        ] {
            let mut breaker = opened(start);
            assert_eq!(breaker.admit(start + OPEN_FOR / 3), Err(OPEN_FOR / 3 * 2));
            assert_eq!(breaker.admit(over), Ok(Some(Transition::HalfOpened)));
            assert!(breaker.admit(over).is_err(), "one probe at a time");
            assert_eq!(breaker.settle(outcome, over), transition, "{outcome:?}");
            assert_eq!(breaker.admit(over), admitted, "{outcome:?}");
        }
    }

    #[test]
    fn only_failures_count_and_a_success_starts_over() {
        let now = Instant::now();
        let mut breaker = Breaker::new(3, OPEN_FOR);
        for outcome in [Failed, Inconclusive, Failed, Succeeded].repeat(9) {
            assert_eq!(breaker.settle(outcome, now), None);
            assert!(matches!(breaker.state, State::Closed { .. }));
        }
    }

    #[test]
    fn a_probe_that_nobody_settles_makes_way_for_the_next() {
        let start = Instant::now();
        let mut breaker = opened(start);
        assert!(breaker.admit(start + OPEN_FOR).is_ok() && breaker.is_half_open());
        assert_eq!(breaker.admit(start + OPEN_FOR * 2), Ok(Some(Transition::HalfOpened)));
    }

    #[test]
    fn what_was_admitted_before_it_opened_can_close_it_but_not_open_it_for_longer() {
        let start = Instant::now();
        let later = start + OPEN_FOR / 3;
        let mut breaker = opened(start);
        assert_eq!((breaker.settle(Failed, later), breaker.wait(later)), (None, Some(OPEN_FOR / 3 * 2)));
        assert_eq!((breaker.settle(Succeeded, later), breaker.wait(later)), (Some(Transition::Closed), None));
    }
}
