//! Text with formatting: what a reply that was written in Markdown looks like to a person.
//!
//! Pure functions, and no channel: which styles a channel shows, and how it counts, the channel knows. What
//! comes out always nests: two spans with common characters lie one within the other.

mod addresses;
mod builder;
mod inline_html;
mod markdown;
mod table;

use std::ops::Range;

use serde::{Deserialize, Serialize};

pub use markdown::render;

/// A text and the spans of it that have a style, in the order of their beginnings, longer ones first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StyledText {
    pub text: String,
    pub spans: Vec<Span>,
}

/// A part of a text in one style.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// In bytes of the text.
    pub range: Range<usize>,
    pub style: Style,
}

/// A text as messengers take it: its styles by offset and length in UTF-16 units.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormattedText {
    pub text: String,
    pub entities: Vec<Entity>,
}

impl FormattedText {
    pub fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), entities: Vec::new() }
    }

    /// The text alone, with the address of each link behind its words, as far as it then has at most so many
    /// UTF-16 units.
    pub fn without_formatting(&self, max_units: usize) -> String {
        let mut room = max_units.saturating_sub(units(&self.text));
        let (mut plain, mut copied) = (String::new(), 0);
        for entity in &self.entities {
            let Style::TextLink { url } = &entity.style else { continue };
            let [start, end] = [entity.offset, entity.offset + entity.length].map(|at| self.byte_at(at));
            let address = format!(" ({url})");
            let is_shown = url.trim_end_matches('/') == self.text[start..end].trim_end_matches('/');
            if is_shown || units(&address) > room {
                continue;
            }
            room -= units(&address);
            plain.extend([&self.text[copied..end], &address]);
            copied = end;
        }
        plain + &self.text[copied..]
    }

    /// The byte of a character that so many UTF-16 units stand before.
    pub fn byte_at(&self, unit: usize) -> usize {
        let mut before = 0;
        let found = self.text.char_indices().find(|(_, character)| {
            let is_there = before >= unit;
            before += character.len_utf16();
            is_there
        });
        found.map_or(self.text.len(), |(byte, _)| byte)
    }
}

/// A part of a text in one style. Its JSON is Telegram's `MessageEntity`, and so are the rows of the outbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entity {
    /// In UTF-16 units.
    pub offset: usize,
    /// In UTF-16 units; at least 1.
    pub length: usize,
    #[serde(flatten)]
    pub style: Style,
}

/// How a part of a text looks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Style {
    Bold,
    Italic,
    Underline,
    Strikethrough,
    Spoiler,
    Code,
    Pre {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        language: Option<String>,
    },
    TextLink {
        /// With `http` or `https`.
        url: String,
    },
    Blockquote,
    /// Shown with its first lines until somebody opens it.
    ExpandableBlockquote,
}

impl Style {
    /// Whether it can lie around or within every other style but code.
    const fn is_simple(&self) -> bool {
        matches!(self, Self::Bold | Self::Italic | Self::Underline | Self::Strikethrough | Self::Spoiler)
    }

    /// Whether nothing can lie within it.
    const fn is_code(&self) -> bool {
        matches!(self, Self::Code | Self::Pre { .. })
    }
}

impl StyledText {
    /// A text without formatting.
    pub fn plain(text: &str) -> Self {
        Self { text: text.to_owned(), spans: Vec::new() }
    }
}

/// The length of a text in UTF-16 units, as messengers count.
pub fn units(text: &str) -> usize {
    text.chars().map(char::len_utf16).sum()
}

/// The end of a text, of at most so many UTF-16 units; from the beginning of a line if one is near.
pub fn end_of(text: &str, max_units: usize) -> &str {
    let mut used = 0;
    let fits = text.char_indices().rev().take_while(|(_, character)| {
        used += character.len_utf16();
        used <= max_units
    });
    let start = fits.last().map_or(text.len(), |(at, _)| at);
    let end = &text[start..];
    match end.find('\n') {
        Some(line) if start > 0 && line < end.len() / 4 => end[line..].trim_start_matches(['\n', ' ']),
        _ => end.trim_start_matches(['\n', ' ']),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_text_begins_with_a_line_if_one_is_near() {
        assert_eq!(end_of("one\ntwo", 9), "one\ntwo");
        assert_eq!(end_of("first\nsecond line of it", 18), "second line of it");
        assert_eq!(end_of("first\nsecond\nthird", 12), "second\nthird");
        assert_eq!(end_of("a long line without an end", 6), "an end");
        assert_eq!(end_of("😀😀😀", 5), "😀😀");
        assert_eq!((end_of("", 5), end_of("x", 0)), ("", ""));
    }

    #[test]
    fn a_text_without_formatting_has_the_addresses_of_its_links_as_far_as_they_fit() {
        let check = |markdown: &str, max_units: usize, expected: &str| {
            let StyledText { text, spans } = render(markdown);
            let entity = |span: Span| Entity {
                offset: units(&text[..span.range.start]),
                length: units(&text[span.range]),
                style: span.style,
            };
            let formatted =
                FormattedText { entities: spans.into_iter().map(entity).collect(), text: text.clone() };
            assert_eq!(formatted.without_formatting(max_units), expected, "{markdown}");
        };
        check("plain", 4, "plain");
        check("**😀 é** [one](https://a.example/1) and [two](https://b.example/2).", 100, {
            "😀 é one (https://a.example/1) and two (https://b.example/2)."
        });
        check("[one](https://a.example/1), [two](https://b.example/2)", 30, {
            "one (https://a.example/1), two"
        });
        check("[one](https://a.example/1)", 25, "one (https://a.example/1)");
        check("[one](https://a.example/1)", 24, "one");
        check("[a.example](https://a.example/) <https://b.example>", 99, {
            "a.example (https://a.example/) https://b.example"
        });
    }
}
