//! The circuit breaker: a provider that keeps failing is left alone for a while, across tasks.
//!
//! One circuit for each class of failure that can pass by itself. Five failures in a row open it for half
//! a minute, in which nobody is asked; then one request tries, and decides. What a request brings upon
//! itself, such as a wrong key, never counts. The state machine is pure: whoever holds it brings the clock.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::model::ModelErrorClass;

/// How many failures of a class in a row open its circuit.
pub const FAILURES_TO_OPEN: u32 = 5;

/// How long a circuit stays open before one request may try.
pub const OPEN_FOR: Duration = Duration::from_secs(30);

/// The circuits of one provider.
#[derive(Debug, Default)]
pub struct Breaker {
    circuits: [Circuit; ModelErrorClass::ALL.len()],
}

/// The circuit of one class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Circuit {
    Closed {
        failures: u32,
    },
    Open {
        until: Instant,
    },
    /// One request is trying.
    HalfOpen,
}

/// What happened to a circuit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Nobody is asked for [`OPEN_FOR`].
    Opened(ModelErrorClass),
    /// One request tries.
    HalfOpened(ModelErrorClass),
    /// The provider works again.
    Closed(ModelErrorClass),
}

/// Why nobody is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Paused {
    /// What failed so often.
    pub class: ModelErrorClass,
    /// For how long from now.
    pub wait: Duration,
}

impl Default for Circuit {
    fn default() -> Self {
        Self::Closed { failures: 0 }
    }
}

impl Breaker {
    /// Whether nobody is asked now, and for how long.
    pub fn paused(&self, now: Instant) -> Option<Paused> {
        let circuits = ModelErrorClass::ALL.into_iter().zip(self.circuits);
        let paused = circuits.filter_map(|(class, circuit)| match circuit {
            Circuit::Closed { .. } => None,
            Circuit::Open { until } => {
                let wait = until.checked_duration_since(now).filter(|wait| !wait.is_zero());
                wait.map(|wait| Paused { class, wait })
            }
            Circuit::HalfOpen => Some(Paused { class, wait: OPEN_FOR }),
        });
        paused.max_by_key(|paused| paused.wait)
    }

    /// Lets a request through, or says how long to wait. A circuit whose time is over becomes half open.
    pub fn admit(&mut self, now: Instant) -> Result<Vec<Change>, Paused> {
        if let Some(paused) = self.paused(now) {
            return Err(paused);
        }
        let open = self.each().filter(|(_, circuit)| matches!(circuit, Circuit::Open { .. }));
        let half_opened = open.map(|(class, circuit)| {
            *circuit = Circuit::HalfOpen;
            Change::HalfOpened(class)
        });
        Ok(half_opened.collect())
    }

    /// Takes note of how a request that was let through ended.
    pub fn settle(&mut self, end: Result<(), ModelErrorClass>, now: Instant) -> Vec<Change> {
        // Whoever refuses a request for what it is, is there and works.
        let failed = end.err().filter(|class| class.is_transient());
        self.each().filter_map(|(class, circuit)| step(class, circuit, end.is_ok(), failed, now)).collect()
    }

    /// Takes note that a request was let through and nobody saw its end: the next one may try.
    pub fn abandon(&mut self, now: Instant) {
        for (_, circuit) in self.each().filter(|(_, circuit)| **circuit == Circuit::HalfOpen) {
            *circuit = Circuit::Open { until: now };
        }
    }

    fn each(&mut self) -> impl Iterator<Item = (ModelErrorClass, &mut Circuit)> {
        ModelErrorClass::ALL.into_iter().zip(&mut self.circuits)
    }
}

/// What the end of a request does to one circuit.
fn step(
    class: ModelErrorClass,
    circuit: &mut Circuit,
    succeeded: bool,
    failed: Option<ModelErrorClass>,
    now: Instant,
) -> Option<Change> {
    let (next, change) = match (*circuit, failed) {
        (Circuit::HalfOpen, Some(_)) => {
            (Circuit::Open { until: now + OPEN_FOR }, Some(Change::Opened(class)))
        }
        (Circuit::HalfOpen, None) => (Circuit::default(), Some(Change::Closed(class))),
        (Circuit::Closed { failures }, Some(failed)) if failed == class => match failures + 1 {
            FAILURES_TO_OPEN => (Circuit::Open { until: now + OPEN_FOR }, Some(Change::Opened(class))),
            failures => (Circuit::Closed { failures }, None),
        },
        (Circuit::Closed { .. }, None) if succeeded => (Circuit::default(), None),
        (unchanged, _) => (unchanged, None),
    };
    *circuit = next;
    change
}

/// A breaker that several tasks share.
#[derive(Debug, Default)]
pub struct SharedBreaker(Mutex<Breaker>);

impl SharedBreaker {
    /// Lets a request through, or says how long to wait.
    pub fn admit(&self) -> Result<(Admitted<'_>, Vec<Change>), Paused> {
        let changes = self.lock().admit(Instant::now())?;
        Ok((Admitted { breaker: self, settled: false }, changes))
    }

    /// Whether nobody is asked now, and for how long.
    pub fn paused(&self) -> Option<Paused> {
        self.lock().paused(Instant::now())
    }

    fn lock(&self) -> MutexGuard<'_, Breaker> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request that was let through; dropped unsettled, it decides nothing.
#[derive(Debug)]
pub struct Admitted<'a> {
    breaker: &'a SharedBreaker,
    settled: bool,
}

impl Admitted<'_> {
    /// Takes note of how it ended.
    pub fn settle(mut self, end: Result<(), ModelErrorClass>) -> Vec<Change> {
        self.settled = true;
        self.breaker.lock().settle(end, Instant::now())
    }
}

impl Drop for Admitted<'_> {
    fn drop(&mut self) {
        if !self.settled {
            self.breaker.lock().abandon(Instant::now());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CLASS: ModelErrorClass = ModelErrorClass::Overloaded;

    fn opened(now: Instant) -> Breaker {
        let mut breaker = Breaker::default();
        for number in 1..=FAILURES_TO_OPEN {
            assert_eq!(breaker.admit(now), Ok(Vec::new()));
            let expected = if number == FAILURES_TO_OPEN { vec![Change::Opened(CLASS)] } else { Vec::new() };
            assert_eq!(breaker.settle(Err(CLASS), now), expected);
        }
        breaker
    }

    #[test]
    fn five_failures_in_a_row_open_the_circuit_and_a_probe_closes_it() {
        let start = Instant::now();
        let mut breaker = opened(start);
        let later = start + Duration::from_secs(10);
        assert_eq!(breaker.admit(later), Err(Paused { class: CLASS, wait: Duration::from_secs(20) }));
        let over = start + OPEN_FOR;
        assert_eq!(breaker.admit(over), Ok(vec![Change::HalfOpened(CLASS)]));
        assert!(breaker.admit(over).is_err(), "one probe at a time");
        assert_eq!(breaker.settle(Ok(()), over), [Change::Closed(CLASS)]);
        assert_eq!(breaker.admit(over), Ok(Vec::new()));
    }

    #[test]
    fn a_probe_that_fails_opens_it_again_and_one_that_nobody_saw_end_lets_the_next_one_try() {
        let start = Instant::now();
        let mut breaker = opened(start);
        let over = start + OPEN_FOR;
        assert!(breaker.admit(over).is_ok());
        breaker.abandon(over);
        assert_eq!(breaker.admit(over), Ok(vec![Change::HalfOpened(CLASS)]));
        assert_eq!(breaker.settle(Err(ModelErrorClass::Network), over), [Change::Opened(CLASS)]);
        assert!(breaker.admit(over).is_err());
    }

    #[test]
    fn a_success_starts_the_count_over_and_other_classes_have_counts_of_their_own() {
        let now = Instant::now();
        let mut breaker = Breaker::default();
        for _ in 0..FAILURES_TO_OPEN {
            for class in [CLASS, ModelErrorClass::Auth, ModelErrorClass::BadRequest] {
                assert!(breaker.settle(Err(class), now).is_empty());
            }
            assert!(breaker.settle(Ok(()), now).is_empty());
        }
        for class in [CLASS, ModelErrorClass::Network].repeat(FAILURES_TO_OPEN as usize - 1) {
            assert!(breaker.settle(Err(class), now).is_empty());
        }
    }

    /// What befalls a breaker: a request with its end (none: nobody saw it), or time that passes.
    #[derive(Debug, Clone)]
    enum Step {
        Request(Option<Result<(), ModelErrorClass>>),
        Seconds(u64),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let class = prop::sample::select(ModelErrorClass::ALL.to_vec());
        let end = prop_oneof![
            4 => class.prop_map(|class| Some(Err(class))),
            1 => Just(Some(Ok(()))),
            1 => Just(None)
        ];
        let step = prop_oneof![4 => end.prop_map(Step::Request), 1 => (0..40_u64).prop_map(Step::Seconds)];
        prop::collection::vec(step, 0..120)
    }

    proptest! {
        #[test]
        fn a_pause_is_bounded_and_its_events_alternate(steps in steps()) {
            let (mut breaker, mut now) = (Breaker::default(), Instant::now());
            let mut open = std::collections::HashMap::new();
            for step in steps {
                let end = match step {
                    Step::Seconds(seconds) => {
                        now += Duration::from_secs(seconds);
                        continue;
                    }
                    Step::Request(end) => end,
                };
                let mut changes = match breaker.admit(now) {
                    Ok(changes) => changes,
                    Err(paused) => {
                        prop_assert!(!paused.wait.is_zero() && paused.wait <= OPEN_FOR);
                        now += paused.wait;
                        breaker.admit(now).expect("the pause is over")
                    }
                };
                match end {
                    Some(end) => changes.extend(breaker.settle(end, now)),
                    None => breaker.abandon(now),
                }
                for change in changes {
                    match change {
                        Change::Opened(class) => {
                            let before = open.insert(class.as_str(), "open");
                            prop_assert!(class.is_transient() && before != Some("open"), "{before:?}");
                        }
                        Change::HalfOpened(class) => {
                            prop_assert!(open.insert(class.as_str(), "half").is_some());
                        }
                        Change::Closed(class) => {
                            prop_assert_eq!(open.remove(class.as_str()), Some("half"));
                        }
                    }
                }
                if end.is_none() {
                    open.values_mut().for_each(|state| *state = "open");
                }
            }
        }
    }
}
