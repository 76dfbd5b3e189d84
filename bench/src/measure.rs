//! Durations of one thing, measured many times and summed up by percentiles.

use std::hint::black_box;
use std::time::{Duration, Instant};

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
    pub(crate) fn of<T, E>(times: usize, mut work: impl FnMut() -> Result<T, E>) -> Result<Self, E> {
        for _ in 0..times / 10 {
            work()?;
        }
        let mut durations = Vec::with_capacity(times);
        for _ in 0..times {
            let began = Instant::now();
            black_box(work()?);
            durations.push(began.elapsed());
        }
        Ok(Self::new(durations))
    }

    /// Measures several things in turns, so that other load on the machine affects all of them alike.
    pub(crate) fn in_turns<const N: usize>(
        times: usize,
        works: [&mut dyn FnMut() -> anyhow::Result<()>; N],
    ) -> anyhow::Result<[Self; N]> {
        Self::in_long_turns(times, 1, works)
    }

    /// The same with so many in a turn. A server that looks for its next request would otherwise take a core
    /// from the one whose turn it is.
    pub(crate) fn in_long_turns<const N: usize>(
        times: usize,
        in_a_turn: usize,
        mut works: [&mut dyn FnMut() -> anyhow::Result<()>; N],
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

    pub(crate) fn percentile_us(&self, percent: usize) -> f64 {
        let index = (self.0.len() * percent / 100).min(self.0.len() - 1);
        self.0[index].as_secs_f64() * 1e6
    }

    /// The median, in microseconds.
    pub(crate) fn p50_us(&self) -> f64 {
        self.percentile_us(50)
    }

    pub(crate) fn p50_ms(&self) -> f64 {
        self.p50_us() / 1e3
    }
}

/// Microseconds with their unit.
pub(crate) fn us(microseconds: f64) -> String {
    format!("{microseconds:.2} µs")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_in_turns_are_measured_as_often_as_each_other_and_warmed_up_first() {
        let (mut first, mut second) = (0, 0);
        let measured = Durations::in_turns(
            20,
            [
                &mut || {
                    first += 1;
                    Ok(())
                },
                &mut || {
                    second += 1;
                    Ok(())
                },
            ],
        );
        let lengths = measured.unwrap().map(|durations| durations.0.len());
        assert_eq!((first, second, lengths), (22, 22, [20, 20]));
    }

    #[test]
    fn percentiles_are_taken_from_the_sorted_durations() {
        let durations = Durations::new((1..=100).rev().map(Duration::from_micros).collect());
        assert_eq!(durations.p50_us().round(), 51.0);
        assert_eq!(durations.percentile_us(99).round(), 100.0);
        assert_eq!(durations.percentile_us(100).round(), 100.0);
    }
}
