//! The files that `grep` searches: each opened beneath its directory, looked at, searched and kept.

use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{FileType, fstat};
use rustix::io::Errno;

use super::page::Position;
use crate::entry_type::EntryType;
use crate::roots::open_child_file;
use crate::search::{
    Entry, FileSearch, Found, Hits, LeftOut, Load, PathGlob, Searched, Shown, Visitor, Wanted,
};

/// One thread's search of files.
pub(super) struct Files<'a> {
    pub(super) files: FileSearch<'a>,
    pub(super) position: &'a Position,
    pub(super) found: &'a Found<Hits>,
    pub(super) shown: &'a Shown,
}

/// One thread's search of the files of a tree.
pub(super) struct Tree<'a> {
    pub(super) files: Files<'a>,
    pub(super) glob: Option<&'a PathGlob>,
}

impl Visitor for Tree<'_> {
    /// Few, for a file may be large.
    const ENTRIES_PER_JOB: usize = 8;

    fn wants_beneath(&self, directory: &[u8]) -> bool {
        self.files.found.wants_beneath(directory)
    }

    fn visit(&mut self, entry: &Entry<'_>, left_out: &mut LeftOut) {
        let is_file = entry.entry_type == EntryType::File;
        if !is_file || !self.glob.is_none_or(|glob| glob.matches(entry.path, entry.name)) {
            return;
        }
        if !self.files.found.wants(entry.path) {
            left_out.passed_over = true;
            return;
        }
        match open(entry) {
            Ok(Some(file)) => self.files.search(entry.path, file, left_out),
            // It went away or became something else since its directory was read.
            Ok(None) | Err(Errno::NOENT | Errno::LOOP | Errno::NXIO) => {}
            Err(_) => left_out.unreadable.add(self.files.shown.path(entry.path)),
        }
    }
}

/// Opens a regular file.
fn open(entry: &Entry<'_>) -> Result<Option<File>, Errno> {
    let name = Path::new(std::ffi::OsStr::from_bytes(entry.name));
    let file = open_child_file(entry.folder.handle.as_fd(), name)?;
    let is_regular = FileType::from_raw_mode(fstat(&file)?.st_mode) == FileType::RegularFile;
    Ok(is_regular.then(|| File::from(file)))
}

impl Files<'_> {
    /// Searches a file and keeps what the page can need. The path is below the searched directory.
    pub(super) fn search(&mut self, path: &[u8], file: File, left_out: &mut LeftOut) {
        match self.files.search(file, self.position.line_in(path)) {
            Searched::Done(hits) => self.keep(path, hits),
            Searched::LongLine(hits) => {
                left_out.long_lined.add(self.shown.path(path));
                self.keep(path, hits);
            }
            // Lines that were seen are right whatever follows; a number would not be.
            Searched::Blown(hits) if self.files.wanted() != Wanted::Count => self.keep(path, hits),
            Searched::Blown(_) => {}
            Searched::Binary => left_out.binary += 1,
            Searched::Unreadable => left_out.unreadable.add(self.shown.path(path)),
        }
    }

    fn keep(&self, path: &[u8], hits: Hits) {
        match self.files.wanted() {
            Wanted::Lines { .. } if hits.lines.is_empty() => {}
            Wanted::Lines { .. } => self.found.add(path, hits.load, hits),
            Wanted::Whether | Wanted::Count if hits.matches == 0 => {}
            Wanted::Whether | Wanted::Count => {
                self.found.add(path, Load { items: 1, bytes: path.len() + 1 }, hits);
            }
        }
    }
}
