//! The keywords of all rules, and where a text has them.

use aho_corasick::automaton::Automaton as _;
use aho_corasick::dfa::DFA;
use aho_corasick::{Input, Match};

pub(super) struct Keywords(DFA);

impl Keywords {
    /// In any case of ASCII letters.
    pub(super) fn new(keywords: &[&str]) -> Self {
        // Of this size another kind of automaton would take less memory and twice the time.
        let automaton = DFA::builder().ascii_case_insensitive(true).prefilter(false).build(keywords);
        Self(automaton.expect("a few hundred short keywords fit into an automaton"))
    }

    /// Whether a text has any of them.
    pub(super) fn are_in(&self, text: &str) -> bool {
        self.find(text).next().is_some()
    }

    /// All of them, in the order of their ends; they may overlap.
    pub(super) fn find(&self, text: &str) -> impl Iterator<Item = Match> {
        let found = self.0.try_find_overlapping_iter(Input::new(text));
        found.expect("it was built for searches that begin anywhere, and finds every match")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_in_any_case_are_found_in_the_order_of_their_ends_also_where_they_overlap() {
        let keywords = Keywords::new(&["token", "ken", "-----begin"]);
        let hits: Vec<_> = keywords.find("x toKEN, tok-----BEGIN").map(|hit| hit.range()).collect();
        assert_eq!(hits, [2..7, 4..7, 12..22]);
        assert!(keywords.are_in("xken") && !keywords.are_in("toke") && !keywords.are_in(""));
    }
}
