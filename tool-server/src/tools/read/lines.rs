//! `read` by lines: numbered, in pages, with long lines cut and odd characters escaped.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufRead, BufReader};

use files::change::io_error;
use protocol::{ErrorCode, ToolError, visible};
use redaction::PLACEHOLDER;
use toolkit::arguments::invalid;
use toolkit::output::{Full, head_chars};
use toolkit::{Call, Page, Success};

use super::{ReadArguments, ReadData, ReadFile};
use crate::cursor;
use crate::private_key_lines::PrivateKeyLines;
use crate::text::Encoding;

const DEFAULT_LIMIT: usize = 500;

/// The most characters of a line that are shown.
const MAX_LINE_CHARS: usize = 2000;

/// The most bytes of a line that are kept in memory.
const MAX_KEPT_BYTES: usize = 4 * MAX_LINE_CHARS + 4;

/// How many bytes are read between two checks of the deadline.
const BYTES_PER_CHECK: usize = 1 << 20;

pub(super) fn read(
    file: &ReadFile<'_>,
    encoding: Encoding,
    arguments: &ReadArguments,
    call: &Call,
) -> Result<Success<ReadData>, ToolError> {
    let cursor_key = format!("read {} {}", file.shown(), arguments.line_numbers);
    let start = match &arguments.cursor {
        Some(cursor) => first_line_of(&cursor_key, cursor)?,
        None => arguments.start_line.unwrap_or(1),
    };
    let page = Page::new(arguments.limit.unwrap_or(DEFAULT_LIMIT), call.bounds);
    // A file that is read whole is decoded before it is split into lines.
    let line_encoding = if file.content.is_some() { Encoding::Utf8 } else { encoding };
    let mut listing = Listing::new(start, page, arguments.line_numbers, line_encoding);
    let mut is_exact = true;
    let total_lines = match &file.content {
        Some(content) => {
            let (text, exact) = encoding.decode(content);
            is_exact = exact;
            listing.read_on(file, text.as_bytes(), call)?;
            Some(count_lines(text.as_bytes()))
        }
        None => {
            require_bytewise(encoding)?;
            let handle =
                file.opened.handle.try_clone().map_err(|error| io_error(file.path, "read", &error))?;
            listing.read_on(file, BufReader::with_capacity(64 * 1024, File::from(handle)), call)?;
            None
        }
    };
    listing.require_start(total_lines)?;
    Ok(listing.into_output(encoding, is_exact, total_lines, &cursor_key))
}

/// A large file is read line by line, so a line must end with a single byte.
fn require_bytewise(encoding: Encoding) -> Result<(), ToolError> {
    match encoding {
        Encoding::Utf8 | Encoding::Utf8Bom | Encoding::Latin1 => Ok(()),
        Encoding::Utf16Le | Encoding::Utf16Be => Err(ToolError::new(
            ErrorCode::FileTooLarge,
            format!("The file is {} and too large to be decoded.", encoding.name()),
        )),
    }
}

fn first_line_of(cursor_key: &str, cursor: &str) -> Result<u64, ToolError> {
    let line = cursor::decode(cursor_key, cursor)?;
    let line = <[u8; 8]>::try_from(line.as_slice()).map_err(|_| invalid("The cursor is invalid."))?;
    Ok(u64::from_be_bytes(line))
}

fn count_lines(text: &[u8]) -> u64 {
    let ends = memchr::memchr_iter(b'\n', text).count();
    let unfinished = usize::from(text.last().is_some_and(|last| *last != b'\n'));
    u64::try_from(ends + unfinished).unwrap_or(u64::MAX)
}

struct Listing {
    start: u64,
    /// The number of the next line.
    next: u64,
    page: Page,
    /// The last line as it was shown; kept for its memory.
    line: String,
    line_numbers: bool,
    line_encoding: Encoding,
    at_end: bool,
    cut_lines: u64,
    inexact_lines: u64,
    /// The numbers of the lines with escapes.
    escaped_lines: Vec<u64>,
    key_lines: PrivateKeyLines,
    /// Whether a private key that began before the page continues, and whether the line belongs to it.
    began_before: bool,
    is_secret: bool,
    redacted: bool,
    crlf: bool,
}

impl Listing {
    fn new(start: u64, page: Page, line_numbers: bool, line_encoding: Encoding) -> Self {
        Self {
            start,
            next: 1,
            page,
            line: String::new(),
            line_numbers,
            line_encoding,
            at_end: false,
            cut_lines: 0,
            inexact_lines: 0,
            escaped_lines: Vec::new(),
            key_lines: PrivateKeyLines::default(),
            began_before: false,
            is_secret: false,
            redacted: false,
            crlf: false,
        }
    }

    /// Reads lines until the page is full or the text ends.
    fn read_on(&mut self, file: &ReadFile<'_>, mut text: impl BufRead, call: &Call) -> Result<(), ToolError> {
        let mut line = Line::default();
        let mut unchecked = 0;
        loop {
            let read = line.read(&mut text, &mut unchecked, call, file)?;
            if !read {
                self.at_end = true;
                return Ok(());
            }
            self.follow_keys(&line);
            if self.next >= self.start && !self.show(&line) {
                return Ok(());
            }
            self.next += 1;
        }
    }

    /// Notes whether the line belongs to a key that began before the page. Redaction finds the others.
    fn follow_keys(&mut self, line: &Line) {
        let is_in_key = self.key_lines != PrivateKeyLines::Outside;
        self.is_secret = self.key_lines.next(&line.kept);
        self.began_before |= is_in_key && self.next == self.start;
        self.began_before &= self.key_lines != PrivateKeyLines::Outside;
        self.is_secret &= self.began_before;
    }

    fn show(&mut self, line: &Line) -> bool {
        let bytes = line.kept.strip_suffix(b"\r").filter(|_| !line.is_cut());
        if self.is_secret {
            let number = if self.line_numbers { format!("{}\t", self.next) } else { String::new() };
            self.redacted |= self.page.push(&(number + PLACEHOLDER));
            return self.page.full().is_none();
        }
        let (text, exact) = self.line_encoding.decode(bytes.unwrap_or(&line.kept));
        let beginning = head_chars(&text, MAX_LINE_CHARS);
        let is_cut = line.is_cut() || beginning.len() < text.len();
        let shown = visible::escaped(beginning);
        let is_escaped = matches!(shown, Cow::Owned(_));
        self.line.clear();
        if self.line_numbers {
            let _ = write!(self.line, "{}\t", self.next);
        }
        self.line.push_str(&shown);
        if is_cut {
            let _ = write!(self.line, " [cut: the line has {} bytes]", line.length);
        }
        if !self.page.push(&self.line) {
            return false;
        }
        self.cut_lines += u64::from(is_cut);
        self.escaped_lines.extend(is_escaped.then_some(self.next));
        self.inexact_lines += u64::from(!exact && !is_cut);
        self.crlf |= bytes.is_some();
        true
    }

    fn require_start(&self, total_lines: Option<u64>) -> Result<(), ToolError> {
        let lines = total_lines.unwrap_or(self.next - 1);
        if self.at_end && self.start > lines.max(1) {
            let range =
                if lines == 0 { "it is empty".to_owned() } else { format!("it has lines 1 to {lines}") };
            return Err(invalid(format!(
                "`start_line` {} is beyond the end of the file: {range}.",
                self.start
            )));
        }
        Ok(())
    }

    fn into_output(
        self,
        encoding: Encoding,
        is_exact: bool,
        total_lines: Option<u64>,
        cursor_key: &str,
    ) -> Success<ReadData> {
        let full = self.page.full();
        let shown = u64::try_from(self.page.lines()).unwrap_or(0);
        let (first, last) = (self.start, self.start + shown.saturating_sub(1));
        let notices = self.notices(encoding, is_exact, total_lines, last);
        Success {
            redacted: self.redacted,
            stdout: self.page.into_text(),
            data: ReadData {
                total_lines,
                start_line: (shown > 0).then_some(first),
                end_line: (shown > 0).then_some(last),
                encoding: Some(encoding.name()),
                ..ReadData::default()
            },
            notices,
            next_page_cursor: full.map(|_| cursor::encode(cursor_key, &(last + 1).to_be_bytes())),
            ..Success::default()
        }
        .cut_at(full)
        .cut_at((self.cut_lines > 0).then_some(Full::Bytes))
    }

    fn notices(
        &self,
        encoding: Encoding,
        is_exact: bool,
        total_lines: Option<u64>,
        last: u64,
    ) -> Vec<String> {
        let mut notices = Vec::new();
        if self.page.full().is_some() {
            let of = total_lines.map_or_else(String::new, |total| format!(" of {total}"));
            notices.push(format!("Showing lines {}–{last}{of}; next: start_line {}.", self.start, last + 1));
        }
        if self.at_end && self.next == 1 {
            notices.push("The file is empty.".to_owned());
        }
        if encoding != Encoding::Utf8 {
            notices.push(format!("The file is {}; it is shown as UTF-8.", encoding.name()));
        }
        if !is_exact || self.inexact_lines > 0 {
            notices.push(
                "Some bytes are invalid in this encoding and are shown as \u{fffd}; read by bytes to see \
                 them."
                    .to_owned(),
            );
        }
        if let [first, ..] = self.escaped_lines.as_slice() {
            let more = self.escaped_lines.len() - 1;
            let and = if more > 0 { format!(" and {more} more") } else { String::new() };
            notices.push(format!(
                "Line {first}{and}: {} {} Read by bytes to see them as they are.",
                visible::NOTICE,
                visible::EDIT_NOTICE
            ));
        }
        if self.crlf {
            notices.push("Lines end with CRLF; the carriage returns are not shown.".to_owned());
        }
        if self.cut_lines > 0 {
            notices.push(format!(
                "{} lines over {MAX_LINE_CHARS} characters are cut; read by bytes to see them whole.",
                self.cut_lines
            ));
        }
        notices
    }
}

/// One line; only its beginning is kept.
#[derive(Default)]
struct Line {
    kept: Vec<u8>,
    length: usize,
}

impl Line {
    fn is_cut(&self) -> bool {
        self.length > self.kept.len()
    }

    /// Reads the next line without its newline; false at the end of the text.
    fn read(
        &mut self,
        text: &mut impl BufRead,
        unchecked: &mut usize,
        call: &Call,
        file: &ReadFile<'_>,
    ) -> Result<bool, ToolError> {
        self.kept.clear();
        self.length = 0;
        let mut is_line = false;
        loop {
            let block = text.fill_buf().map_err(|error| io_error(file.path, "read", &error))?;
            if block.is_empty() {
                return Ok(is_line);
            }
            is_line = true;
            let end = memchr::memchr(b'\n', block);
            let part = &block[..end.unwrap_or(block.len())];
            let room = MAX_KEPT_BYTES.saturating_sub(self.kept.len()).min(part.len());
            self.kept.extend_from_slice(&part[..room]);
            self.length += part.len();
            let consumed = part.len() + usize::from(end.is_some());
            text.consume(consumed);
            *unchecked += consumed;
            if *unchecked >= BYTES_PER_CHECK {
                *unchecked = 0;
                call.check()?;
            }
            if end.is_some() {
                return Ok(true);
            }
        }
    }
}
