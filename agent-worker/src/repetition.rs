//! No progress: a model that makes the same calls with the same results turn after turn.
//!
//! After the second such turn it is told so once; after the third the task ends, because nothing in the
//! next request would be any different. Pure: a fingerprint goes in, a decision comes out.

use std::hash::{DefaultHasher, Hash, Hasher};

/// How many equal turns in a row end a task.
pub const EQUAL_TURNS: u32 = 3;

/// What the model is told one turn before the end.
pub const NUDGE: &str = "[You made the same calls with the same results twice in a row. A third time ends \
     the task. Try another way, or answer with what you know and say what is missing.]";

/// What follows from a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// Go on.
    Moving,
    /// Tell the model.
    Slowing,
    /// End the task.
    Stalled,
}

/// The turns of a task, as far as they matter here.
#[derive(Debug, Default)]
pub struct Repetition {
    last: Option<u64>,
    equal: u32,
}

impl Repetition {
    /// Takes note of a turn.
    pub fn note(&mut self, fingerprint: u64) -> Pace {
        self.equal = if self.last == Some(fingerprint) { self.equal + 1 } else { 1 };
        self.last = Some(fingerprint);
        match self.equal {
            EQUAL_TURNS.. => Pace::Stalled,
            equal if equal + 1 == EQUAL_TURNS => Pace::Slowing,
            _ => Pace::Moving,
        }
    }
}

/// One number for a turn's calls and results.
pub fn fingerprint(of: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_equal_turn_in_a_row_warns_and_the_third_ends() {
        use Pace::{Moving, Slowing, Stalled};
        for (turns, expected) in [
            (&[1, 1, 1, 1][..], &[Moving, Slowing, Stalled, Stalled][..]),
            (&[1, 2, 1, 2, 1, 2], &[Moving; 6]),
            (&[1, 1, 2, 1, 1], &[Moving, Slowing, Moving, Moving, Slowing]),
        ] {
            let mut repetition = Repetition::default();
            let paces: Vec<Pace> = turns.iter().map(|turn| repetition.note(*turn)).collect();
            assert_eq!(paces, expected, "{turns:?}");
        }
    }

    #[test]
    fn equal_calls_with_other_results_are_another_turn() {
        assert_eq!(fingerprint(("ls", "{}", "a")), fingerprint(("ls", "{}", "a")));
        assert_ne!(fingerprint(("ls", "{}", "a")), fingerprint(("ls", "{}", "b")));
    }
}
