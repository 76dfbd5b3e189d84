//! A page of `grep`: where it starts, what it shows, where the next one starts.
//!
//! A cursor is the last path and line shown, context lines included, so joined pages are the whole result.

use std::ops::Bound;

use files::roots::names;
use protocol::{ToolError, visible};
use toolkit::{Bounds, Page, Success};

use super::{ContextLine, FileCount, Form, GrepArguments, GrepData, MatchingLine};
use crate::cursor;
use crate::search::{
    self, AbortedReason, FileMatches, Line, MAX_LINE_CHARS, PageCollector, PageUsage, PathDisplay, Role,
    Skipped,
};

/// The last path and line of the page before.
#[derive(Debug, Default)]
pub(super) struct Position {
    shown: Option<(Vec<u8>, u64)>,
}

impl Position {
    /// Reads a cursor: the path, a NUL (which no path contains) and the line.
    pub(super) fn read(searched: &str, cursor: Option<&str>) -> Result<Self, ToolError> {
        let Some(cursor) = cursor else { return Ok(Self::default()) };
        let bytes = cursor::decode(searched, cursor)?;
        let nul = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        let line = str::from_utf8(bytes.get(nul + 1..).unwrap_or_default()).ok();
        let line = line.and_then(|line| line.parse().ok()).unwrap_or(0);
        Ok(Self { shown: Some((bytes[..nul].to_vec(), line)) })
    }

    fn cursor(&self, searched: &str) -> String {
        let (path, line) = self.shown.clone().unwrap_or_default();
        cursor::encode(searched, &[path.as_slice(), format!("\0{line}").as_bytes()].concat())
    }

    /// Whether the page is not the first.
    pub(super) fn is_late(&self) -> bool {
        self.shown.is_some()
    }

    /// Where this page starts. With `content`, the last file may have more lines.
    pub(super) fn bound(&self, output: Form) -> Bound<Vec<u8>> {
        match (&self.shown, output) {
            (None, _) => Bound::Unbounded,
            (Some((path, _)), Form::Content) => Bound::Included(path.clone()),
            (Some((path, _)), Form::Files | Form::Count) => Bound::Excluded(path.clone()),
        }
    }

    /// The last line of this file that was shown; 0 for none.
    pub(super) fn line_in(&self, path: &[u8]) -> u64 {
        self.shown.as_ref().filter(|(shown, _)| shown == path).map_or(0, |(_, line)| *line)
    }
}

/// How much a page can hold.
pub(super) fn room(limit: usize, bounds: Bounds) -> PageUsage {
    PageUsage { items: limit.min(bounds.lines), bytes: bounds.bytes }
}

pub(super) struct Filled {
    page: Page,
    data: GrepData,
    last: Position,
    limit: usize,
    are_files: bool,
    has_cut_lines: bool,
    has_lossy_lines: bool,
    has_escaped_lines: bool,
    has_secret_lines: bool,
    escaped_names: Option<String>,
}

impl Filled {
    /// Fills a page with the first of what was found.
    pub(super) fn new(
        arguments: &GrepArguments,
        bounds: Bounds,
        shown: &PathDisplay,
        found: PageCollector<FileMatches>,
    ) -> Self {
        let are_files = arguments.output != Form::Content;
        let mut filled = Self {
            // Context lines do not count towards the caller's limit.
            page: Page::new(if are_files { arguments.limit } else { usize::MAX }, bounds),
            data: GrepData::default(),
            last: Position::default(),
            limit: arguments.limit,
            are_files,
            has_cut_lines: false,
            has_lossy_lines: false,
            has_escaped_lines: false,
            has_secret_lines: false,
            escaped_names: None,
        };
        for (path, matches_found) in found.into_sorted() {
            let shown = shown.path(&path);
            filled.escaped_names = filled.escaped_names.or_else(|| names::escape_notice(&shown));
            let goes_on = match arguments.output {
                Form::Content => filled.add_lines(&path, &shown, matches_found.lines),
                Form::Files => filled.add_file(&path, shown),
                Form::Count => filled.add_count(&path, shown, matches_found.matches),
            };
            if !goes_on {
                break;
            }
        }
        filled
    }

    /// Adds the lines of a file; false when the page is full.
    fn add_lines(&mut self, path: &[u8], shown: &str, lines: Vec<Line>) -> bool {
        for line in lines {
            // Lines after the last match that fits are its context; lines before the next match are not.
            if self.data.matches.len() == self.limit && line.role != Role::After {
                self.page.close();
                return false;
            }
            if !self.add_line(shown, line.number, line.role, &line.shown.text) {
                return false;
            }
            self.has_cut_lines |= line.shown.is_cut;
            self.has_lossy_lines |= line.shown.is_lossy;
            self.has_escaped_lines |= line.shown.is_escaped;
            self.has_secret_lines |= line.shown.is_secret;
            self.last.shown = Some((path.to_vec(), line.number));
        }
        true
    }

    fn add_line(&mut self, shown: &str, line: u64, role: Role, text: &str) -> bool {
        let mark = if matches!(role, Role::Match { .. }) { ':' } else { '-' };
        if !self.page.push(&format!("{shown}{mark}{line}{mark}{text}")) {
            return false;
        }
        let (path, text) = (shown.to_owned(), text.to_owned());
        match role {
            Role::Match { column } => self.data.matches.push(MatchingLine { path, line, column, text }),
            Role::Before | Role::After => self.data.context_lines.push(ContextLine { path, line, text }),
        }
        true
    }

    fn add_file(&mut self, path: &[u8], shown: String) -> bool {
        let fits = self.page.push(&shown);
        if fits {
            self.data.files.push(shown);
            self.last.shown = Some((path.to_vec(), 0));
        }
        fits
    }

    fn add_count(&mut self, path: &[u8], shown: String, matching_lines: usize) -> bool {
        let fits = self.page.push(&format!("{shown}:{matching_lines}"));
        if fits {
            self.data.counts.push(FileCount { path: shown, matching_lines });
            self.last.shown = Some((path.to_vec(), 0));
        }
        fits
    }

    /// The output, with its notices and the cursor of the next page.
    pub(super) fn into_output(
        mut self,
        searched: &str,
        skipped: &Skipped,
        aborted: Option<AbortedReason>,
    ) -> Success<GrepData> {
        self.data.aborted_reason = aborted;
        let shown = if self.are_files {
            format!("{} files", self.page.lines())
        } else {
            format!("{} matching lines", self.data.matches.len())
        };
        let next = || self.last.cursor(searched);
        let mut output = search::output(self.page, self.data, &shown, next, skipped, aborted);
        if self.has_cut_lines {
            output
                .notices
                .push(format!("Lines over {MAX_LINE_CHARS} characters are cut around their match (…)."));
        }
        if self.has_lossy_lines {
            output.notices.push("Bytes that are not UTF-8 are shown as \u{fffd}.".to_owned());
        }
        if self.has_escaped_lines {
            output.notices.push(format!("{} {}", visible::NOTICE, visible::EDIT_NOTICE));
        }
        output.notices.extend(self.escaped_names);
        output.redacted = self.has_secret_lines;
        output
    }
}
