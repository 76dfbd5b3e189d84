//! The keywords of all rules, and where a text has them.
//!
//! A step of the automaton waits for the memory in which the step before ended, and a processor can wait for
//! several at once. So four parts of a text are searched together, and only a part that has a keyword is
//! searched once more for all of them: most texts have none.

use std::ops::{Range, RangeInclusive};

use aho_corasick::automaton::{Automaton as _, StateID};
use aho_corasick::dfa::DFA;
use aho_corasick::{Anchored, Input, Match};

/// How many parts are searched together.
const LANES: usize = 4;

/// How long a part is. In a longer one a keyword is likelier, and a shorter one has little but what it shares
/// with the one before.
const PART_BYTES: RangeInclusive<usize> = 64..=512;

pub(super) struct Keywords {
    automaton: DFA,
    start: StateID,
    /// How many bytes before a part a keyword that ends in it can begin.
    overlap: usize,
}

impl Keywords {
    /// In any case of ASCII letters.
    pub(super) fn new(keywords: &[&str]) -> Self {
        // Of this size another kind of automaton would take less memory and twice the time.
        let automaton = DFA::builder()
            .ascii_case_insensitive(true)
            .prefilter(false)
            .build(keywords)
            .expect("a few hundred short keywords fit into an automaton");
        let start =
            automaton.start_state(Anchored::No).expect("it was built for searches that begin anywhere");
        Self { start, overlap: automaton.max_pattern_len().saturating_sub(1), automaton }
    }

    /// Whether a text has any of them.
    pub(super) fn are_in(&self, text: &str) -> bool {
        self.parts(text.as_bytes()).next().is_some()
    }

    /// All of them, in the order of their ends; they may overlap.
    pub(super) fn find(&self, text: &str) -> impl Iterator<Item = Match> {
        let text = text.as_bytes();
        self.parts(text).flat_map(move |part| {
            let input = Input::new(text).range(part.start.saturating_sub(self.overlap)..part.end);
            let hits = self.automaton.try_find_overlapping_iter(input);
            hits.into_iter().flatten().filter(move |hit| hit.end() > part.start)
        })
    }

    /// The parts of a text that a keyword may end in.
    fn parts(&self, text: &[u8]) -> impl Iterator<Item = Range<usize>> {
        let length = text.len().div_ceil(LANES).clamp(*PART_BYTES.start(), *PART_BYTES.end());
        (0..text.len()).step_by(LANES * length).flat_map(move |first| {
            let part = move |lane: usize| {
                let start = text.len().min(first + lane * length);
                start..text.len().min(start + length)
            };
            let found = self.search(std::array::from_fn(|lane| {
                let Range { start, end } = part(lane);
                &text[start.saturating_sub(self.overlap)..end]
            }));
            (0..LANES).filter(move |lane| found[*lane]).map(part)
        })
    }

    /// Which of these texts have a keyword.
    fn search(&self, texts: [&[u8]; LANES]) -> [bool; LANES] {
        let together = texts.map(<[u8]>::len).into_iter().min().unwrap_or(0);
        let mut states = [self.start; LANES];
        let mut found = [false; LANES];
        let mut step = |lane: usize, byte: u8| {
            states[lane] = self.automaton.next_state(Anchored::No, states[lane], byte);
            found[lane] |= self.automaton.is_match(states[lane]);
        };
        let [first, second, third, fourth] = texts.map(|text| &text[..together]);
        for (((first, second), third), fourth) in first.iter().zip(second).zip(third).zip(fourth) {
            step(0, *first);
            step(1, *second);
            step(2, *third);
            step(3, *fourth);
        }
        for (lane, text) in texts.iter().enumerate() {
            text[together..].iter().for_each(|byte| step(lane, *byte));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_keyword_is_found_wherever_it_stands() {
        let keywords = Keywords::new(&["token", "ken", "-----begin"]);
        let lengths = [5, 17, 100, 2047, 2048, 2049, 5000];
        for length in lengths {
            for at in (0..=length - 5).filter(|at| length < 2000 || at % 512 < 12 || at % 512 > 500) {
                let mut text = "x".repeat(length);
                text.replace_range(at..at + 5, "toKEN");
                assert!(keywords.are_in(&text), "{length} {at}");
                let mut hits: Vec<_> = keywords.find(&text).map(|hit| hit.range()).collect();
                hits.sort_by_key(|hit| hit.start);
                assert_eq!(hits, [at..at + 5, at + 2..at + 5], "{length} {at}");
            }
        }
        for none in ["", "t", "toke", &"toke".repeat(2000)] {
            assert!(!keywords.are_in(none) && keywords.find(none).next().is_none());
        }
    }

    #[test]
    fn all_are_found_in_the_order_of_their_ends() {
        let keywords = Keywords::new(&["aa", "aab", "b"]);
        let text = "aab-".repeat(1000);
        let found: Vec<_> = keywords.find(&text).map(|hit| (hit.pattern().as_usize(), hit.range())).collect();
        let plain = keywords.automaton.try_find_overlapping_iter(Input::new(&text)).unwrap();
        let plain: Vec<_> = plain.map(|hit| (hit.pattern().as_usize(), hit.range())).collect();
        assert_eq!(found, plain);
        assert_eq!(found.len(), 3000);
    }
}
