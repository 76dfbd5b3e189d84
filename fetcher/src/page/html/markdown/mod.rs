//! What each tag does to the text.

mod links;

use std::collections::HashSet;

use url::Url;

use super::Rendered;
use super::regions::Regions;
use super::table::Table;
use super::tokens::{Attributes, Element};
use super::writer::Writer;
use crate::messages::Link;
use links::OpenLink;

/// A longer text of a link is cut in the list.
pub(crate) const LINK_TEXT: usize = 200;

/// Longer addresses are not shown, nor is a longer one the beginning of others: a page with a long base and
/// many links would become a text without end.
const MOST_URL_BYTES: usize = 2000;

/// How much longer than its page a text may become.
const MOST_TIMES: usize = 2;
const SPARE_BYTES: usize = 64 << 10;

/// Tables within tables beyond this depth are read as text.
const DEEPEST_TABLE: usize = 8;

/// The most lists and quotes in each other.
const DEEPEST: usize = 200;

/// Elements without content.
const VOID: [&str; 14] = [
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track",
    "wbr",
];

/// Elements whose content no reader sees.
const SKIPPED: [&str; 14] = [
    "script", "style", "template", "svg", "math", "iframe", "object", "noembed", "noframes", "canvas",
    "audio", "video", "select", "datalist",
];

/// Elements that begin and end a line.
const LINES: [&str; 22] = [
    "address", "article", "aside", "details", "dialog", "dd", "div", "dt", "fieldset", "figcaption",
    "figure", "footer", "form", "header", "legend", "main", "nav", "option", "section", "summary", "body",
    "caption",
];

/// Reads a page, element by element.
pub(super) struct Markdown {
    base: Url,
    /// Whether headings, links and so on get their marks.
    marks: bool,
    /// The page's own, then one for each open cell.
    writers: Vec<Writer>,
    tables: Vec<Table>,
    frames: Vec<Frame>,
    /// The element whose content is left out, and how many of its name are open in it.
    skipped: Option<(String, usize)>,
    link: Option<OpenLink>,
    /// What `<pre>` has so far, and its language.
    pre: Option<(String, String)>,
    code: Option<String>,
    heading: bool,
    title: Option<String>,
    in_title: bool,
    links: Vec<Link>,
    known: HashSet<String>,
    /// How many addresses were looked at.
    looked_at: usize,
    regions: Regions,
    /// How long the text may become, and whether it has.
    most_bytes: usize,
    is_full: bool,
}

/// A list or a quote.
enum Frame {
    List { next: Option<usize>, depth: usize },
    Quote { depth: usize },
}

impl Markdown {
    pub(super) fn new(base: Url, marks: bool, page_bytes: usize) -> Self {
        Self {
            base,
            marks,
            writers: vec![Writer::default()],
            tables: Vec::new(),
            frames: Vec::new(),
            skipped: None,
            link: None,
            pre: None,
            code: None,
            heading: false,
            title: None,
            in_title: false,
            links: Vec::new(),
            known: HashSet::new(),
            looked_at: 0,
            regions: Regions::default(),
            most_bytes: page_bytes.saturating_mul(MOST_TIMES).saturating_add(SPARE_BYTES),
            is_full: false,
        }
    }

    pub(super) fn take(&mut self, element: Element<'_>) {
        self.is_full |= self.written() > self.most_bytes;
        if self.is_full {
            return;
        }
        match (element, &mut self.skipped) {
            (Element::Start(name, _), Some((skipped, depth))) => *depth += usize::from(name == skipped),
            (Element::End(name), Some((skipped, depth))) => {
                *depth -= usize::from(name == skipped);
                if *depth == 0 {
                    self.skipped = None;
                }
            }
            (Element::Text(_), Some(_)) => {}
            (Element::Start(name, attributes), None) => self.start(name, attributes),
            (Element::End(name), None) => self.end(name),
            (Element::Text(text), None) => self.text(text),
        }
    }

    fn written(&self) -> usize {
        let open: usize = self.writers.iter().map(|writer| writer.out.len()).sum();
        open + self.tables.iter().map(Table::bytes).sum::<usize>()
    }

    pub(super) fn finish(mut self) -> Rendered {
        self.end_code();
        self.end_pre();
        self.end_link();
        while !self.tables.is_empty() {
            self.end_table();
        }
        let text = self.writers.pop().map(|writer| writer.out).unwrap_or_default();
        let content = self.regions.content(&text);
        let content = content.trim_matches('\n');
        let text = if content.trim().is_empty() { String::new() } else { format!("{content}\n") };
        let title = self.title.map(|title| title.split_whitespace().collect::<Vec<_>>().join(" "));
        let title = title.filter(|title| !title.is_empty());
        Rendered { text, title, links: self.links, is_cut: self.is_full }
    }

    fn writer(&mut self) -> &mut Writer {
        if self.writers.is_empty() {
            self.writers.push(Writer::default());
        }
        let last = self.writers.len() - 1;
        &mut self.writers[last]
    }

    fn start(&mut self, name: &str, attributes: Attributes<'_>) {
        let is_void = VOID.contains(&name);
        if SKIPPED.contains(&name) || (!is_void && is_hidden(attributes)) {
            self.skipped = Some((name.to_owned(), 1));
            return;
        }
        if self.pre.is_some() && self.start_in_pre(name, attributes) {
            return;
        }
        if self.writers.len() == 1 && !is_void {
            let at = self.writers[0].out.len();
            self.regions.start(name, attributes.get("role"), at);
        }
        match name {
            "title" => self.in_title = self.title.is_none(),
            "base" => {
                let base = attributes.get("href").and_then(|href| self.base.join(href).ok());
                if let Some(base) = base.filter(|base| base.as_str().len() <= MOST_URL_BYTES) {
                    self.base = base;
                }
            }
            "br" if self.heading => self.writer().space(),
            "br" => self.block(1),
            "hr" => {
                self.block(2);
                self.writer().verbatim("---");
                self.block(2);
            }
            "p" | "dl" | "center" => self.block(2),
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => self.start_heading(name),
            "ul" | "ol" | "menu" | "dir" => self.start_list(name == "ol", attributes),
            "li" => self.start_item(),
            "blockquote" => self.start_quote(),
            "pre" | "listing" | "xmp" => {
                self.block(2);
                self.pre = Some((String::new(), language(attributes).unwrap_or_default()));
            }
            "code" | "kbd" | "samp" | "tt" if self.code.is_none() => self.code = Some(String::new()),
            "a" => self.start_link(attributes),
            "img" => self.picture(attributes),
            "input" => self.input(attributes),
            "q" => self.text("\""),
            "table" | "tr" | "td" | "th" => self.start_in_table(name, attributes),
            block if LINES.contains(&block) => self.block(1),
            _ => {}
        }
    }

    fn end(&mut self, name: &str) {
        if self.pre.is_some() && !matches!(name, "pre" | "listing" | "xmp") {
            return;
        }
        match name {
            "title" => self.in_title = false,
            "p" | "dl" | "center" => self.block(2),
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                self.block(2);
                self.heading = false;
            }
            "ul" | "ol" | "menu" | "dir" => self.end_frame(|frame| matches!(frame, Frame::List { .. })),
            "blockquote" => self.end_frame(|frame| matches!(frame, Frame::Quote { .. })),
            "li" => self.block(1),
            "pre" | "listing" | "xmp" => self.end_pre(),
            "code" | "kbd" | "samp" | "tt" => self.end_code(),
            "a" => self.end_link(),
            "q" => self.text("\""),
            "td" | "th" => self.end_cell(),
            "tr" => self.end_cell(),
            "table" => self.end_table(),
            block if LINES.contains(&block) => self.block(1),
            _ => {}
        }
        if self.writers.len() == 1 {
            let at = self.writers[0].out.len();
            self.regions.end(name, at);
        }
    }

    fn text(&mut self, text: &str) {
        if self.in_title {
            self.title.get_or_insert_default().push_str(text);
            return;
        }
        if let Some((pre, _)) = &mut self.pre {
            pre.push_str(text);
            return;
        }
        if let Some(code) = &mut self.code {
            code.push_str(text);
            return;
        }
        self.begin_link(text);
        if let Some(link) = &mut self.link
            && link.text.len() < LINK_TEXT
        {
            link.text.push_str(text);
        }
        self.writer().text(text);
    }

    /// Ends the line, and the elements that live within lines.
    fn block(&mut self, lines: usize) {
        self.end_code();
        if self.link.as_ref().is_some_and(|link| link.is_written) {
            self.end_link();
        }
        self.writer().line_break(lines);
    }

    fn start_heading(&mut self, name: &str) {
        self.block(2);
        self.heading = true;
        if self.marks {
            let level = usize::from(name.as_bytes()[1] - b'0');
            self.writer().verbatim("######".get(..level).unwrap_or("#"));
            self.writer().space();
        }
    }

    fn start_list(&mut self, is_ordered: bool, attributes: Attributes<'_>) {
        let is_nested = matches!(self.frames.last(), Some(Frame::List { .. }));
        self.block(if is_nested { 1 } else { 2 });
        if self.frames.len() >= DEEPEST {
            return;
        }
        let first = attributes.get("start").and_then(|start| start.parse().ok()).unwrap_or(1);
        let depth = self.writer().depth();
        self.frames.push(Frame::List { next: is_ordered.then_some(first), depth });
    }

    fn start_item(&mut self) {
        self.block(1);
        let mark = match self.frames.last_mut() {
            Some(Frame::List { next, depth }) => {
                let (depth, number) = (*depth, *next);
                *next = number.map(|number| number.saturating_add(1));
                self.writer().outdent_to(depth);
                number.map_or_else(|| "- ".to_owned(), |number| format!("{number}. "))
            }
            Some(Frame::Quote { .. }) | None => return,
        };
        let room = " ".repeat(mark.len());
        self.writer().indent(Some(mark), &room);
    }

    fn start_quote(&mut self) {
        self.block(2);
        if self.frames.len() < DEEPEST {
            let depth = self.writer().depth();
            self.frames.push(Frame::Quote { depth });
            let mark = if self.marks { "> " } else { "  " };
            self.writer().indent(None, mark);
        }
    }

    /// Ends the innermost list or quote, if one is open in this cell, and all within it.
    fn end_frame(&mut self, is_it: impl Fn(&Frame) -> bool) {
        let outside = self.tables.last().and_then(|table| table.open_cell).unwrap_or(0);
        let Some(index) = self.frames.iter().rposition(is_it).filter(|index| *index >= outside) else {
            return;
        };
        let (Frame::List { depth, .. } | Frame::Quote { depth }) = self.frames[index];
        self.frames.truncate(index);
        let is_nested = matches!(self.frames.last(), Some(Frame::List { .. })) && index > outside;
        self.block(if is_nested { 1 } else { 2 });
        self.writer().outdent_to(depth);
    }

    /// True if the tag means nothing more within preformatted text.
    fn start_in_pre(&mut self, name: &str, attributes: Attributes<'_>) -> bool {
        let Some((pre, known)) = &mut self.pre else { return false };
        match name {
            "br" => pre.push('\n'),
            "code" if known.is_empty() => *known = language(attributes).unwrap_or_default(),
            // It was never closed.
            "table" | "h1" | "h2" | "h3" | "pre" => {
                self.end_pre();
                return false;
            }
            _ => {}
        }
        true
    }

    fn end_pre(&mut self) {
        let Some((text, language)) = self.pre.take() else { return };
        let text = text.strip_prefix('\n').unwrap_or(&text).trim_end();
        if text.is_empty() {
            return;
        }
        let text = text.replace('\r', "");
        let longest = text.split(|character| character != '`').map(str::len).max().unwrap_or(0);
        let fence = "`".repeat(3.max(longest + 1));
        let marks = self.marks;
        let writer = self.writer();
        if marks {
            writer.lines(&format!("{fence}{language}"));
        }
        writer.lines(&text);
        if marks {
            writer.lines(&fence);
        }
        self.block(2);
    }

    fn end_code(&mut self) {
        let Some(code) = self.code.take() else { return };
        let words = code.split_whitespace().collect::<Vec<_>>().join(" ");
        if code.starts_with(char::is_whitespace) {
            self.writer().space();
        }
        if words.is_empty() {
            return;
        }
        self.begin_link(&words);
        if let Some(link) = &mut self.link {
            link.text.push_str(&words);
        }
        let marked = match (self.marks, words.contains('`')) {
            (false, _) => words,
            (true, false) => format!("`{words}`"),
            (true, true) => format!("`` {words} ``"),
        };
        self.writer().verbatim(&marked);
        if code.ends_with(char::is_whitespace) {
            self.writer().space();
        }
    }

    fn start_in_table(&mut self, name: &str, attributes: Attributes<'_>) {
        if name == "table" {
            if self.tables.len() < DEEPEST_TABLE {
                if let Some(outer) = self.tables.last_mut() {
                    outer.note_table();
                }
                self.block(2);
                self.tables.push(Table::default());
            }
            return;
        }
        self.end_cell();
        let open = self.frames.len();
        let Some(table) = self.tables.last_mut() else { return self.block(1) };
        if name == "tr" {
            table.begin_row();
            return;
        }
        if name == "th" {
            table.note_header();
        }
        table.open_cell = Some(open);
        let columns = attributes.get("colspan").and_then(|columns| columns.parse().ok()).unwrap_or(1);
        table.next_columns = columns;
        self.end_link();
        self.writers.push(Writer::default());
    }

    fn end_cell(&mut self) {
        let Some(open) = self.tables.last_mut().and_then(|table| table.open_cell.take()) else { return };
        self.end_code();
        self.end_pre();
        self.end_link();
        self.heading = false;
        self.frames.truncate(open);
        let cell = if self.writers.len() > 1 { self.writers.pop() } else { None };
        if let (Some(table), Some(cell)) = (self.tables.last_mut(), cell) {
            let columns = table.next_columns;
            table.add(&cell.out, columns);
        }
    }

    fn end_table(&mut self) {
        self.end_cell();
        let Some(table) = self.tables.pop() else { return };
        self.block(2);
        let marks = self.marks;
        table.write(self.writer(), marks);
    }
}

/// Whether the page itself hides it.
fn is_hidden(attributes: Attributes<'_>) -> bool {
    let style = attributes.get("style").map(|style| style.replace(' ', "").to_ascii_lowercase());
    attributes.get("hidden").is_some_and(|hidden| hidden != "until-found")
        || attributes.get("aria-hidden") == Some("true")
        || style.is_some_and(|style| style.contains("display:none") || style.contains("visibility:hidden"))
}

/// The language that highlighters name in a class.
fn language(attributes: Attributes<'_>) -> Option<String> {
    let classes = attributes.get("class")?.split_ascii_whitespace();
    let mut named = classes.filter_map(|class| {
        class
            .strip_prefix("language-")
            .or_else(|| class.strip_prefix("lang-"))
            .or_else(|| class.strip_prefix("highlight-source-"))
    });
    let language = named.next()?;
    let is_plain =
        language.chars().all(|character| character.is_ascii_alphanumeric() || "+-#._".contains(character));
    (is_plain && language.len() <= 30).then(|| language.to_owned())
}
