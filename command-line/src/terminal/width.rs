//! How many columns a text takes on a terminal, and how to make it fit.
//!
//! Where terminals disagree (emoji) the larger width counts: a line that is too short is untidy, one that is
//! too long wraps and breaks the table.

use protocol::visible;
use unicode_width::UnicodeWidthChar;

/// Ends a text that was cut.
const ELISION: char = '…';

pub(crate) fn of(text: &str) -> usize {
    text.chars().map(of_char).sum()
}

/// The text, cut to at most `columns` and then ending in `…`.
pub(crate) fn fitted(text: &str, columns: usize) -> String {
    if of(text) <= columns {
        return text.to_owned();
    }
    let mut left = columns.saturating_sub(1);
    let kept = text.chars().take_while(|c| match left.checked_sub(of_char(*c)) {
        Some(rest) => {
            left = rest;
            true
        }
        None => false,
    });
    let kept: String = kept.collect();
    let mark = if columns > 0 { ELISION.to_string() } else { String::new() };
    format!("{}{mark}", kept.trim_end())
}

/// The whole text in lines of at most `columns`, broken between words.
pub(crate) fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for piece in in_one_line(text).split(' ').flat_map(|word| pieces(word, columns)) {
        match lines.last_mut() {
            Some(line) if of(line) + 1 + of(&piece) <= columns => {
                line.push(' ');
                line.push_str(&piece);
            }
            Some(_) | None => lines.push(piece),
        }
    }
    lines
}

/// A word in pieces of at most `columns`.
fn pieces(word: &str, columns: usize) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut taken = 0;
    for c in word.chars() {
        if taken + of_char(c) > columns {
            pieces.push(String::new());
            taken = 0;
        }
        taken += of_char(c);
        if let Some(piece) = pieces.last_mut() {
            piece.push(c);
        }
    }
    pieces
}

/// The text in one line: white space becomes one space, and what steers or hides is escaped.
pub(crate) fn in_one_line(text: &str) -> String {
    visible::escaped(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn of_char(c: char) -> usize {
    match c {
        // It makes a narrow symbol before it a wide emoji, on terminals that know it.
        '\u{fe0f}' => 1,
        c => c.width().unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_and_combining_characters_are_counted_as_a_terminal_shows_them() {
        for (text, columns) in
            [("", 0), ("abc", 3), ("日本", 4), ("e\u{301}", 1), ("🚀", 2), ("né", 2), ("❤\u{fe0f}", 2)]
        {
            assert_eq!(of(text), columns, "{text}");
        }
    }

    #[test]
    fn a_text_that_does_not_fit_is_cut_with_a_mark_and_never_wider() {
        for text in ["a plain long line", "日本語の長い行です", "a日b本c語d…e", "🚀🚀🚀🚀🚀🚀"]
        {
            for columns in 0..12 {
                let cut = fitted(text, columns);
                assert!(of(&cut) <= columns, "{cut:?} in {columns}");
                assert!(columns == 0 || cut.ends_with('…'), "{cut:?} in {columns}");
            }
        }
        assert_eq!(fitted("fits", 4), "fits");
    }

    #[test]
    fn a_long_text_is_broken_between_words_and_a_long_word_anywhere() {
        assert_eq!(wrapped("one two three 日本日本日本", 8), ["one two", "three", "日本日本", "日本"]);
        assert_eq!(wrapped("", 8), [""]);
    }

    #[test]
    fn nothing_in_a_line_moves_the_cursor() {
        assert_eq!(in_one_line(" a\n\tb\u{1b}[2J\r\nc\u{9b} "), "a b\\u{1b}[2J c\\u{9b}");
    }
}
