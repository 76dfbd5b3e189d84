//! The search of one file's contents, by ripgrep's searcher, bounded in time and memory.
//!
//! Lines are searched as they are read; UTF-16 with a byte order mark is decoded on the way. A NUL byte
//! makes a file binary and drops what was found in it. A line that does not fit into the buffer ends the
//! search of its file.

use std::fs::File;
use std::io::{self, Read};

use grep_matcher::{LineTerminator, Matcher};
use grep_regex::RegexMatcher;
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkContextKind, SinkFinish, SinkMatch,
};

use super::found::Load;
use super::fuse::Fuse;
use super::line::{ShownLine, shown};

/// The longest line that is held. A file with a longer one is searched up to it.
pub(super) const MAX_LINE_BYTES: usize = 8 << 20;

/// How many bytes are read between two looks at the clock.
const BYTES_PER_CHECK: usize = 128 << 10;

/// What is wanted of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Its lines, with so many lines around each match.
    Lines {
        /// Lines before and after.
        context: usize,
    },
    /// Whether it matches.
    Whether,
    /// How many of its lines match.
    Count,
}

/// A line of a result.
#[derive(Debug)]
pub(crate) struct Line {
    /// Its number, from 1.
    pub(crate) number: u64,
    /// Why it is there.
    pub(crate) role: Role,
    /// The line.
    pub(crate) shown: ShownLine,
}

/// Why a line is in a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// It matches, first at this column: a byte of the line, from 1.
    Match {
        /// The column.
        column: usize,
    },
    /// It is before a match.
    Before,
    /// It is after a match.
    After,
}

/// What was found in a file.
#[derive(Debug, Default)]
pub(crate) struct Hits {
    /// The lines, if they were wanted.
    pub(crate) lines: Vec<Line>,
    /// How many lines matched.
    pub(crate) matches: usize,
    /// What the lines take of a page.
    pub(crate) load: Load,
}

/// How the search of a file ended.
#[derive(Debug)]
pub(crate) enum Searched {
    /// It was searched as far as the page needs it.
    Done(Hits),
    /// It has a NUL byte.
    Binary,
    /// It was searched up to a line that is too long.
    LongLine(Hits),
    /// It could not be read to its end.
    Unreadable,
    /// A fuse blew meanwhile; what was found may not be all.
    Blown(Hits),
}

/// Searches files, one after the other; each thread has its own.
pub(crate) struct FileSearch<'a> {
    searcher: Searcher,
    matcher: RegexMatcher,
    wanted: Wanted,
    /// How much of one file a page can need.
    room: Load,
    fuse: &'a Fuse,
}

impl<'a> FileSearch<'a> {
    /// A search for what the matcher matches.
    pub(crate) fn new(matcher: RegexMatcher, wanted: Wanted, room: Load, fuse: &'a Fuse) -> Self {
        let context = if let Wanted::Lines { context } = wanted { context } else { 0 };
        let searcher = SearcherBuilder::new()
            .line_terminator(LineTerminator::crlf())
            .line_number(matches!(wanted, Wanted::Lines { .. }))
            .before_context(context)
            .after_context(context)
            .binary_detection(BinaryDetection::quit(0))
            .heap_limit(Some(MAX_LINE_BYTES))
            .build();
        Self { searcher, matcher, wanted, room, fuse }
    }

    /// What is wanted of a file.
    pub(crate) fn wanted(&self) -> Wanted {
        self.wanted
    }

    /// Searches one file for lines after `after_line`.
    pub(crate) fn search(&mut self, file: File, after_line: u64) -> Searched {
        let mut reader = Reader { file, fuse: self.fuse, until_check: 0, has_failed: false };
        let mut collector = Collector {
            matcher: &self.matcher,
            wanted: self.wanted,
            room: self.room,
            after_line,
            hits: Hits::default(),
            is_binary: false,
        };
        let ended = self.searcher.search_reader(&self.matcher, &mut reader, &mut collector);
        match ended {
            Ok(()) if collector.is_binary => Searched::Binary,
            Ok(()) => Searched::Done(collector.hits),
            Err(_) if self.fuse.is_over() => Searched::Blown(collector.hits),
            Err(_) if reader.has_failed => Searched::Unreadable,
            // Reading went well, so it is the searcher's buffer that did not suffice.
            Err(_) => Searched::LongLine(collector.hits),
        }
    }
}

/// Reads a file and looks at the clock now and then.
struct Reader<'a> {
    file: File,
    fuse: &'a Fuse,
    until_check: usize,
    has_failed: bool,
}

impl Read for Reader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.until_check == 0 {
            if !self.fuse.holds() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            self.until_check = BYTES_PER_CHECK;
        }
        let read = self.file.read(buffer).inspect_err(|_| self.has_failed = true)?;
        self.until_check = self.until_check.saturating_sub(read);
        Ok(read)
    }
}

/// Takes what the searcher finds.
struct Collector<'a> {
    matcher: &'a RegexMatcher,
    wanted: Wanted,
    room: Load,
    after_line: u64,
    hits: Hits,
    is_binary: bool,
}

impl Collector<'_> {
    /// Keeps a line, unless an earlier page had it; false when the page can need no more of this file.
    fn keep(&mut self, number: u64, role: Role, line: &[u8], match_start: usize) -> bool {
        if number > self.after_line {
            let shown = shown(line, match_start);
            self.hits.load.bytes += shown.text.len() + 1;
            self.hits.load.items += usize::from(matches!(role, Role::Match { .. }));
            self.hits.lines.push(Line { number, role, shown });
        }
        !self.hits.load.exceeds(self.room)
    }
}

impl Sink for Collector<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        self.hits.matches += 1;
        Ok(match self.wanted {
            Wanted::Whether => false,
            Wanted::Count => true,
            Wanted::Lines { .. } => {
                let line = found.bytes();
                let start = self.matcher.find(line).ok().flatten().map_or(0, |found| found.start());
                self.keep(found.line_number().unwrap_or(0), Role::Match { column: start + 1 }, line, start)
            }
        })
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        let role = match context.kind() {
            SinkContextKind::Before => Role::Before,
            SinkContextKind::After | SinkContextKind::Other => Role::After,
        };
        Ok(self.keep(context.line_number().unwrap_or(0), role, context.bytes(), 0))
    }

    fn finish(&mut self, _: &Searcher, end: &SinkFinish) -> io::Result<()> {
        self.is_binary = end.binary_byte_offset().is_some();
        Ok(())
    }
}
