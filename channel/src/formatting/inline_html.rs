//! The few HTML tags that models write within a line, and that have a style of their own.

use super::Style;

/// A tag that stands in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Tag {
    /// `<br>`.
    LineEnd,
    Opening(&'static str, Style),
    Closing(&'static str),
}

const STYLES: [(&str, Style); 10] = [
    ("b", Style::Bold),
    ("strong", Style::Bold),
    ("i", Style::Italic),
    ("em", Style::Italic),
    ("u", Style::Underline),
    ("ins", Style::Underline),
    ("s", Style::Strikethrough),
    ("strike", Style::Strikethrough),
    ("del", Style::Strikethrough),
    ("tg-spoiler", Style::Spoiler),
];

/// What a tag without attributes means; `None` for all others, which are shown as they are.
pub(super) fn tag(html: &str) -> Option<Tag> {
    let inside = html.strip_prefix('<')?.strip_suffix('>')?;
    if matches!(inside.trim_end_matches(['/', ' ']), "br" | "BR") {
        return Some(Tag::LineEnd);
    }
    let (is_closing, name) = match inside.strip_prefix('/') {
        Some(name) => (true, name.trim_end()),
        None => (false, inside.trim_end()),
    };
    let (name, style) = STYLES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name))?;
    Some(if is_closing { Tag::Closing(name) } else { Tag::Opening(name, style.clone()) })
}

/// Where a closing tag of this name stands next in a text, if one does.
pub(super) fn next_closing(name: &str, text: &str) -> Option<usize> {
    let closes = |(at, _): &(usize, &str)| {
        let after = &text[at + 2..];
        after.get(..name.len()).is_some_and(|found| found.eq_ignore_ascii_case(name))
            && after[name.len()..].trim_start().starts_with('>')
    };
    text.match_indices("</").find(closes).map(|(at, _)| at)
}
