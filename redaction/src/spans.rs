//! Spans of secrets in a text, and their replacement.
//!
//! A span never starts or ends inside a character or inside a JSON escape, so that the inside of a JSON
//! string stays valid.

use std::ops::Range;

use super::PLACEHOLDER;

/// The text with each span replaced; overlapping spans become one. None if there are no spans.
pub(super) fn replace(text: &str, mut spans: Vec<Range<usize>>) -> Option<String> {
    if spans.is_empty() {
        return None;
    }
    spans.sort_unstable_by_key(|span| span.start);
    let mut clean = String::with_capacity(text.len());
    let mut kept = 0;
    for span in merged(&spans) {
        clean.push_str(&text[kept..span.start]);
        clean.push_str(PLACEHOLDER);
        kept = span.end;
    }
    clean.push_str(&text[kept..]);
    Some(clean)
}

/// The spans in order, overlapping ones as one.
pub(super) fn united(mut spans: Vec<Range<usize>>) -> Vec<Range<usize>> {
    spans.sort_unstable_by_key(|span| span.start);
    merged(&spans)
}

fn merged(sorted: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut merged: Vec<Range<usize>> = Vec::with_capacity(sorted.len());
    for span in sorted {
        match merged.last_mut() {
            Some(last) if span.start < last.end => last.end = last.end.max(span.end),
            _ => merged.push(span.clone()),
        }
    }
    merged
}

/// The span without cut characters and escapes. None if nothing is left of it.
pub(super) fn snapped(text: &str, span: Range<usize>) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let mut start = text.floor_char_boundary(span.start);
    let mut end = text.ceil_char_boundary(span.end);
    if backslashes_before(bytes, start) % 2 == 1 {
        start = text.ceil_char_boundary(start + 1);
    }
    if start < end && backslashes_before(&bytes[..end], end) % 2 == 1 {
        end -= 1;
    }
    (start < end).then_some(start..end)
}

fn backslashes_before(bytes: &[u8], end: usize) -> usize {
    bytes[..end].iter().rev().take_while(|byte| **byte == b'\\').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_spans_become_one_placeholder() {
        assert_eq!(replace("abcdefgh", vec![2..5, 0..3, 6..7]).unwrap(), "***REDACTED***f***REDACTED***h");
        assert_eq!(replace("abc", vec![]), None);
    }

    #[test]
    fn a_span_never_begins_or_ends_inside_a_character_or_an_escape() {
        for (text, span, expected) in [
            ("aéb", 0..2, Some(0..3)),
            ("éb", 1..3, Some(0..3)),
            (r"\nab", 1..4, Some(2..4)),
            (r"\\nab", 2..5, Some(2..5)),
            (r#"ab\""#, 0..3, Some(0..2)),
            (r#"ab\\""#, 0..4, Some(0..4)),
            (r"\n", 1..2, None),
        ] {
            assert_eq!(snapped(text, span), expected, "{text}");
        }
    }
}
