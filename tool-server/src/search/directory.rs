//! One directory of a walk: opened by handle, read completely, sorted.
//!
//! Its names are in one buffer, so that an entry costs only a few bytes even in a directory of a million.
//! Children are opened through its handle, one name at a time and never through a link, so renames in the
//! meantime cannot lead outside.

use std::ffi::OsStr;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use rustix::fs::{FileType, RawDir};
use rustix::io::Errno;

use super::ignore_rules::{IgnoreFiles, IgnoreRules};
use super::search_budget::SearchBudget;
use crate::entry_type::EntryType;

/// How many entries are read between two checks of the clock.
const ENTRIES_PER_CHECK: usize = 4096;

pub(crate) struct Directory {
    pub(crate) handle: OwnedFd,
    /// Its path beneath the root; empty for the root itself, else ending in `/`.
    pub(crate) path: Vec<u8>,
    /// How many levels it is below the searched directory.
    pub(super) depth: usize,
    /// The rules of the ignore files here and above.
    pub(super) rules: Option<Arc<IgnoreRules>>,
    names: Vec<u8>,
    records: Vec<Record>,
}

struct Record {
    start: usize,
    length: u16,
    entry_type: EntryType,
}

impl Directory {
    /// Reads a directory as far as the budget allows, and notes which ignore files it has.
    pub(super) fn read(
        handle: OwnedFd,
        path: Vec<u8>,
        depth: usize,
        budget: &SearchBudget,
    ) -> Result<(Self, IgnoreFiles), Errno> {
        let mut names = Vec::new();
        let mut records = Vec::new();
        let mut ignore_files = IgnoreFiles::default();
        let mut buffer = [MaybeUninit::uninit(); 32 * 1024];
        let mut entries = RawDir::new(&handle, &mut buffer);
        while let Some(entry) = entries.next() {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            if !budget.take_entry()
                || records.len() % ENTRIES_PER_CHECK == ENTRIES_PER_CHECK - 1 && !budget.check_clock()
            {
                break;
            }
            ignore_files.note(name);
            records.push(record(&handle, name, entry.file_type(), &mut names));
        }
        records.sort_unstable_by(|left, right| left.key(&names).cmp(right.key(&names)));
        Ok((Self { handle, path, depth, rules: None, names, records }, ignore_files))
    }

    pub(super) fn len(&self) -> usize {
        self.records.len()
    }

    /// The name of an entry, a directory's ending in `/`, and its type.
    pub(super) fn entry(&self, index: usize) -> (&[u8], EntryType) {
        let record = &self.records[index];
        (record.key(&self.names), record.entry_type)
    }

    /// Keeps the entries for which `is_wanted` is true.
    pub(super) fn retain(&mut self, mut is_wanted: impl FnMut(&[u8], EntryType) -> bool) {
        let names = &self.names;
        self.records.retain(|record| is_wanted(record.key(names), record.entry_type));
    }
}

impl Record {
    fn key<'a>(&self, names: &'a [u8]) -> &'a [u8] {
        &names[self.start..self.start + usize::from(self.length)]
    }
}

fn record(handle: &OwnedFd, name: &[u8], listed_as: FileType, names: &mut Vec<u8>) -> Record {
    let entry_type = EntryType::listed(handle.as_fd(), name, listed_as);
    let start = names.len();
    names.extend_from_slice(name);
    if entry_type == EntryType::Dir {
        names.push(b'/');
    }
    // A name in Linux has at most 255 bytes.
    let length = u16::try_from(names.len() - start).unwrap_or(u16::MAX);
    Record { start, length, entry_type }
}

/// The name of an entry without the `/` of a directory.
pub(super) fn without_slash(key: &[u8]) -> &OsStr {
    OsStr::from_bytes(key.strip_suffix(b"/").unwrap_or(key))
}
