//! How many columns a text takes on a terminal, and how it is made to fit.
//!
//! Where terminals disagree (emoji, symbols) the larger width is counted: a line that is too short is
//! untidy, one that is too long wraps and breaks the table.

/// What stands at the end of a text that was cut.
const ELISION: char = '…';

/// Characters that take no column of their own: combining marks, joiners, variation selectors.
const ZERO: &[(u32, u32)] = &[
    (0x0300, 0x036f),
    (0x0483, 0x0489),
    (0x0591, 0x05bd),
    (0x064b, 0x065f),
    (0x200b, 0x200f),
    (0x2060, 0x2064),
    (0x20d0, 0x20f0),
    (0xfe00, 0xfe0f),
    (0xfe20, 0xfe2f),
];

/// Characters that take two columns: the East Asian scripts, full-width forms, symbols and emoji.
const WIDE: &[(u32, u32)] = &[
    (0x1100, 0x115f),
    (0x231a, 0x231b),
    (0x23e9, 0x23f3),
    (0x25fd, 0x27bf),
    (0x2b00, 0x2bff),
    (0x2e80, 0x303e),
    (0x3041, 0xa4cf),
    (0xa960, 0xa97f),
    (0xac00, 0xd7a3),
    (0xf900, 0xfaff),
    (0xfe30, 0xfe6f),
    (0xff01, 0xff60),
    (0xffe0, 0xffe6),
    (0x1_f000, 0x1_ffff),
    (0x2_0000, 0x3_fffd),
];

/// The columns that a text takes.
pub fn of(text: &str) -> usize {
    text.chars().map(of_char).sum()
}

/// The text cut to at most `columns`, with a mark where it was cut.
pub fn fitted(text: &str, columns: usize) -> String {
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

/// A text in lines of at most `columns`, broken between words; nothing of it is left out.
pub fn wrapped(text: &str, columns: usize) -> Vec<String> {
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

/// A word in pieces that take at most `columns` each.
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

/// The text in one line: white space is one blank, and nothing in it moves a cursor.
pub fn in_one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").replace(char::is_control, "·")
}

fn of_char(c: char) -> usize {
    let point = u32::from(c);
    let is_in = |ranges: &[(u32, u32)]| ranges.iter().any(|(first, last)| (*first..=*last).contains(&point));
    if point < 0x0300 {
        1
    } else if is_in(ZERO) {
        0
    } else if is_in(WIDE) {
        2
    } else {
        1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_and_combining_characters_are_counted_as_a_terminal_shows_them() {
        for (text, columns) in [("", 0), ("abc", 3), ("日本", 4), ("e\u{301}", 1), ("🚀", 2), ("né", 2)]
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
        assert_eq!(in_one_line(" a\n\tb\u{1b}[2J\r\nc\u{9b} "), "a b·[2J c·");
    }
}
