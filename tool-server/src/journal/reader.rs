//! The journal's records for readers elsewhere, in their order, from any place.
//!
//! A place is one number, so that a reader keeps one number: the number of the file and the offset in it. The
//! current file counts under the number that it will get, so a place stays valid when its file is archived.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use protocol::JournalPlace;
use toolkit::locked;

use super::tail::{Tail, identity_and_length};
use super::{Journal, archives};

/// How much is read at once, and the longest line that is a record: arguments above 64 KiB lie in their own
/// file, so this is far beyond.
const PIECE_BYTES: u64 = 256 * 1024;
const MAX_LINE_BYTES: u64 = 32 * 1024 * 1024;

/// Why records cannot be read from a place.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    /// No record ends there. The oldest file may be gone, or another journal was begun.
    #[error("No record of this journal has the number {0}.")]
    NotThere(u64),
    #[error("cannot read the journal: {0}")]
    Io(#[from] io::Error),
}

/// A record, as it stands in the file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// Its place, from which the next one is read.
    pub(crate) number: u64,
    /// Without the newline.
    pub(crate) text: Vec<u8>,
}

/// Where the journal ends.
pub(super) fn end_of(tail: &Tail) -> io::Result<JournalPlace> {
    Ok(JournalPlace { file: Files::list(&tail.path)?.current(), offset: tail.length })
}

/// Reads on from a place.
#[derive(Debug)]
pub(crate) struct Reader {
    journal: Arc<Journal>,
    file: File,
    place: JournalPlace,
}

impl Reader {
    /// What follows the record with this number; everything after 0.
    pub(crate) fn after(journal: Arc<Journal>, number: u64) -> Result<Self, ReadError> {
        let not_there = || ReadError::NotThere(number);
        let (file, place) = {
            // The server archives files under this lock.
            let tail = locked(&journal.tail);
            let files = Files::list(&tail.path)?;
            let start = || JournalPlace { file: files.oldest(), offset: 0 };
            let place = if number == 0 { start() } else { JournalPlace::of(number) };
            let path = files.path(place.file).ok_or_else(not_there)?;
            (File::open(path)?, place)
        };
        if !is_behind_a_line(&file, place.offset)? {
            return Err(not_there());
        }
        Ok(Self { journal, file, place })
    }

    /// The next records, about a quarter of a megabyte of them; none at the end of the journal.
    pub(crate) fn read(&mut self) -> io::Result<Vec<Line>> {
        loop {
            let lines = self.read_file()?;
            if !lines.is_empty() {
                return Ok(lines);
            }
            let Some((number, file)) = self.next_file()? else { return Ok(lines) };
            // The file is full now. It was not when it was read, perhaps.
            let lines = self.read_file()?;
            if !lines.is_empty() {
                return Ok(lines);
            }
            (self.file, self.place) = (file, JournalPlace { file: number, offset: 0 });
        }
    }

    /// The file that follows this one, once this one is full.
    fn next_file(&self) -> io::Result<Option<(u64, File)>> {
        let tail = locked(&self.journal.tail);
        let files = Files::list(&tail.path)?;
        if self.place.file >= files.current() {
            let (identity, _) = identity_and_length(&self.file)?;
            return match identity == tail.identity {
                true => Ok(None),
                false => Err(io::Error::other("the journal's file was removed or replaced")),
            };
        }
        let number = self.place.file + 1;
        let path = files.path(number).ok_or_else(|| io::Error::other("a file of the journal is gone"))?;
        Ok(Some((number, File::open(path)?)))
    }

    /// The next complete lines of this file.
    fn read_file(&mut self) -> io::Result<Vec<Line>> {
        let mut size = PIECE_BYTES;
        loop {
            let piece = read_at(&self.file, self.place.offset, size)?;
            let lines: Vec<Line> = self.lines(&piece);
            if !lines.is_empty() || u64::try_from(piece.len()).unwrap_or(u64::MAX) < size {
                return Ok(lines);
            }
            if size >= MAX_LINE_BYTES {
                return Err(io::Error::other("a line of the journal is longer than any record"));
            }
            size *= 2;
        }
    }

    /// The complete lines of a piece, which are read with this.
    fn lines(&mut self, piece: &[u8]) -> Vec<Line> {
        let mut lines = Vec::new();
        for line in piece.split_inclusive(|byte| *byte == b'\n') {
            let Some(text) = line.strip_suffix(b"\n") else { break };
            self.place.offset += u64::try_from(line.len()).unwrap_or(0);
            lines.push(Line { number: self.place.number(), text: text.to_vec() });
        }
        lines
    }
}

/// The files of a journal, of which the current one has the next number.
struct Files<'a> {
    archives: BTreeMap<u64, PathBuf>,
    current: &'a Path,
}

impl<'a> Files<'a> {
    fn list(current: &'a Path) -> io::Result<Self> {
        Ok(Self { archives: archives::archives(current)?, current })
    }

    fn oldest(&self) -> u64 {
        self.archives.first_key_value().map_or_else(|| self.current(), |(number, _)| *number)
    }

    fn current(&self) -> u64 {
        archives::next_number(&self.archives)
    }

    fn path(&self, number: u64) -> Option<&Path> {
        let archive = self.archives.get(&number).map(PathBuf::as_path);
        archive.or_else(|| (number == self.current()).then_some(self.current))
    }
}

/// Whether a line begins at an offset, or will.
fn is_behind_a_line(file: &File, offset: u64) -> io::Result<bool> {
    let Some(before) = offset.checked_sub(1) else { return Ok(true) };
    Ok(read_at(file, before, 1)? == b"\n")
}

fn read_at(file: &File, offset: u64, size: u64) -> io::Result<Vec<u8>> {
    let left = file.metadata()?.len().saturating_sub(offset).min(size);
    let mut piece = vec![0; usize::try_from(left).unwrap_or(0)];
    match file.read_exact_at(&mut piece, offset) {
        Ok(()) => Ok(piece),
        // A line that could not be written whole was cut off meanwhile.
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}
