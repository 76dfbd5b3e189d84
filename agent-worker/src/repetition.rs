//! Detects a model that makes the same calls with the same results over and over: in every turn, or in a
//! cycle of two or three turns.
//!
//! It is warned after the second such round; after the third the task ends, because the next request would
//! be no different. Pure: a fingerprint goes in, a decision comes out.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};

/// How many equal rounds in a row end a task.
pub(crate) const EQUAL_ROUNDS: usize = 3;

/// The longest round, in turns.
const MAX_CYCLE: usize = 3;

/// What the model reads one round before that.
pub(crate) const WARNING: &str = "[You made the same calls with the same results twice in a row. A third \
     time ends the task. Try another way, or answer with what you know and say what is missing.]";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LoopStatus {
    Progressing,
    /// The second round has just ended.
    Repeating,
    /// The third round has ended; each had this many turns.
    Stalled(usize),
}

#[derive(Debug, Default)]
pub(crate) struct RepetitionDetector {
    /// The newest turns, the newest last.
    turns: VecDeque<u64>,
    /// The length of the rounds that the model was warned of and that still go on.
    warned: Option<usize>,
}

impl RepetitionDetector {
    pub(crate) fn observe(&mut self, fingerprint: u64) -> LoopStatus {
        if self.turns.len() == EQUAL_ROUNDS * MAX_CYCLE {
            self.turns.pop_front();
        }
        self.turns.push_back(fingerprint);
        let cycle_of = |rounds| (1..=MAX_CYCLE).find(|cycle| self.repeats(*cycle, rounds));
        if let Some(cycle) = cycle_of(EQUAL_ROUNDS) {
            return LoopStatus::Stalled(cycle);
        }
        let repeating = cycle_of(EQUAL_ROUNDS - 1);
        let is_new = repeating.is_some() && repeating != self.warned;
        self.warned = repeating;
        if is_new { LoopStatus::Repeating } else { LoopStatus::Progressing }
    }

    /// Whether the newest turns are this many equal rounds of `cycle` turns each.
    fn repeats(&self, cycle: usize, rounds: usize) -> bool {
        let newest_first = || self.turns.iter().rev();
        self.turns.len() >= cycle * rounds
            && newest_first().zip(newest_first().skip(cycle)).take(cycle * (rounds - 1)).all(|(a, b)| a == b)
    }
}

/// A hash of a turn's calls and results.
pub(crate) fn fingerprint(of: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `.` for progress, `w` for the warning, and the number of turns of a round at the end.
    fn check(turns: &str, expected: &str) {
        let mut repetition = RepetitionDetector::default();
        let status = |turn| match repetition.observe(fingerprint(turn)) {
            LoopStatus::Progressing => ".".to_owned(),
            LoopStatus::Repeating => "w".to_owned(),
            LoopStatus::Stalled(cycle) => cycle.to_string(),
        };
        assert_eq!(turns.chars().map(status).collect::<String>(), expected, "{turns}");
    }

    #[test]
    fn the_second_equal_round_in_a_row_warns_and_the_third_ends() {
        check("aaaa", ".w11");
        check("ababab", "...w.2");
        check("abcabcabc", ".....w..3");
        check("xyababab", ".....w.2");
        check("aabaab", ".w..ww");
    }

    #[test]
    fn a_round_that_leads_elsewhere_is_progress() {
        check("aabaa", ".w..w");
        check("ababcabab", "...w....w");
        check("abcdabcdabcd", "............");
        check("abcabdabcabe", "............");
    }

    #[test]
    fn equal_calls_with_other_results_are_progress() {
        assert_eq!(fingerprint(("ls", "{}", "a")), fingerprint(("ls", "{}", "a")));
        assert_ne!(fingerprint(("ls", "{}", "a")), fingerprint(("ls", "{}", "b")));
    }
}
