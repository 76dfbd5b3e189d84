//! Durations of one thing, measured many times and summed up by percentiles.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// What is measured.
pub(crate) type Work<'a> = &'a mut dyn FnMut() -> anyhow::Result<()>;

#[derive(Debug, Clone)]
pub(crate) struct Durations(Vec<Duration>);

impl Durations {
    /// Durations in any order, at least one.
    pub(crate) fn new(mut durations: Vec<Duration>) -> Self {
        assert!(!durations.is_empty(), "nothing was measured");
        durations.sort_unstable();
        Self(durations)
    }

    /// Measures `work` so many times, after a tenth as many runs to warm up.
    pub(crate) fn of<T>(times: usize, mut work: impl FnMut() -> anyhow::Result<T>) -> anyhow::Result<Self> {
        let mut work = || work().map(|done| drop(black_box(done)));
        let [durations] = Self::in_turns(times, 1, [&mut work])?;
        Ok(durations)
    }

    /// Measures several things in turns, so that other load on the machine affects all of them alike, with
    /// so many runs of each in a turn.
    pub(crate) fn in_turns<const N: usize>(
        times: usize,
        in_a_turn: usize,
        mut works: [Work<'_>; N],
    ) -> anyhow::Result<[Self; N]> {
        let mut durations = [const { Vec::new() }; N];
        let turns = times / in_a_turn;
        for turn in 0..turns / 10 + turns {
            for (work, durations) in works.iter_mut().zip(&mut durations) {
                for _ in 0..in_a_turn {
                    let began = Instant::now();
                    work()?;
                    if turn >= turns / 10 {
                        durations.push(began.elapsed());
                    }
                }
            }
        }
        Ok(durations.map(Self::new))
    }

    pub(crate) fn percentile(&self, percent: usize) -> Duration {
        self.0[(self.0.len() * percent / 100).min(self.0.len() - 1)]
    }

    pub(crate) fn p50(&self) -> Duration {
        self.percentile(50)
    }

    /// How many times the median of another this median is.
    pub(crate) fn against(&self, other: &Self) -> f64 {
        self.p50().as_secs_f64() / other.p50().as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_in_turns_are_measured_as_often_as_each_other_and_warmed_up_first() {
        let counts = [const { std::cell::Cell::new(0) }; 2];
        let mut works = counts.each_ref().map(|count| {
            || {
                count.set(count.get() + 1);
                Ok(())
            }
        });
        let [first, second] = &mut works;
        let measured = Durations::in_turns(20, 1, [first, second]).unwrap();
        assert_eq!(measured.map(|durations| durations.0.len()), [20, 20]);
        assert_eq!(counts.map(std::cell::Cell::into_inner), [22, 22]);
    }

    #[test]
    fn percentiles_are_taken_from_the_sorted_durations() {
        let durations = Durations::new((1..=100).rev().map(Duration::from_micros).collect());
        assert_eq!([50, 99, 100].map(|percent| durations.percentile(percent).as_micros()), [51, 100, 100]);
    }
}
