//! Text with formatting: what a reply that was written in Markdown looks like to a person.
//!
//! Pure functions, and no channel: which styles a channel shows, and how it counts, the channel knows. What
//! comes out always nests: two spans with common characters lie one within the other.

mod builder;
mod inline_html;
mod markdown;
mod table;

use std::ops::Range;

use serde::{Deserialize, Serialize};

pub(crate) use markdown::render;

/// A text and the spans of it that have a style, in the order of their beginnings, longer ones first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct StyledText {
    pub text: String,
    pub spans: Vec<Span>,
}

/// A part of a text in one style.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Span {
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
    pub(crate) fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), entities: Vec::new() }
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
    pub(crate) fn plain(text: &str) -> Self {
        Self { text: text.to_owned(), spans: Vec::new() }
    }
}

/// The length of a text in UTF-16 units, as messengers count.
pub(crate) fn units(text: &str) -> usize {
    text.chars().map(char::len_utf16).sum()
}
