//! Splits a reply into messages that Telegram accepts; a pure function.
//!
//! A message has at most 4096 UTF-16 units (<https://core.telegram.org/bots/api#sendmessage>), and Telegram
//! drops entities beyond the hundredth. A message ends at the end of a paragraph if possible, else of a line,
//! else of a word, and never within a character that people see as one. What fits into one message as a block
//! of code, as inline code or as a link is not divided; a longer one, like every other style, ends with its
//! message and begins again with the next.

use channel::content::{Content, File, FileBody};
use channel::formatting::{self, Entity, FormattedText, Span, Style, StyledText, units};
use protocol::ReplyFormat;
use texts::{Language, Text};
use unicode_segmentation::GraphemeCursor;

/// The most UTF-16 units of one message.
pub(super) const MAX_UNITS: usize = 4096;
/// The most entities of one message.
const MAX_ENTITIES: usize = 100;

/// A message is not made shorter than this fraction of the maximum for a nicer end.
const LEAST_FILL: usize = 4;

/// A reply of more messages than this is sent as its first one and a file with the whole text.
const MAX_MESSAGES: usize = 8;

/// What a reply is sent as.
pub(super) fn reply(text: &str, format: ReplyFormat, language: Language) -> Vec<Content> {
    let styled = match format {
        ReplyFormat::Markdown => formatting::render(text),
        ReplyFormat::Plain => StyledText::plain(text),
    };
    let mut messages = divide(&styled, MAX_UNITS);
    if messages.len() <= MAX_MESSAGES {
        return messages.into_iter().map(content).collect();
    }
    let whole = Text::WholeAnswer { messages: i64::try_from(messages.len()).unwrap_or(i64::MAX) };
    let file = File {
        name: "answer.md".to_owned(),
        caption: FormattedText::plain(whole.to(language)),
        body: FileBody::Bytes(text.as_bytes().to_vec()),
        media: None,
    };
    vec![content(messages.swap_remove(0)), Content::Document(file)]
}

/// The messages of a text without formatting: the text itself if it fits into one.
pub(super) fn into_messages(text: &str) -> Vec<Content> {
    divide(&StyledText::plain(text), MAX_UNITS).into_iter().map(content).collect()
}

/// A caption that was written in Markdown, however long it is.
pub(super) fn caption(markdown: &str) -> FormattedText {
    let styled = formatting::render(markdown);
    let mut caption = message(&styled.text, 0, styled.text.len(), &styled.spans);
    caption.entities.truncate(MAX_ENTITIES);
    caption
}

/// The end of a text that is being written in Markdown, as one message; what is open in it ends with it.
pub(super) fn growing(markdown: &str, max_units: usize) -> FormattedText {
    let StyledText { text, mut spans } = formatting::render(markdown);
    let start = text.len() - formatting::end_of(&text, max_units).len();
    spans.retain(|span| span.range.end > start);
    let mut end = message(&text, start, text.len(), &spans);
    end.entities.truncate(MAX_ENTITIES);
    end
}

fn content(message: FormattedText) -> Content {
    if message.entities.is_empty() { Content::Text(message.text) } else { Content::Formatted(message) }
}

pub(super) fn divide(styled: &StyledText, max_units: usize) -> Vec<FormattedText> {
    let text = &styled.text;
    let (mut messages, mut start, mut spans) = (Vec::new(), 0, styled.spans.as_slice());
    let mut carried: Vec<Span> = Vec::new();
    while !text[start..].trim().is_empty() {
        let furthest = furthest_end(text, start, max_units, &carried, spans);
        let end =
            if furthest == text.len() { furthest } else { best_end(text, start, furthest, &carried, spans) };
        let begun = spans.partition_point(|span| span.range.start < end);
        carried.extend_from_slice(&spans[..begun]);
        spans = &spans[begun..];
        messages.push(message(text, start, end, &carried));
        carried.retain(|span| span.range.end > end);
        start = next_start(text, end, &carried, spans);
    }
    messages
}

/// Where the next message begins: without blanks, but those that code begins with.
fn next_start(text: &str, end: usize, carried: &[Span], spans: &[Span]) -> usize {
    let after = |blanks: &[char]| text.len() - text[end..].trim_start_matches(blanks).len();
    let code = match carried.iter().any(is_pre) {
        true => Some(after(&['\n'])),
        false => spans.iter().find(|span| is_pre(span)).map(|span| span.range.start),
    };
    let words = after(&['\n', ' ']);
    code.map_or(words, |code| code.min(words))
}

/// One message; its spans are cut where it begins and ends.
fn message(text: &str, start: usize, end: usize, spans: &[Span]) -> FormattedText {
    let words = text[start..end].trim_end();
    let (mut counted, mut counted_units) = (0, 0);
    let mut entity = |span: &Span| {
        let from = span.range.start.max(start) - start;
        let to = words.len().min(span.range.end - start);
        let inside = words.get(from..to)?.trim_end();
        // Spans come in the order of their beginnings.
        if from >= counted {
            counted_units += units(&words[counted..from]);
        } else {
            counted_units = units(&words[..from]);
        }
        counted = from;
        let entity = Entity { offset: counted_units, length: units(inside), style: span.style.clone() };
        (!inside.trim().is_empty()).then_some(entity)
    };
    FormattedText { text: words.to_owned(), entities: spans.iter().filter_map(&mut entity).collect() }
}

/// The furthest byte that a message can end at.
fn furthest_end(text: &str, start: usize, max_units: usize, carried: &[Span], spans: &[Span]) -> usize {
    let mut used = 0;
    let too_long = text[start..].char_indices().find(|(_, character)| {
        used += character.len_utf16();
        used > max_units
    });
    let fits = too_long.map_or(text.len(), |(at, _)| start + at);
    let one_too_many = spans.get(MAX_ENTITIES.saturating_sub(carried.len()));
    let end = one_too_many.map_or(fits, |span| span.range.start.min(fits));
    if is_boundary(text, end) {
        return end;
    }
    match GraphemeCursor::new(end, text.len(), true).prev_boundary(text, 0) {
        Ok(Some(whole)) if whole > start => whole,
        // A character of thousands of marks.
        _ => end,
    }
}

/// Whether no character that people see as one lies on both sides.
fn is_boundary(text: &str, at: usize) -> bool {
    GraphemeCursor::new(at, text.len(), true).is_boundary(text, 0) == Ok(true)
}

/// The best byte to end a message at that can reach to `furthest`.
fn best_end(text: &str, start: usize, furthest: usize, carried: &[Span], spans: &[Span]) -> usize {
    let least = text.ceil_char_boundary(start + (furthest - start) / LEAST_FILL);
    let window = &text[start..furthest];
    let is_end = |end: &usize| *end > least && is_boundary(text, *end);
    let after = |mark: &str| window.rfind(mark).map(|at| start + at + mark.len()).filter(is_end);
    let end = match divided(carried, spans, furthest).filter(|span| is_pre(span)) {
        Some(code) if code.range.start > least => code.range.start,
        // A line of code that is indented would lose that at the beginning of a message.
        Some(_) => unindented_line(text, least, furthest).or_else(|| after("\n")).unwrap_or(furthest),
        None => after("\n\n").or_else(|| after("\n")).or_else(|| after(" ")).unwrap_or(furthest),
    };
    match divided(carried, spans, end) {
        Some(span) if span.range.start > least => span.range.start,
        _ => end,
    }
}

/// The beginning of the last line before `furthest` that is not indented.
fn unindented_line(text: &str, least: usize, furthest: usize) -> Option<usize> {
    let begins = |at: &usize| text[*at..].starts_with(|first: char| !first.is_whitespace());
    text[least..furthest].rmatch_indices('\n').map(|(at, _)| least + at + 1).find(begins)
}

/// The code or link that an end would divide.
fn divided<'a>(carried: &'a [Span], spans: &'a [Span], end: usize) -> Option<&'a Span> {
    let begun = spans.partition_point(|span| span.range.start < end);
    carried.iter().chain(&spans[..begun]).find(|span| {
        matches!(span.style, Style::Code | Style::Pre { .. } | Style::TextLink { .. })
            && span.range.start < end
            && end < span.range.end
    })
}

fn is_pre(span: &Span) -> bool {
    matches!(span.style, Style::Pre { .. })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(text: &str, max_units: usize) -> Vec<String> {
        divide(&StyledText::plain(text), max_units).into_iter().map(|message| message.text).collect()
    }

    #[test]
    fn a_caption_keeps_its_formatting_and_stays_one() {
        let bold = |offset, length| Entity { offset, length, style: Style::Bold };
        let (text, entities) = ("for you: ä report".to_owned(), vec![bold(9, 8)]);
        assert_eq!(caption("for you: **ä report**\n"), FormattedText { text, entities });
        assert_eq!(caption(""), FormattedText::plain(""));
        assert_eq!(caption("a_b_c 2 * 3 * 4"), FormattedText::plain("a_b_c 2 * 3 * 4"));
        let long = caption(&"**x** ".repeat(5000));
        assert_eq!((long.text.len(), long.entities.len()), (9999, MAX_ENTITIES));
    }

    #[test]
    fn a_long_text_ends_at_paragraphs_then_lines_then_words() {
        for (text, max_units, expected) in [
            ("short\n\ntext\n", 20, vec!["short\n\ntext"]),
            ("one two\n\nthree\nfour five six", 20, vec!["one two", "three\nfour five six"]),
            ("one two three\nfour five six", 20, vec!["one two three", "four five six"]),
            ("one two three four five six", 20, vec!["one two three four", "five six"]),
            (&"ä".repeat(40), 16, vec![&"ä".repeat(16), &"ä".repeat(16), &"ä".repeat(8)]),
        ] {
            assert_eq!(pieces(text, max_units), expected, "{text:?}");
        }
    }

    #[test]
    fn length_is_counted_in_utf_16_units() {
        let message = "😀".repeat(MAX_UNITS / 2);
        assert_eq!(pieces(&message, MAX_UNITS).len(), 1);
        assert_eq!(pieces(&(message + "😀"), MAX_UNITS).len(), 2);
    }

    #[test]
    fn a_very_long_reply_is_sent_as_its_beginning_and_a_file_with_the_whole() {
        let whole = "a **line** of an endless answer\n".repeat(2000);
        match reply(&whole, ReplyFormat::Markdown, Language::English).as_slice() {
            [Content::Formatted(first), Content::Document(file)] => {
                assert!(first.text.starts_with("a line of") && file.body == FileBody::Bytes(whole.into()));
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_plain_reply_is_shown_character_by_character() {
        let text = "__init__.py *.rs <b> [a](b)";
        assert_eq!(reply(text, ReplyFormat::Plain, Language::English), [Content::Text(text.to_owned())]);
    }
}
