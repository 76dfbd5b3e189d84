//! Searches one file with ripgrep's searcher, limited in time and memory.
//!
//! Lines are searched as they are read; UTF-16 with a byte order mark is decoded on the way. A NUL byte makes
//! a file binary and discards its matches. A line that does not fit into the buffer ends the search of its
//! file.

use std::fs::File;
use std::io::{self, Read};

use grep_matcher::{LineTerminator, Matcher};
use grep_regex::RegexMatcher;
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkContextKind, SinkFinish, SinkMatch,
};

use super::display_line::{DisplayLine, display_line, secret_line};
use super::limits::MAX_LINE_BYTES;
use super::page_collector::PageUsage;
use super::search_budget::SearchBudget;
use crate::private_key_lines::is_in_key;

/// How many bytes are read between two checks of the clock.
const BYTES_PER_CHECK: usize = 128 << 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SearchMode {
    Lines { context: usize },
    AnyMatch,
    Count,
}

#[derive(Debug)]
pub(crate) struct Line {
    /// Its number, from 1.
    pub(crate) number: u64,
    pub(crate) role: Role,
    pub(crate) shown: DisplayLine,
}

/// Why a line is in a result; `column` is where it first matches: a byte of the line, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Match { column: usize },
    Before,
    After,
}

#[derive(Debug, Default)]
pub(crate) struct FileMatches {
    /// The lines, in mode [`SearchMode::Lines`].
    pub(crate) lines: Vec<Line>,
    pub(crate) matches: usize,
    /// How much of a page the lines need.
    pub(crate) usage: PageUsage,
}

#[derive(Debug)]
pub(crate) enum SearchOutcome {
    Done(FileMatches),
    /// It has a NUL byte.
    Binary,
    /// It was searched up to a line that is too long.
    LongLine(FileMatches),
    Unreadable,
    /// The budget ran out; there may be more matches.
    BudgetExhausted(FileMatches),
}

/// Searches files, one after the other; each thread has its own.
pub(crate) struct FileSearcher<'a> {
    searcher: Searcher,
    matcher: RegexMatcher,
    pub(crate) mode: SearchMode,
    /// The most that a page can need of one file.
    room: PageUsage,
    budget: &'a SearchBudget,
}

impl<'a> FileSearcher<'a> {
    pub(crate) fn new(
        matcher: RegexMatcher,
        mode: SearchMode,
        room: PageUsage,
        budget: &'a SearchBudget,
    ) -> Self {
        let context = if let SearchMode::Lines { context } = mode { context } else { 0 };
        let searcher = SearcherBuilder::new()
            .line_terminator(LineTerminator::crlf())
            .line_number(matches!(mode, SearchMode::Lines { .. }))
            .before_context(context)
            .after_context(context)
            .binary_detection(BinaryDetection::quit(0))
            .heap_limit(Some(MAX_LINE_BYTES))
            .build();
        Self { searcher, matcher, mode, room, budget }
    }

    /// Searches one file for lines after `after_line`.
    pub(crate) fn search(&mut self, file: File, after_line: u64) -> SearchOutcome {
        let mut reader = Reader { file: &file, budget: self.budget, until_check: 0, has_failed: false };
        let mut collector = Collector {
            file: &file,
            matcher: &self.matcher,
            mode: self.mode,
            room: self.room,
            after_line,
            matches_found: FileMatches::default(),
            is_binary: false,
        };
        let ended = self.searcher.search_reader(&self.matcher, &mut reader, &mut collector);
        match ended {
            Ok(()) if collector.is_binary => SearchOutcome::Binary,
            Ok(()) => SearchOutcome::Done(collector.matches_found),
            Err(_) if self.budget.must_stop() => SearchOutcome::BudgetExhausted(collector.matches_found),
            Err(_) if reader.has_failed => SearchOutcome::Unreadable,
            // Reading succeeded, so the searcher's buffer was too small.
            Err(_) => SearchOutcome::LongLine(collector.matches_found),
        }
    }
}

/// Reads a file and checks the clock now and then.
struct Reader<'a> {
    file: &'a File,
    budget: &'a SearchBudget,
    until_check: usize,
    has_failed: bool,
}

impl Read for Reader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.until_check == 0 {
            if !self.budget.check_clock() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            self.until_check = BYTES_PER_CHECK;
        }
        let read = self.file.read(buffer).inspect_err(|_| self.has_failed = true)?;
        self.until_check = self.until_check.saturating_sub(read);
        Ok(read)
    }
}

struct Collector<'a> {
    file: &'a File,
    matcher: &'a RegexMatcher,
    mode: SearchMode,
    room: PageUsage,
    after_line: u64,
    matches_found: FileMatches,
    is_binary: bool,
}

impl Collector<'_> {
    /// Keeps a line unless an earlier page had it; false when the page needs no more of this file.
    fn keep(&mut self, number: u64, role: Role, line: &[u8], offset: u64) -> bool {
        if number > self.after_line {
            let match_start = if let Role::Match { column } = role { column - 1 } else { 0 };
            let is_secret = is_in_key(self.file, line, offset);
            let shown = if is_secret { secret_line() } else { display_line(line, match_start) };
            self.matches_found.usage.bytes += shown.text.len() + 1;
            self.matches_found.usage.items += usize::from(matches!(role, Role::Match { .. }));
            self.matches_found.lines.push(Line { number, role, shown });
        }
        !self.matches_found.usage.exceeds(self.room)
    }
}

impl Sink for Collector<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        self.matches_found.matches += 1;
        Ok(match self.mode {
            SearchMode::AnyMatch => false,
            SearchMode::Count => true,
            SearchMode::Lines { .. } => {
                let line = found.bytes();
                let start = self.matcher.find(line).ok().flatten().map_or(0, |found| found.start());
                let role = Role::Match { column: start + 1 };
                self.keep(found.line_number().unwrap_or(0), role, line, found.absolute_byte_offset())
            }
        })
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        let role = match context.kind() {
            SinkContextKind::Before => Role::Before,
            SinkContextKind::After | SinkContextKind::Other => Role::After,
        };
        let offset = context.absolute_byte_offset();
        Ok(self.keep(context.line_number().unwrap_or(0), role, context.bytes(), offset))
    }

    fn finish(&mut self, _: &Searcher, end: &SinkFinish) -> io::Result<()> {
        self.is_binary = end.binary_byte_offset().is_some();
        Ok(())
    }
}
