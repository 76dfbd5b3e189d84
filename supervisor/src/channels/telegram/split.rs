//! Splits a reply into messages that Telegram accepts; a pure function.
//!
//! A message has at most 4096 UTF-16 units (<https://core.telegram.org/bots/api#sendmessage>). It ends at
//! the end of a paragraph if possible, else of a line, else of a word. A code block that continues in the
//! next message is closed in the first and opened again in the second.

use crate::channel::content::{Content, File};

/// The most UTF-16 units of one message.
pub(super) const MAX_UNITS: usize = 4096;

/// A message is not made shorter than this fraction of the maximum for a nicer end.
const LEAST_FILL: usize = 4;

const FENCE: &str = "```";

/// A reply of more messages than this is sent as its first one and a file with the whole text.
const MAX_MESSAGES: usize = 8;

/// What a reply is sent as.
pub(super) fn reply(text: &str) -> Vec<Content> {
    let mut messages = into_messages(text);
    let of = messages.len();
    if of <= MAX_MESSAGES {
        return messages.into_iter().map(Content::Text).collect();
    }
    let file = File {
        name: "answer.md".to_owned(),
        caption: format!("The whole answer; as text it would be {of} messages."),
        bytes: text.as_bytes().to_vec(),
    };
    vec![Content::Text(messages.swap_remove(0)), Content::Document(file)]
}

/// The messages of a text: the text itself if it fits into one.
pub(super) fn into_messages(text: &str) -> Vec<String> {
    into_pieces(text, MAX_UNITS)
}

fn into_pieces(text: &str, max_units: usize) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut rest = text.trim_end().to_owned();
    while units(&rest) > max_units {
        // Leave room for the line that closes a code block.
        let end = best_end(&rest, max_units - FENCE.len() - 1);
        let piece = rest[..end].trim_end_matches([' ', '\n']).to_owned();
        let next = rest[end..].trim_start_matches('\n');
        rest = match open_fence(&piece) {
            Some(opening) => {
                pieces.push(format!("{piece}\n{FENCE}"));
                format!("{opening}\n{next}")
            }
            None => {
                pieces.push(piece);
                next.to_owned()
            }
        };
    }
    pieces.push(rest);
    pieces.retain(|piece| !piece.trim().is_empty());
    pieces
}

/// The length of a text in UTF-16 units, as Telegram counts.
pub(super) fn units(text: &str) -> usize {
    text.chars().map(char::len_utf16).sum()
}

/// The best byte to end a piece of at most `max_units` at.
fn best_end(text: &str, max_units: usize) -> usize {
    let furthest = furthest_end(text, max_units);
    let least = furthest / LEAST_FILL;
    let window = &text[..furthest];
    let ends = ["\n\n", "\n", " "].map(|mark| window.rfind(mark).map(|at| at + mark.len()));
    ends.into_iter().flatten().find(|end| *end > least).unwrap_or(furthest)
}

fn furthest_end(text: &str, max_units: usize) -> usize {
    let mut used = 0;
    for (at, character) in text.char_indices() {
        used += character.len_utf16();
        if used > max_units {
            return at;
        }
    }
    text.len()
}

/// The line that opened the block still open at the end; a long one is cut, so that pieces make progress.
fn open_fence(text: &str) -> Option<&str> {
    let mut open = None;
    for line in text.lines().filter(|line| line.trim_start().starts_with(FENCE)) {
        open = match open {
            None => Some(line.trim()),
            Some(_) => None,
        };
    }
    open.map(|line| if line.len() > 40 { FENCE } else { line })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_ends_at_paragraphs_then_lines_then_words_and_code_blocks_stay_closed() {
        let code = "```rust\nlet a = 1;\nlet b = 2;\nlet c = 3;\n```";
        let [a, b, c] = ["a = 1", "b = 2", "c = 3"].map(|line| format!("```rust\nlet {line};\n```"));
        for (text, max_units, expected) in [
            ("short\n\ntext\n", 20, vec!["short\n\ntext"]),
            ("one two\n\nthree\nfour five six", 20, vec!["one two", "three\nfour five six"]),
            ("one two three\nfour five six", 20, vec!["one two three", "four five six"]),
            ("one two three four five six", 20, vec!["one two three", "four five six"]),
            (&"ä".repeat(40), 20, vec![&"ä".repeat(16), &"ä".repeat(16), &"ä".repeat(8)]),
            (code, 32, vec![&a, &b, &c]),
        ] {
            assert_eq!(into_pieces(text, max_units), expected, "{text:?}");
        }
    }

    #[test]
    fn length_is_counted_in_utf_16_units() {
        let message = "😀".repeat(MAX_UNITS / 2);
        assert_eq!(into_messages(&message).len(), 1);
        assert_eq!(into_messages(&(message + "😀")).len(), 2);
    }

    #[test]
    fn every_message_fits_and_no_line_is_lost() {
        let line = |n: usize| format!("{n} {}", "word ".repeat(n % 40));
        let text: String = (0..2000).map(|n| line(n) + if n % 7 == 0 { "\n\n" } else { "\n" }).collect();
        let messages = into_messages(&text);
        assert!(messages.iter().all(|message| units(message) <= MAX_UNITS && !message.is_empty()));
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words(&messages.join("\n")), words(&text));
    }

    #[test]
    fn a_very_long_reply_is_sent_as_its_beginning_and_a_file_with_the_whole() {
        let whole = "a line of an endless answer\n".repeat(2000);
        match reply(&whole).as_slice() {
            [Content::Text(first), Content::Document(file)] => {
                assert!(whole.starts_with(first.as_str()) && file.bytes == whole.as_bytes());
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_fence_that_never_ends_still_makes_progress() {
        let messages = into_messages(&format!("```{}\n{}", "x".repeat(5000), "y\n".repeat(5000)));
        assert!(messages.len() < 12 && messages.iter().all(|message| units(message) <= MAX_UNITS));
    }
}
