//! Markdown to styled text: the events of the parser, one by one.
//!
//! Nothing is lost: what has no style of its own, such as HTML, is shown as it was written.

use std::collections::HashMap;
use std::ops::Range;

use pulldown_cmark::{BlockQuoteKind, CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use super::addresses;
use super::builder::Builder;
use super::inline_html::{self, Tag as HtmlTag};
use super::table::Table;
use super::{Style, StyledText};

const RULE: &str = "———";
/// A longer address is shown, not linked.
const MAX_URL_BYTES: usize = 2048;
const MAX_LANGUAGE_BYTES: usize = 40;

/// What a text in Markdown looks like. A text that would show nothing is returned as it is.
pub fn render(markdown: &str) -> StyledText {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_GFM;
    let mut renderer = Renderer { source: markdown, ..Renderer::default() };
    for (event, range) in Parser::new_ext(markdown, options).into_offset_iter() {
        renderer.take(event, range);
    }
    let styled = renderer.builder.finish();
    if styled.text.trim().is_empty() { StyledText::plain(markdown) } else { styled }
}

#[derive(Default)]
struct Renderer<'a> {
    source: &'a str,
    builder: Builder,
    /// The numbers of the next items of the lists that are open; none in a list without numbers.
    lists: Vec<Option<u64>>,
    /// Where each link leads that is open.
    links: Vec<String>,
    code: Option<CodeBlock>,
    table: Table,
    /// What was written before the cell that is open.
    around_cell: Option<Builder>,
    /// Where the block ends that is open, in bytes of the source.
    block_end: usize,
    /// For each tag, from where its next closing one was looked for last, and where it stands: at the block's
    /// end if there is none. Every part of the source is searched once.
    closing: HashMap<&'static str, Range<usize>>,
    /// For each style of the Markdown that is open, its closing mark, if the mark is a character of the text.
    marks: Vec<Option<&'a str>>,
}

struct CodeBlock {
    language: Option<String>,
    text: String,
}

impl<'a> Renderer<'a> {
    fn take(&mut self, event: Event<'_>, range: Range<usize>) {
        match event {
            Event::Start(tag) => self.start(tag, &range),
            Event::End(tag) => self.end(tag),
            Event::Text(text) | Event::Html(text) => match &mut self.code {
                Some(code) => code.text.push_str(&text),
                None => self.builder.write(&text),
            },
            Event::Code(text) => self.builder.write_in(Style::Code, &text),
            Event::InlineHtml(html) => self.inline_html(&html, range.end),
            Event::InlineMath(text) | Event::DisplayMath(text) | Event::FootnoteReference(text) => {
                self.builder.write(&text);
            }
            Event::SoftBreak | Event::HardBreak => self.builder.end_line(),
            Event::Rule => {
                self.builder.begin_block(2);
                self.builder.write(RULE);
                self.builder.separate(2);
            }
            Event::TaskListMarker(done) => self.builder.mark_task(done),
        }
    }

    fn start(&mut self, tag: Tag<'_>, range: &Range<usize>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => {
                self.block_end = range.end;
                self.builder.begin_paragraph();
            }
            Tag::Heading { .. } => {
                self.block_end = range.end;
                self.builder.begin_paragraph();
                self.builder.open(Style::Bold, None);
            }
            Tag::BlockQuote(kind) => self.start_quote(kind),
            Tag::CodeBlock(kind) => self.start_code(&kind),
            Tag::List(first) => {
                self.lists.push(first);
                self.builder.begin_list();
            }
            Tag::Item => {
                self.block_end = range.end;
                let marker = self.next_marker();
                self.builder.begin_item(marker);
            }
            Tag::Table(alignments) => self.table = Table { alignments, rows: Vec::new() },
            Tag::TableHead | Tag::TableRow => self.table.rows.push(Vec::new()),
            Tag::TableCell => {
                self.block_end = range.end;
                self.around_cell = Some(std::mem::take(&mut self.builder));
            }
            Tag::Emphasis => self.start_style(Style::Italic, 1, range),
            Tag::Strong => self.start_style(Style::Bold, 2, range),
            Tag::Strikethrough => {
                let length = if self.source[range.start..].starts_with("~~") { 2 } else { 1 };
                self.start_style(Style::Strikethrough, length, range);
            }
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => self.start_link(&dest_url),
            // Not enabled.
            Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::Superscript
            | Tag::Subscript
            | Tag::MetadataBlock(_) => {}
        }
    }

    /// Begins a style whose marks have so many bytes.
    fn start_style(&mut self, style: Style, length: usize, range: &Range<usize>) {
        let marks = addresses::shown_marks(self.source, range, length);
        self.marks.push(marks.map(|(_, closing)| closing));
        match marks {
            Some((opening, _)) => self.builder.write(opening),
            None => self.builder.open(style, None),
        }
    }

    fn end_style(&mut self) {
        match self.marks.pop().flatten() {
            Some(closing) => self.builder.write(closing),
            None => self.close(),
        }
    }

    fn start_quote(&mut self, kind: Option<BlockQuoteKind>) {
        self.builder.begin_quote();
        if let Some(kind) = kind {
            self.builder.write_in(Style::Bold, alert(kind));
        }
    }

    fn start_code(&mut self, kind: &CodeBlockKind<'_>) {
        let language = match kind {
            CodeBlockKind::Fenced(info) => language(info),
            CodeBlockKind::Indented => None,
        };
        self.code = Some(CodeBlock { language, text: String::new() });
    }

    fn start_link(&mut self, target: &str) {
        let url = link(target).map_or_else(String::new, String::from);
        self.builder.open(Style::TextLink { url }, None);
        self.links.push(target.to_owned());
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => {
                self.discard_html();
                self.builder.separate(2);
            }
            TagEnd::Heading(_) => {
                self.close();
                self.builder.separate(2);
            }
            TagEnd::BlockQuote(_) => self.builder.end_quote(),
            TagEnd::CodeBlock => {
                if let Some(CodeBlock { language, text }) = self.code.take() {
                    self.builder.write_code(language, &text);
                }
            }
            TagEnd::List(_) => {
                self.lists.pop();
                self.builder.end_list();
            }
            TagEnd::Item => {
                self.discard_html();
                self.builder.flush_marker();
            }
            TagEnd::Table => std::mem::take(&mut self.table).write(&mut self.builder),
            TagEnd::TableCell => self.end_cell(),
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => self.end_style(),
            TagEnd::Link | TagEnd::Image => self.end_link(),
            TagEnd::TableHead
            | TagEnd::TableRow
            | TagEnd::FootnoteDefinition
            | TagEnd::DefinitionList
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition
            | TagEnd::Superscript
            | TagEnd::Subscript
            | TagEnd::MetadataBlock(_) => {}
        }
    }

    /// Ends what the parser ends; a tag of HTML that is open within it has no end there.
    fn close(&mut self) {
        self.discard_html();
        self.builder.close();
    }

    fn discard_html(&mut self) {
        while self.builder.innermost().is_some_and(|open| open.tag.is_some()) {
            self.builder.discard();
        }
    }

    fn inline_html(&mut self, html: &str, end: usize) {
        match inline_html::tag(html) {
            Some(HtmlTag::LineEnd) => self.builder.end_line(),
            Some(HtmlTag::Opening(name, style)) if self.is_closed(name, end) => {
                self.builder.open(style, Some(name));
            }
            Some(HtmlTag::Closing(name))
                if self.builder.innermost().is_some_and(|open| open.tag == Some(name)) =>
            {
                self.builder.close();
            }
            _ => self.builder.write(html),
        }
    }

    /// Whether a tag that ends here is closed in its block.
    fn is_closed(&mut self, name: &'static str, end: usize) -> bool {
        let known = self.closing.entry(name).or_default();
        if !known.contains(&end) {
            let rest = self.source.get(end..self.block_end).unwrap_or_default();
            let at = inline_html::next_closing(name, rest).map_or(self.block_end, |at| end + at);
            *known = end..at;
        }
        known.end < self.block_end
    }

    fn next_marker(&mut self) -> String {
        match self.lists.last_mut() {
            Some(Some(number)) => {
                *number = number.saturating_add(1);
                format!("{}. ", *number - 1)
            }
            Some(None) | None => "• ".to_owned(),
        }
    }

    /// A link with a text of its own is one; where others lead is shown behind them.
    fn end_link(&mut self) {
        self.discard_html();
        let target = self.links.pop().unwrap_or_default();
        let is_inner = self.links.iter().any(|outer| link(outer).is_some());
        let text = self.builder.innermost_text();
        let is_shown =
            text == target || target.strip_prefix("mailto:") == Some(text) || target.starts_with('#');
        let is_empty = text.trim().is_empty();
        match link(&target) {
            Some(_) if is_inner && !is_empty => self.builder.discard(),
            Some(_) if !is_shown && !is_empty && self.around_cell.is_none() => self.builder.close(),
            _ => {
                self.builder.discard();
                if is_empty {
                    self.builder.write(&target);
                } else if !is_shown && !target.is_empty() {
                    self.builder.write(&format!(" ({target})"));
                }
            }
        }
    }

    fn end_cell(&mut self) {
        self.discard_html();
        let Some(around) = self.around_cell.take() else { return };
        let cell = std::mem::replace(&mut self.builder, around).finish();
        if let Some(row) = self.table.rows.last_mut() {
            row.push(cell.text.replace('\n', " "));
        }
    }
}

/// The address that a messenger can open: others could act in the reader's name.
fn link(target: &str) -> Option<url::Url> {
    let url: url::Url = target.parse().ok()?;
    (matches!(url.scheme(), "http" | "https") && url.as_str().len() <= MAX_URL_BYTES).then_some(url)
}

/// The first word behind a fence, if it can name a language.
fn language(info: &str) -> Option<String> {
    let word = info.split([' ', '\t', ',', '{']).next().unwrap_or_default();
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '#' | '.' | '_');
    let is_language = !word.is_empty() && word.len() <= MAX_LANGUAGE_BYTES && word.chars().all(is_name);
    is_language.then(|| word.to_owned())
}

const fn alert(kind: BlockQuoteKind) -> &'static str {
    match kind {
        BlockQuoteKind::Note => "Note",
        BlockQuoteKind::Tip => "Tip",
        BlockQuoteKind::Important => "Important",
        BlockQuoteKind::Warning => "Warning",
        BlockQuoteKind::Caution => "Caution",
    }
}
