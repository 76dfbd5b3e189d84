//! Detects a model that makes the same calls with the same results turn after turn.
//!
//! It is warned after the second such turn; after the third the task ends, because the next request would
//! be no different. Pure: a fingerprint goes in, a decision comes out.

use std::hash::{DefaultHasher, Hash, Hasher};

/// How many equal turns in a row end a task.
pub(crate) const EQUAL_TURNS: u32 = 3;

/// What the model is told one turn before that.
pub(crate) const WARNING: &str = "[You made the same calls with the same results twice in a row. A third \
     time ends the task. Try another way, or answer with what you know and say what is missing.]";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LoopStatus {
    Progressing,
    Repeating,
    Stalled,
}

#[derive(Debug, Default)]
pub(crate) struct RepetitionDetector {
    last: Option<u64>,
    equal: u32,
}

impl RepetitionDetector {
    pub(crate) fn observe(&mut self, fingerprint: u64) -> LoopStatus {
        self.equal = if self.last == Some(fingerprint) { self.equal + 1 } else { 1 };
        self.last = Some(fingerprint);
        match self.equal {
            EQUAL_TURNS.. => LoopStatus::Stalled,
            equal if equal + 1 == EQUAL_TURNS => LoopStatus::Repeating,
            _ => LoopStatus::Progressing,
        }
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

    #[test]
    fn the_second_equal_turn_in_a_row_warns_and_the_third_ends() {
        use LoopStatus::{Progressing, Repeating, Stalled};
        for (turns, expected) in [
            (&[1, 1, 1, 1][..], &[Progressing, Repeating, Stalled, Stalled][..]),
            (&[1, 2, 1, 2, 1, 2], &[Progressing; 6]),
            (&[1, 1, 2, 1, 1], &[Progressing, Repeating, Progressing, Progressing, Repeating]),
        ] {
            let mut repetition = RepetitionDetector::default();
            let statuses: Vec<LoopStatus> = turns.iter().map(|turn| repetition.observe(*turn)).collect();
            assert_eq!(statuses, expected, "{turns:?}");
        }
    }

    #[test]
    fn equal_calls_with_other_results_are_progress() {
        assert_eq!(fingerprint(("ls", "{}", "a")), fingerprint(("ls", "{}", "a")));
        assert_ne!(fingerprint(("ls", "{}", "a")), fingerprint(("ls", "{}", "b")));
    }
}
