//! The circuit breaker of the model's provider: one that keeps failing is left alone for a while, across
//! tasks.
//!
//! One circuit for each class of error that can pass by itself. Five failures in a row open it for half a
//! minute, in which no request is sent; then one request probes the provider and decides. What a request
//! causes itself, such as a wrong key, never counts.

use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use protocol::event::Unreachable;
use texts::Language;
use toolkit::breaker::{Breaker, Transition, Verdict};
use toolkit::locked;

use crate::model::{self, ModelError, ModelErrorClass};

pub(crate) const FAILURES_TO_OPEN: u32 = 5;
pub(crate) const OPEN_FOR: Duration = Duration::from_secs(30);

#[derive(Debug)]
struct Circuits {
    breakers: [Breaker; ModelErrorClass::ALL.len()],
    /// The server, if the last request could not reach it.
    unreachable: Option<Unreachable>,
}

pub(crate) type Change = (ModelErrorClass, Transition);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Paused {
    pub(crate) class: ModelErrorClass,
    pub(crate) wait: Duration,
}

impl Paused {
    /// What the user reads of it: what failed, and where.
    pub(crate) fn told(&self, unreachable: Option<&Unreachable>, language: Language) -> String {
        match unreachable {
            Some(server) => model::unreachable(server, language),
            None => self.class.user_message().to(language),
        }
    }
}

impl Default for Circuits {
    fn default() -> Self {
        let breakers = [Breaker::new(FAILURES_TO_OPEN, OPEN_FOR); ModelErrorClass::ALL.len()];
        Self { breakers, unreachable: None }
    }
}

impl Circuits {
    /// The longest pause, if there is any.
    fn paused(&self, now: Instant) -> Option<Paused> {
        let circuits = ModelErrorClass::ALL.into_iter().zip(&self.breakers);
        let paused = circuits.filter_map(|(class, circuit)| Some(Paused { class, wait: circuit.wait(now)? }));
        paused.max_by_key(|paused| paused.wait)
    }

    /// Lets a request through, or says how long to wait. A circuit whose pause is over becomes half open.
    fn admit(&mut self, now: Instant) -> Result<Vec<Change>, Paused> {
        match self.paused(now) {
            Some(paused) => Err(paused),
            None => Ok(self.changes(|_, circuit| circuit.admit(now).ok().flatten())),
        }
    }

    fn settle(&mut self, end: Result<(), ModelErrorClass>, now: Instant) -> Vec<Change> {
        self.changes(|class, circuit| {
            let verdict = match end {
                Ok(()) => Verdict::Succeeded,
                Err(error) if circuit.is_half_open() && error.is_transient() => Verdict::Failed,
                // A provider that refuses a request for what it is works.
                Err(_) if circuit.is_half_open() => Verdict::Succeeded,
                Err(error) if error == class && error.is_transient() => Verdict::Failed,
                Err(_) => Verdict::Inconclusive,
            };
            circuit.settle(verdict, now)
        })
    }

    /// Notes that the end of a request that was let through is unknown: the next one may probe.
    fn abandon(&mut self, now: Instant) {
        self.changes(|_, circuit| circuit.settle(Verdict::Inconclusive, now));
    }

    fn changes(
        &mut self,
        mut change: impl FnMut(ModelErrorClass, &mut Breaker) -> Option<Transition>,
    ) -> Vec<Change> {
        let circuits = ModelErrorClass::ALL.into_iter().zip(&mut self.breakers);
        circuits.filter_map(|(class, circuit)| Some((class, change(class, circuit)?))).collect()
    }
}

/// The breaker of a provider, which all tasks share.
#[derive(Debug, Default)]
pub(crate) struct ModelBreaker(Mutex<Circuits>);

impl ModelBreaker {
    pub(crate) fn admit(&self) -> Result<(Admission<'_>, Vec<Change>), Paused> {
        let changes = self.lock().admit(Instant::now())?;
        Ok((Admission { breaker: self, is_settled: false }, changes))
    }

    pub(crate) fn paused(&self) -> Option<Paused> {
        self.lock().paused(Instant::now())
    }

    /// The server, if the last request could not reach it.
    pub(crate) fn unreachable(&self) -> Option<Unreachable> {
        self.lock().unreachable.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Circuits> {
        locked(&self.0)
    }
}

/// A request that was let through; dropped unsettled, it decides nothing.
#[derive(Debug)]
pub(crate) struct Admission<'a> {
    breaker: &'a ModelBreaker,
    is_settled: bool,
}

impl Admission<'_> {
    pub(crate) fn settle(mut self, end: Result<(), &ModelError>) -> Vec<Change> {
        self.is_settled = true;
        let mut circuits = self.breaker.lock();
        circuits.unreachable = end.err().and_then(|error| error.unreachable.clone());
        circuits.settle(end.map_err(|error| error.class), Instant::now())
    }
}

impl Drop for Admission<'_> {
    fn drop(&mut self) {
        if !self.is_settled {
            self.breaker.lock().abandon(Instant::now());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CLASS: ModelErrorClass = ModelErrorClass::Overloaded;

    fn opened(now: Instant) -> Circuits {
        let mut breaker = Circuits::default();
        for number in 1..=FAILURES_TO_OPEN {
            assert_eq!(breaker.admit(now), Ok(Vec::new()));
            let expected =
                if number == FAILURES_TO_OPEN { vec![(CLASS, Transition::Opened)] } else { Vec::new() };
            assert_eq!(breaker.settle(Err(CLASS), now), expected);
        }
        breaker
    }

    #[test]
    fn a_probe_decides_whatever_the_class_of_its_error() {
        let start = Instant::now();
        let over = start + OPEN_FOR;
        for (end, transition) in [
            (Ok(()), Transition::Closed),
            (Err(ModelErrorClass::Network), Transition::Opened),
            (Err(ModelErrorClass::Auth), Transition::Closed),
        ] {
            let mut breaker = opened(start);
            for _ in 0..2 {
                assert_eq!(breaker.admit(over), Ok(vec![(CLASS, Transition::HalfOpened)]));
                assert!(breaker.admit(over).is_err(), "one probe at a time");
                breaker.abandon(over);
            }
            assert!(breaker.admit(over).is_ok());
            assert_eq!(breaker.settle(end, over), [(CLASS, transition)], "{end:?}");
        }
    }

    #[test]
    fn a_success_starts_the_count_over_and_other_classes_have_counts_of_their_own() {
        let now = Instant::now();
        let mut breaker = Circuits::default();
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

    /// An input to the breaker: a request with its end (none if it is unknown), or time that passes.
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
            let (mut breaker, mut now) = (Circuits::default(), Instant::now());
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
                        (class, Transition::Opened) => {
                            let before = open.insert(class.as_str(), "open");
                            prop_assert!(class.is_transient() && before != Some("open"), "{before:?}");
                        }
                        (class, Transition::HalfOpened) => {
                            prop_assert!(open.insert(class.as_str(), "half").is_some());
                        }
                        (class, Transition::Closed) => {
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
