//! The files that `grep` searches: each is opened beneath its directory, checked and searched.

use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use files::roots::open_child_file;
use rustix::fs::fstat;
use rustix::io::Errno;

use super::page::Position;
use crate::entry_type::EntryType;
use crate::search::{
    Entry, FileMatches, FileSearcher, PageCollector, PageUsage, PathDisplay, PathGlob, SearchMode,
    SearchOutcome, Skipped, Visitor,
};

/// One thread's search of files.
pub(super) struct Files<'a> {
    pub(super) files: FileSearcher<'a>,
    pub(super) position: &'a Position,
    pub(super) found: &'a PageCollector<FileMatches>,
    pub(super) shown: &'a PathDisplay,
}

/// One thread's search of the files of a tree.
pub(super) struct Tree<'a> {
    pub(super) files: Files<'a>,
    pub(super) glob: Option<&'a PathGlob>,
}

impl Visitor for Tree<'_> {
    /// Few, because a file may be large.
    const ENTRIES_PER_JOB: usize = 8;

    fn may_include_below(&self, directory: &[u8]) -> bool {
        self.files.found.may_include_below(directory)
    }

    fn visit(&mut self, entry: &Entry<'_>, skipped: &mut Skipped) {
        let is_file = entry.entry_type == EntryType::File;
        if !is_file || !self.glob.is_none_or(|glob| glob.matches(entry.path, entry.name)) {
            return;
        }
        if !self.files.found.may_include(entry.path) {
            skipped.is_incomplete = true;
            return;
        }
        match open(entry) {
            Ok(Some(file)) => self.files.search(entry.path, file, skipped),
            // It was deleted or replaced since we read its directory.
            Ok(None) | Err(Errno::NOENT | Errno::LOOP | Errno::NXIO) => {}
            Err(_) => skipped.unreadable.add(self.files.shown.path(entry.path)),
        }
    }
}

fn open(entry: &Entry<'_>) -> Result<Option<File>, Errno> {
    let name = Path::new(std::ffi::OsStr::from_bytes(entry.name));
    let file = open_child_file(entry.directory.handle.as_fd(), name)?;
    let is_regular = EntryType::of(&fstat(&file)?) == EntryType::File;
    Ok(is_regular.then(|| File::from(file)))
}

impl Files<'_> {
    /// Searches a file and keeps what the page may need. The path is below the searched directory.
    pub(super) fn search(&mut self, path: &[u8], file: File, skipped: &mut Skipped) {
        match self.files.search(file, self.position.line_in(path)) {
            SearchOutcome::Done(matches_found) => self.keep(path, matches_found),
            SearchOutcome::LongLine(matches_found) => {
                skipped.long_lined.add(self.shown.path(path));
                self.keep(path, matches_found);
            }
            // Lines found so far are right whatever follows; a count would not be.
            SearchOutcome::BudgetExhausted(matches_found) if self.files.mode != SearchMode::Count => {
                self.keep(path, matches_found)
            }
            SearchOutcome::BudgetExhausted(_) => {}
            SearchOutcome::Binary => skipped.binary += 1,
            SearchOutcome::Unreadable => skipped.unreadable.add(self.shown.path(path)),
        }
    }

    fn keep(&self, path: &[u8], matches_found: FileMatches) {
        match self.files.mode {
            SearchMode::Lines { .. } if matches_found.lines.is_empty() => {}
            SearchMode::Lines { .. } => self.found.add(path, matches_found.usage, matches_found),
            SearchMode::AnyMatch | SearchMode::Count if matches_found.matches == 0 => {}
            SearchMode::AnyMatch | SearchMode::Count => {
                self.found.add(path, PageUsage { items: 1, bytes: path.len() + 1 }, matches_found);
            }
        }
    }
}
