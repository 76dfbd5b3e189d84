//! Our own secrets, found by their exact values in every usual encoding, whatever their format is.

use std::ops::Range;

use aho_corasick::AhoCorasick;

use super::{PLACEHOLDER, encodings, spans};

/// Shorter values occur inside ordinary words, so they are replaced only as whole words.
const MIN_INSIDE_WORDS: usize = 8;

/// Shorter values are never replaced.
const MIN_CHARS: usize = 4;

pub(super) struct ExactSecrets {
    values: Vec<Value>,
    automaton: Option<AhoCorasick>,
}

struct Value {
    text: String,
    whole_word: bool,
}

impl ExactSecrets {
    pub(super) fn new<'a>(secrets: impl IntoIterator<Item = &'a str>) -> Self {
        let values: Vec<Value> = secrets.into_iter().flat_map(values_of).collect();
        let patterns = values.iter().map(|value| value.text.as_bytes());
        let automaton = if values.is_empty() { None } else { AhoCorasick::new(patterns).ok() };
        Self { values, automaton }
    }

    /// Whether a text has one of the values, be it within a word.
    pub(super) fn is_in(&self, text: &str) -> bool {
        self.automaton.as_ref().is_some_and(|automaton| automaton.is_match(text))
    }

    pub(super) fn find(&self, text: &str) -> Vec<Range<usize>> {
        // Asking for any is several times cheaper than finding all, and there is hardly ever one.
        let Some(automaton) = self.automaton.as_ref().filter(|_| self.is_in(text)) else { return Vec::new() };
        automaton
            .find_overlapping_iter(text)
            .filter(|hit| !self.values[hit.pattern()].whole_word || is_whole_word(text, hit.range()))
            .filter_map(|hit| spans::snapped(text, hit.range()))
            .collect()
    }
}

impl std::fmt::Debug for ExactSecrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ExactSecrets({})", self.values.len())
    }
}

/// A part of the placeholder is never replaced: that would not end.
fn values_of(secret: &str) -> Vec<Value> {
    if secret.chars().count() < MIN_CHARS || PLACEHOLDER.contains(secret) {
        return Vec::new();
    }
    encodings::of(secret)
        .into_iter()
        .map(|text| Value { whole_word: text.len() < MIN_INSIDE_WORDS, text })
        .collect()
}

fn is_whole_word(text: &str, span: Range<usize>) -> bool {
    let joins = |character: char| character.is_alphanumeric() || character == '_';
    !text[..span.start].ends_with(joins) && !text[span.end..].starts_with(joins)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(secrets: &[&str], text: &str) -> usize {
        ExactSecrets::new(secrets.iter().copied()).find(text).len()
    }

    #[test]
    fn a_short_secret_is_replaced_only_as_a_whole_word_and_a_tiny_one_never() {
        assert_eq!(found(&["oak5"], "(oak5)"), 1);
        assert_eq!(found(&["oak5"], "soak5 oak55 oak5_"), 0);
        assert_eq!(found(&["", "abc", "REDACTED"], "abc ***REDACTED***"), 0, "nor one like the placeholder");
    }

    #[test]
    fn secrets_do_not_print() {
        assert!(!format!("{:?}", ExactSecrets::new(["hunter2hunter2"])).contains("hunter2"));
    }
}
