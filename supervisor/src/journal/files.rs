//! The files of a journal: the current one, and the full ones that were rotated away, by number.
//!
//! The current file counts under the number that it will get, so a position stays valid when its file is
//! rotated. Nothing here writes.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

use protocol::JournalRecord;
use protocol::journal::archive_number;

use super::read::MAX_LINE_BYTES;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Files {
    current: PathBuf,
    archives: BTreeMap<u64, PathBuf>,
}

impl Files {
    pub(crate) fn list(journal: &Path) -> io::Result<Self> {
        let name = journal.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let directory = journal.parent().unwrap_or(Path::new("."));
        let mut archives = BTreeMap::new();
        let entries = match fs::read_dir(directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            entries => Some(entries?),
        };
        for entry in entries.into_iter().flatten() {
            let entry = entry?;
            let number = entry.file_name().to_str().and_then(|file| archive_number(name, file));
            archives.extend(number.map(|number| (number, entry.path())));
        }
        Ok(Self { current: journal.to_owned(), archives })
    }

    /// The size of all of them.
    pub(crate) fn bytes(&self) -> u64 {
        let files = self.archives.values().chain([&self.current]);
        files.map(|file| fs::metadata(file).map_or(0, |file| file.len())).sum()
    }

    pub(crate) fn oldest(&self) -> u64 {
        self.archives.first_key_value().map_or_else(|| self.newest(), |(number, _)| *number)
    }

    pub(crate) fn newest(&self) -> u64 {
        self.archives.last_key_value().map_or(1, |(number, _)| number + 1)
    }

    /// Whether a file is full and will not change any more.
    pub(crate) fn is_full(&self, number: u64) -> bool {
        self.archives.contains_key(&number)
    }

    /// The full files below a number, oldest first.
    pub(crate) fn full_before(&self, number: u64) -> impl Iterator<Item = (u64, &Path)> {
        self.archives.range(..number).map(|(number, path)| (*number, path.as_path()))
    }

    /// When the oldest record was written; none if there is none.
    pub(crate) fn oldest_time_ms(&self) -> io::Result<Option<i64>> {
        self.time_ms_of(self.oldest())
    }

    /// When the first record of a file was written; none if there is none.
    pub(crate) fn time_ms_of(&self, number: u64) -> io::Result<Option<i64>> {
        let Some(file) = self.open(number)? else { return Ok(None) };
        let mut line = Vec::new();
        BufReader::new(file).take(MAX_LINE_BYTES).read_until(b'\n', &mut line)?;
        Ok(serde_json::from_slice(&line).ok().map(|record: JournalRecord| record.time_ms))
    }

    /// Opens a file by its number; none if it does not exist.
    pub(super) fn open(&self, number: u64) -> io::Result<Option<File>> {
        let path = self.archives.get(&number).or_else(|| (number == self.newest()).then_some(&self.current));
        match path.map(File::open) {
            None => Ok(None),
            Some(Err(error)) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Some(opened) => opened.map(Some),
        }
    }
}
