//! A line of a file as it is displayed: as visible text, cut around its match when it is long.

use protocol::visible;
use redaction::PLACEHOLDER;

use crate::private_key_lines::cuts_key;

/// The most characters of a line that are shown; an escaped one counts once.
pub(crate) const MAX_LINE_CHARS: usize = 500;

/// The characters shown before a match far into a long line.
const CHARS_BEFORE_MATCH: usize = 100;

const CUT_MARK: char = '…';

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DisplayLine {
    /// At most [`MAX_LINE_CHARS`] characters, with a mark at each cut.
    pub(crate) text: String,
    pub(crate) is_cut: bool,
    /// Whether invalid UTF-8 is shown as U+FFFD.
    pub(crate) is_lossy: bool,
    /// Whether characters are shown escaped.
    pub(crate) is_escaped: bool,
    /// Whether it belongs to a private key and is not shown.
    pub(crate) is_secret: bool,
}

/// A line without its terminator, cut so that the match at byte `match_start` is visible.
pub(crate) fn display_line(line: &[u8], match_start: usize) -> DisplayLine {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let match_start = match_start.min(line.len());
    let (mut start, mut end) = (0, forward(line, 0, MAX_LINE_CHARS));
    if end < line.len() && forward(line, 0, MAX_LINE_CHARS - CHARS_BEFORE_MATCH) < match_start {
        end = forward(line, back(line, match_start, CHARS_BEFORE_MATCH), MAX_LINE_CHARS);
        // A match near the end leaves room for more before it.
        start = back(line, end, MAX_LINE_CHARS);
    }
    // A key in one long line, as in JSON, may begin before the shown part.
    if cuts_key(&line[..start]) {
        return secret_line();
    }
    let text = String::from_utf8_lossy(&line[start..end]);
    let is_lossy = matches!(text, std::borrow::Cow::Owned(_));
    let mut shown = String::with_capacity(text.len() + 2 * CUT_MARK.len_utf8());
    shown.extend((start > 0).then_some(CUT_MARK));
    let text = visible::escaped(&text);
    let is_escaped = matches!(text, std::borrow::Cow::Owned(_));
    shown.push_str(&text);
    shown.extend((end < line.len()).then_some(CUT_MARK));
    DisplayLine { text: shown, is_cut: start > 0 || end < line.len(), is_lossy, is_escaped, is_secret: false }
}

/// A line of a private key.
pub(crate) fn secret_line() -> DisplayLine {
    DisplayLine {
        text: PLACEHOLDER.to_owned(),
        is_cut: false,
        is_lossy: false,
        is_escaped: false,
        is_secret: true,
    }
}

/// Where `characters` after `from` end. A character has at most four bytes.
fn forward(line: &[u8], from: usize, characters: usize) -> usize {
    let most = line.len().min(from + 4 * characters);
    (from..most).filter(|&at| is_start(line[at])).nth(characters).unwrap_or(most)
}

/// Where `characters` before `to` begin.
fn back(line: &[u8], to: usize, characters: usize) -> usize {
    let least = to.saturating_sub(4 * characters);
    (least..to).rev().filter(|&at| is_start(line[at])).nth(characters - 1).unwrap_or(least)
}

/// Whether a byte starts a character.
fn is_start(byte: u8) -> bool {
    byte & 0b1100_0000 != 0b1000_0000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_line_is_shown_whole_without_its_terminator() {
        for line in ["a é", "a é\n", "a é\r\n"] {
            let shown = display_line(line.as_bytes(), 0);
            assert_eq!((shown.text.as_str(), shown.is_cut, shown.is_lossy), ("a é", false, false));
        }
    }

    #[test]
    fn a_long_line_is_cut_around_its_match_and_never_within_a_character() {
        let check = |before: usize, after: usize| {
            let line = format!("{}MATCH{}", "é".repeat(before), "日".repeat(after));
            let shown = display_line(line.as_bytes(), line.find("MATCH").unwrap());
            let cuts = shown.text.matches(CUT_MARK).count();
            assert!(shown.text.contains("MATCH") && !shown.is_lossy, "{before} {after}");
            assert_eq!(shown.text.chars().count() - cuts, MAX_LINE_CHARS.min(before + 5 + after));
            assert_eq!(shown.is_cut, cuts > 0);
            cuts
        };
        assert_eq!(check(0, 495), 0);
        assert_eq!(check(0, 496), 1);
        assert_eq!(check(5000, 0), 1);
        assert_eq!(check(5000, 5000), 2);
        assert_eq!(check(390, 5000), 1);
    }

    #[test]
    fn what_a_terminal_would_obey_or_hide_is_escaped() {
        let shown = display_line("ok\rrm \u{1b}[2K\u{202e}x\r\n".as_bytes(), 0);
        assert_eq!((shown.text.as_str(), shown.is_escaped), ("ok\\u{d}rm \\u{1b}[2K\\u{202e}x", true));
        assert!(!display_line(b"plain \\u{1b}", 0).is_escaped);
    }

    #[test]
    fn invalid_utf8_is_shown_as_replacement_characters() {
        let shown = display_line(b"caf\xe9", 0);
        assert_eq!((shown.text.as_str(), shown.is_lossy), ("caf\u{fffd}", true));
        assert_eq!(super::display_line(&[0x80; 9000], 8999).text.chars().count(), 4 * MAX_LINE_CHARS + 1);
    }
}
