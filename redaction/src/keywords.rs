//! The keywords of all rules, and where a text has them.
//!
//! A step of the automaton waits for the memory in which the step before ended, and a processor can wait for
//! several at once. So four parts of a text are searched together, which takes less than half the time.

use aho_corasick::automaton::{Automaton as _, StateID};
use aho_corasick::dfa::DFA;
use aho_corasick::{Anchored, Match};

/// How many parts are searched together.
const LANES: usize = 4;

/// The fewest bytes of a part. A shorter one has little but what it shares with the one before.
const FEWEST_BYTES: usize = 64;

/// The most bytes of a part: findings in four of them are kept until it is their turn.
const MOST_BYTES: usize = 1024;

pub(super) struct Keywords {
    automaton: DFA,
    start: StateID,
    /// How many bytes before a part a keyword that ends in it can begin.
    overlap: usize,
}

/// A part of a text.
#[derive(Clone, Copy)]
struct Part<'a> {
    /// The bytes, after those before it in which a keyword can begin.
    bytes: &'a [u8],
    /// How many those before it are.
    overlap: usize,
    /// Where `bytes` begin in the text.
    offset: usize,
}

/// One or more keywords end in a part.
struct End {
    lane: usize,
    at: usize,
    state: StateID,
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
        self.find(text).next().is_some()
    }

    /// All of them, in the order of their ends; they may overlap.
    pub(super) fn find(&self, text: &str) -> impl Iterator<Item = Match> {
        let text = text.as_bytes();
        let length = text.len().div_ceil(LANES).clamp(FEWEST_BYTES, MOST_BYTES);
        (0..text.len()).step_by(LANES * length).flat_map(move |first| {
            let parts = std::array::from_fn(|lane| self.part(text, first + lane * length, length));
            let mut ends = self.search(parts);
            ends.sort_by_key(|end| (end.lane, end.at));
            ends.into_iter().flat_map(move |end| self.keywords_at(end.state, parts[end.lane].offset + end.at))
        })
    }

    fn part<'a>(&self, text: &'a [u8], start: usize, length: usize) -> Part<'a> {
        let start = start.min(text.len());
        let offset = start.saturating_sub(self.overlap);
        let end = text.len().min(start + length);
        Part { bytes: &text[offset..end], overlap: start - offset, offset }
    }

    fn search(&self, parts: [Part<'_>; LANES]) -> Vec<End> {
        let mut ends = Vec::new();
        let mut states = [self.start; LANES];
        let mut step = |lane: usize, at: usize, byte: u8| {
            let state = self.automaton.next_state(Anchored::No, states[lane], byte);
            states[lane] = state;
            // What ends before the part belongs to the one before.
            if self.automaton.is_match(state) && at >= parts[lane].overlap {
                ends.push(End { lane, at: at + 1, state });
            }
        };
        let together = parts.map(|part| part.bytes.len()).into_iter().min().unwrap_or(0);
        let [first, second, third, fourth] = parts.map(|part| &part.bytes[..together]);
        let rows = first.iter().zip(second).zip(third).zip(fourth);
        for (at, (((first, second), third), fourth)) in rows.enumerate() {
            step(0, at, *first);
            step(1, at, *second);
            step(2, at, *third);
            step(3, at, *fourth);
        }
        for (lane, part) in parts.iter().enumerate() {
            part.bytes.iter().enumerate().skip(together).for_each(|(at, byte)| step(lane, at, *byte));
        }
        ends
    }

    fn keywords_at(&self, state: StateID, end: usize) -> impl Iterator<Item = Match> {
        (0..self.automaton.match_len(state)).map(move |index| {
            let keyword = self.automaton.match_pattern(state, index);
            Match::new(keyword, end - self.automaton.pattern_len(keyword)..end)
        })
    }
}

#[cfg(test)]
mod tests {
    use aho_corasick::Input;

    use super::*;

    #[test]
    fn a_keyword_is_found_wherever_it_stands() {
        let keywords = Keywords::new(&["token", "ken", "-----begin"]);
        let lengths = [5, 17, 100, 300, 4095, 4096, 4097, 9000];
        for length in lengths {
            for at in (0..=length - 5).filter(|at| length < 2000 || at % 256 < 12 || at % 256 > 240) {
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
