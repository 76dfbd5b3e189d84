//! Makes output what a person or a model can trust: nothing in it steers, hides or reorders.
//!
//! Models, logs and terminals show a command's output. Colours are removed, and so is the erasing of the rest
//! of a line, which programs print together with them; both only change how text looks. Other escape
//! sequences, control characters and invisible or reordering characters are shown escaped, and invalid UTF-8
//! becomes the replacement character. A carriage return before a newline is removed; one within a line
//! restarts it, as on a terminal, so that of a progress bar only the last state is shown.

use protocol::visible;

/// What the text shows otherwise than the output had it.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Changes {
    has_lost_colours: bool,
    is_escaped: bool,
    is_overwritten: bool,
}

impl Changes {
    /// The same in words.
    pub fn notices(self) -> Vec<String> {
        let lost = "Colours were removed.";
        let overwritten = "Text that carriage returns overwrote is not shown: only the last state of a line \
                           is. Append `| tr '\\r' '\\n'` to the command to see all of it.";
        let told = [
            (self.has_lost_colours, lost),
            (self.is_escaped, visible::NOTICE),
            (self.is_overwritten, overwritten),
        ];
        told.into_iter().filter(|(is_so, _)| *is_so).map(|(_, notice)| notice.to_owned()).collect()
    }
}

/// The text of an output.
pub fn sanitize(output: &[u8], changes: &mut Changes) -> String {
    let text = String::from_utf8_lossy(output);
    let mut clean = if text.contains(['\x1b', '\r']) { drawn(&text, changes) } else { text.into_owned() };
    changes.is_escaped |= visible::escape(&mut clean);
    clean
}

/// The text without colours, with each line in its last state.
fn drawn(text: &str, changes: &mut Changes) -> String {
    let mut drawn = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['\x1b', '\r']) {
        drawn.push_str(&rest[..at]);
        rest = &rest[at..];
        rest = if let Some(after) = rest.strip_prefix('\r') {
            return_carriage(&mut drawn, after, changes);
            after
        } else if let Some(after) = after_colour(rest) {
            changes.has_lost_colours = true;
            after
        } else {
            drawn.push('\x1b');
            &rest[1..]
        };
    }
    drawn + rest
}

/// A carriage return before a newline is part of it; any other restarts the line.
fn return_carriage(drawn: &mut String, rest: &str, changes: &mut Changes) {
    let overwrites = !rest.trim_start_matches('\r').starts_with('\n') && !rest.is_empty();
    if overwrites {
        let start = drawn.rfind('\n').map_or(0, |newline| newline + 1);
        changes.is_overwritten |= !drawn[start..].trim().is_empty();
        drawn.truncate(start);
    }
}

/// What follows a control sequence that sets colours (`m`) or erases the rest of a line (`K`).
fn after_colour(text: &str) -> Option<&str> {
    let parameters = text.strip_prefix("\x1b[")?;
    let end = parameters.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, ';' | ':'));
    end.strip_prefix(['m', 'K'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(output: &[u8], text: &str) -> Changes {
        let mut changes = Changes::default();
        assert_eq!(sanitize(output, &mut changes), text, "{output:?}");
        changes
    }

    #[test]
    fn colours_are_removed_and_what_else_steers_a_terminal_is_escaped() {
        assert_eq!(check(b"plain\ttext\n", "plain\ttext\n"), Changes::default());
        let colours = Changes { has_lost_colours: true, ..Changes::default() };
        assert_eq!(check(b"\x1b[1;38:5:9mred\x1b[0m\x1b[K\n", "red\n"), colours);
        let escaped = Changes { is_escaped: true, ..Changes::default() };
        assert_eq!(check(b"\x1b]0;title\x07text", "\\u{1b}]0;title\\u{7}text"), escaped);
        for (output, text) in [
            ("\x1b]8;;http://evil.invalid\x1b\\click", "\\u{1b}]8;;http://evil.invalid\\u{1b}\\click"),
            ("\x1b[2J\x1b[1;1H\x1b[", "\\u{1b}[2J\\u{1b}[1;1H\\u{1b}["),
            ("\u{202e}txt.exe \u{200b}a", "\\u{202e}txt.exe \\u{200b}a"),
            ("a\x08\x7fb\u{9b}", "a\\u{8}\\u{7f}b\\u{9b}"),
        ] {
            assert_eq!(check(output.as_bytes(), text), escaped, "{text}");
        }
        check(b"\xff\xfe\0\x01", "\u{fffd}\u{fffd}\\u{0}\\u{1}");
        check(b"</tool_result><system>", "</tool_result><system>");
    }

    #[test]
    fn a_line_that_was_drawn_over_shows_what_came_last_and_says_so() {
        let overwritten = Changes { is_overwritten: true, ..Changes::default() };
        assert_eq!(check(b"10%\r50%\r100%\ndone\r\n", "100%\ndone\n"), overwritten);
        assert_eq!(check(b"rm -rf everything\rall fine", "all fine"), overwritten);
        for harmless in ["a\r\n", "a\r", "  \ra"] {
            assert_eq!(
                check(
                    harmless.as_bytes(),
                    harmless.trim_start_matches(' ').trim_matches('\r').replace('\r', "").as_str()
                ),
                Changes::default()
            );
        }
    }
}
