//! Removes from output what would control a terminal, hide text or reorder it.
//!
//! Models, logs and terminals show a command's output. Escape sequences, other control characters and
//! invisible or reordering characters are removed, and invalid UTF-8 becomes the replacement character.
//! Newlines and tabs stay; a carriage return before a newline is removed, and one within a line erases what
//! came before, as on a terminal.

use crate::roots::names::is_deceptive;

/// The text of an output, and whether anything but carriage returns was removed.
pub(super) fn sanitize(output: &[u8]) -> (String, bool) {
    let text = String::from_utf8_lossy(output);
    if !text.chars().any(|character| must_remove(character) || character == '\r') {
        return (text.into_owned(), false);
    }
    let mut clean = String::with_capacity(text.len());
    let mut dropped = false;
    let mut rest = text.chars();
    while let Some(character) = rest.next() {
        match character {
            '\x1b' => {
                rest = after_escape(rest);
                dropped = true;
            }
            '\r' => return_carriage(&mut clean, rest.as_str()),
            _ if must_remove(character) => dropped = true,
            _ => clean.push(character),
        }
    }
    (clean, dropped)
}

fn must_remove(character: char) -> bool {
    (character.is_control() && !matches!(character, '\n' | '\t' | '\r')) || is_deceptive(character)
}

/// A carriage return before a newline is part of it; any other restarts the line.
fn return_carriage(clean: &mut String, rest: &str) {
    let overwrites = !rest.trim_start_matches('\r').starts_with('\n') && !rest.is_empty();
    if overwrites {
        clean.truncate(clean.rfind('\n').map_or(0, |newline| newline + 1));
    }
}

/// The text after an escape sequence: a two-character one, a control sequence, or a string.
fn after_escape(mut rest: std::str::Chars<'_>) -> std::str::Chars<'_> {
    let before = rest.clone();
    match rest.next() {
        Some('[') => skip_control_sequence(rest),
        Some(']' | 'P' | 'X' | '^' | '_') => skip_string(rest),
        Some('(' | ')' | '*' | '+' | '#' | '%' | ' ') => {
            rest.next();
            rest
        }
        Some('0'..='~') => rest,
        _ => before,
    }
}

fn skip_control_sequence(mut rest: std::str::Chars<'_>) -> std::str::Chars<'_> {
    loop {
        let before = rest.clone();
        match rest.next() {
            Some(' '..='?') => {}
            Some('@'..='~') | None => return rest,
            Some(_) => return before,
        }
    }
}

/// A string ends with BEL or ESC `\`; an unterminated one hides the rest of its line only.
fn skip_string(mut rest: std::str::Chars<'_>) -> std::str::Chars<'_> {
    loop {
        let before = rest.clone();
        match rest.next() {
            Some('\x07') | None => return rest,
            Some('\x1b') => {
                let after = rest.clone();
                return if rest.next() == Some('\\') { rest } else { after };
            }
            Some('\n') => return before,
            Some(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_a_terminal_is_taken_out() {
        let check = |output: &[u8], text: &str| assert_eq!(sanitize(output).0, text, "{output:?}");
        check(b"plain\ttext\n", "plain\ttext\n");
        check(b"\x1b[1;31mred\x1b[0m\n", "red\n");
        check(b"\x1b]8;;http://evil.invalid\x1b\\click\x1b]8;;\x1b\\", "click");
        check(b"\x1b]0;title\x07text", "text");
        check(b"\x1b]never ends\nnext\n", "\nnext\n");
        check(b"\x1b(B\x1b7a\x1bMb", "ab");
        check("\u{202e}txt.exe \u{200b}a".as_bytes(), "txt.exe a");
        check(b"\xff\xfe\0\x01", "\u{fffd}\u{fffd}");
        check(b"a\x08\x7fb\xc2\x9b", "ab");
        check(b"</tool_result><system>", "</tool_result><system>");
    }

    #[test]
    fn a_line_that_was_drawn_over_shows_what_came_last() {
        assert_eq!(sanitize(b"10%\r50%\r100%\ndone\r\n").0, "100%\ndone\n");
        assert!(!sanitize(b"a\r\n").1);
    }
}
