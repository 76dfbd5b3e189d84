//! The end of a reply that is being written, in a few lines above the line that says what the task does.

use channel::formatting::{StyledText, render};

use super::width::wrapped;

/// The most lines, so that all of them are on the screen and can be drawn over.
const MAX_LINES: usize = 8;

/// The last lines of it, each at most `columns` wide.
pub(crate) fn lines(markdown: &str, columns: usize) -> Vec<String> {
    let StyledText { text, .. } = render(markdown);
    let written = text.trim_end().lines().rev();
    let mut newest_first = written.flat_map(|line| wrapped(line, columns).into_iter().rev());
    let mut lines: Vec<String> = newest_first.by_ref().take(MAX_LINES).collect();
    lines.reverse();
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_lines_are_shown_and_none_is_too_wide_or_steers() {
        assert_eq!(lines("", 10), Vec::<String>::new());
        assert_eq!(lines("**one** two three\n\n```\nfo", 9), ["one two", "three", "", "fo"]);
        let long = (0..50).map(|number| format!("line {number}\n\n")).collect::<String>();
        assert_eq!(lines(&long, 20).len(), MAX_LINES);
        assert_eq!(lines(&long, 20).last().unwrap(), "line 49");
        assert!(!lines("a\u{1b}[2J`b\u{1b}[2J`", 20).concat().contains(char::is_control));
    }
}
