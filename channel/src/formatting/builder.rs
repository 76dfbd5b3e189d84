//! Puts a styled text together: lines, indentation, list markers, and the styles that are open.

use std::ops::Range;

use super::{Span, Style, StyledText};

/// Blanks of a line in a list, for each level of it.
const INDENT: usize = 2;
/// Deeper levels are not indented any further.
const MAX_LEVELS: usize = 8;
/// A tab of code in blanks: messengers show a tab as one.
const TAB: &str = "    ";
/// A quote with more lines or bytes is shown folded.
const QUOTE_LINES: usize = 8;
const QUOTE_BYTES: usize = 700;

#[derive(Debug, Default)]
pub(super) struct Builder {
    text: String,
    spans: Vec<Span>,
    open: Vec<Open>,
    /// Line ends that are due before the next text: none is written at the end.
    gap: usize,
    levels: usize,
    /// A list item's marker that is due before its first text.
    marker: Option<String>,
    /// A quote has begun and has no text yet.
    quote_begins: bool,
}

/// A style that has begun.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) style: Style,
    /// The name of the HTML tag that began it, if one did.
    pub(super) tag: Option<&'static str>,
    at: usize,
}

impl Builder {
    /// Writes words, whose line ends stay.
    pub(super) fn write(&mut self, text: &str) {
        for (number, line) in text.split('\n').enumerate() {
            if number > 0 {
                self.end_line();
            }
            if !line.is_empty() {
                self.begin_line();
                push_clean(&mut self.text, line, " ");
            }
        }
    }

    /// Writes words in one style.
    pub(super) fn write_in(&mut self, style: Style, text: &str) {
        self.open(style, None);
        self.write(text);
        self.close();
    }

    /// Writes a block of code; its lines are not indented.
    pub(super) fn write_code(&mut self, language: Option<String>, code: &str) {
        let code = code.trim_end();
        if code.is_empty() {
            return;
        }
        self.begin_block(2);
        self.write_gap();
        self.quote_begins = false;
        let at = self.text.len();
        push_clean(&mut self.text, code, TAB);
        self.spans.push(Span { range: at..self.text.len(), style: Style::Pre { language } });
        self.gap = 2;
    }

    pub(super) fn end_line(&mut self) {
        self.separate((self.gap + 1).min(2));
    }

    /// A paragraph begins: on the line of the item's marker, if it is the first of a list item.
    pub(super) fn begin_paragraph(&mut self) {
        if self.marker.is_none() {
            self.separate(2);
        }
    }

    /// Something begins that has lines of its own.
    pub(super) fn begin_block(&mut self, gap: usize) {
        let gap = if self.marker.is_some() { 1 } else { gap };
        self.flush_marker();
        self.separate(gap);
    }

    /// At least so many line ends are due before the next text.
    pub(super) fn separate(&mut self, gap: usize) {
        if !self.quote_begins {
            self.gap = self.gap.max(gap);
        }
    }

    pub(super) fn begin_list(&mut self) {
        self.begin_block(if self.levels == 0 { 2 } else { 1 });
        self.levels += 1;
    }

    pub(super) fn end_list(&mut self) {
        self.levels = self.levels.saturating_sub(1);
        self.separate(if self.levels == 0 { 2 } else { 1 });
    }

    pub(super) fn begin_item(&mut self, marker: String) {
        self.separate(1);
        self.marker = Some(marker);
    }

    /// The item is a task that is done or not.
    pub(super) fn mark_task(&mut self, done: bool) {
        let number = self.marker.take().filter(|marker| !marker.starts_with('•')).unwrap_or_default();
        self.marker = Some(format!("{number}{} ", if done { '☑' } else { '☐' }));
    }

    pub(super) fn begin_quote(&mut self) {
        self.begin_block(2);
        self.begin_line();
        self.quote_begins = true;
        self.open.push(Open { style: Style::Blockquote, tag: None, at: self.text.len() });
    }

    pub(super) fn end_quote(&mut self) {
        self.quote_begins = false;
        self.close();
        self.separate(2);
    }

    /// Begins a style, behind the line breaks due before the next text.
    pub(super) fn open(&mut self, style: Style, tag: Option<&'static str>) {
        self.begin_line();
        self.open.push(Open { style, tag, at: self.text.len() });
    }

    /// The style that was begun last.
    pub(super) fn innermost(&self) -> Option<&Open> {
        self.open.last()
    }

    /// What was written since the style began that was begun last.
    pub(super) fn innermost_text(&self) -> &str {
        let at = self.open.last().map_or(self.text.len(), |open| open.at);
        &self.text[at..]
    }

    /// Ends the style that was begun last, without showing it.
    pub(super) fn discard(&mut self) {
        self.open.pop();
    }

    /// Ends the style that was begun last. One that lies within the same, or that its surroundings do not
    /// allow, is not shown.
    pub(super) fn close(&mut self) {
        let Some(Open { style, at, .. }) = self.open.pop() else { return };
        if self.open.iter().any(|outer| excludes(&outer.style, &style)) {
            return;
        }
        let range = match style {
            Style::Blockquote => at..at + self.text[at..].trim_end().len(),
            _ => trimmed(&self.text, at..self.text.len()),
        };
        let style = match style {
            Style::Blockquote if is_long(&self.text[range.clone()]) => Style::ExpandableBlockquote,
            style => style,
        };
        if !range.is_empty() {
            self.spans.push(Span { range, style });
        }
    }

    /// The text without blanks at its end, and its spans.
    pub(super) fn finish(mut self) -> StyledText {
        self.text.truncate(self.text.trim_end().len());
        let mut spans = without_code(&self.text, self.spans);
        for span in &mut spans {
            span.range.end = span.range.end.min(self.text.len());
        }
        spans.retain(|span| span.range.start < span.range.end);
        spans.sort_by_key(|span| (span.range.start, std::cmp::Reverse(span.range.end)));
        StyledText { text: self.text, spans }
    }

    /// Writes the marker of an item that has no text.
    pub(super) fn flush_marker(&mut self) {
        if self.marker.is_some() {
            self.begin_line();
        }
    }

    fn begin_line(&mut self) {
        self.write_gap();
        self.quote_begins = false;
        let levels = self.levels.min(MAX_LEVELS);
        if let Some(marker) = self.marker.take() {
            self.indent(levels.saturating_sub(1));
            self.text.push_str(&marker);
        } else if self.text.is_empty() || self.text.ends_with('\n') {
            self.indent(levels);
        }
    }

    fn indent(&mut self, levels: usize) {
        self.text.extend(std::iter::repeat_n(' ', levels * INDENT));
    }

    fn write_gap(&mut self) {
        let gap = std::mem::take(&mut self.gap);
        if !self.text.is_empty() {
            let have = self.text.len() - self.text.trim_end_matches('\n').len();
            self.text.extend(std::iter::repeat_n('\n', gap.saturating_sub(have)));
        }
    }
}

/// Whether a style does not show within another.
fn excludes(outer: &Style, inner: &Style) -> bool {
    match (outer, inner) {
        (Style::TextLink { .. }, Style::TextLink { .. } | Style::Code) => true,
        _ => outer == inner,
    }
}

fn is_long(quote: &str) -> bool {
    quote.len() > QUOTE_BYTES || quote.lines().nth(QUOTE_LINES).is_some()
}

/// The same range without blanks at both ends.
fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let words = &text[range.clone()];
    let start = range.start + words.len() - words.trim_start().len();
    start..(range.start + words.trim_end().len()).max(start)
}

/// Takes simple styles away from code, which can have no other style.
fn without_code(text: &str, spans: Vec<Span>) -> Vec<Span> {
    let mut code: Vec<Range<usize>> =
        spans.iter().filter(|span| span.style.is_code()).map(|span| span.range.clone()).collect();
    code.sort_by_key(|range| range.start);
    let mut pieces = Vec::with_capacity(spans.len());
    for Span { mut range, style } in spans {
        if style.is_simple() {
            for inner in &code[code.partition_point(|inner| inner.end <= range.start)..] {
                if inner.start >= range.end {
                    break;
                }
                if range.start < inner.start {
                    let range = trimmed(text, range.start..inner.start);
                    pieces.push(Span { range, style: style.clone() });
                }
                range.start = inner.end.min(range.end);
            }
        }
        let range = if style.is_simple() { trimmed(text, range) } else { range };
        pieces.push(Span { range, style });
    }
    pieces.retain(|piece| !piece.range.is_empty());
    pieces
}

/// Adds text without characters that messengers drop or replace, which would move every style behind them.
fn push_clean(to: &mut String, text: &str, tab: &str) {
    for character in text.chars() {
        match character {
            '\r' | '\u{202a}'..='\u{202e}' => {}
            '\u{2028}' | '\u{2029}' => to.push('\n'),
            '\t' => to.push_str(tab),
            '\n' => to.push('\n'),
            '\0'..='\u{1f}' => to.push(' '),
            _ => to.push(character),
        }
    }
}
