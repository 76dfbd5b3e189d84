//! Compares the journal with what was read of it: its files are there, the chain goes through them, and the
//! record that was read last is where it was. Nothing here writes or asks the database.
//!
//! A full file does not change any more, so one that was checked is not read again while its size, its inode
//! and its change time stay the same.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Seek as _, SeekFrom};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use protocol::JournalRecord;
use serde::Deserialize;

use super::chain::Position;
use super::files::Files;
use super::read::is_unchanged;

/// How much of the current file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Only the record that was read last.
    Head,
    /// All of it.
    Whole,
}

/// A difference between the journal and what was read of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    pub(crate) file: u64,
    pub(crate) offset: u64,
    pub what: String,
    /// The hash that the journal has instead.
    pub(crate) found_hash: Option<String>,
}

/// The full files that were checked, by number.
#[derive(Debug, Default)]
pub struct Comparison(HashMap<u64, Checked>);

#[derive(Debug, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
    size: u64,
    changed: (i64, i64),
}

#[derive(Debug)]
struct Checked {
    identity: Identity,
    from: u64,
    walk: Walk,
}

/// The bytes between two offsets of a file.
#[derive(Debug, Clone, Default)]
struct Walk {
    /// What the first record follows; empty without one.
    prev: String,
    /// The hash of the last record; empty without one.
    last_hash: String,
    /// Where the last record ends.
    end: u64,
    /// The first record that does not follow the one before it, or is none.
    broken_at: Option<u64>,
}

impl Comparison {
    /// The first difference between `base` and `head`, up to which the journal was read.
    pub fn first_mismatch(
        &mut self,
        journal: &Path,
        base: &Position,
        head: &Position,
        depth: Depth,
    ) -> io::Result<Option<Mismatch>> {
        loop {
            let files = Files::list(journal)?;
            let found = self.look(&files, base, head, depth)?;
            // Rotated meanwhile: a file that was opened may be another one.
            if found.is_none() || Files::list(journal)? == files {
                return Ok(found);
            }
        }
    }

    fn look(
        &mut self,
        files: &Files,
        base: &Position,
        head: &Position,
        depth: Depth,
    ) -> io::Result<Option<Mismatch>> {
        let mut hash = base.last_hash.clone();
        for number in base.file..=head.file {
            let from = if number == base.file { base.offset } else { 0 };
            let until = (number == head.file).then_some(head.offset);
            if until == Some(0) {
                break;
            }
            let Some(file) = files.open(number)? else { return Ok(Some(gone(number))) };
            if until.is_some() && depth == Depth::Head {
                return Ok((!is_unchanged(&file, head)?).then(|| head_mismatch(&file, head)));
            }
            let walk = self.walk(number, &file, from, until)?;
            let follows = hash.is_empty() || walk.prev.is_empty() || walk.prev == hash;
            if let Some(offset) = walk.broken_at.or((!follows).then_some(from)) {
                let reason = "records were changed, removed, added or reordered";
                return Ok(Some(broken(number, offset, reason)));
            }
            if !walk.last_hash.is_empty() {
                hash = walk.last_hash;
            }
            if until.is_some_and(|until| walk.end != until || hash != head.last_hash) {
                return Ok(Some(head_mismatch(&file, head)));
            }
        }
        let is_head = hash.is_empty() || head.last_hash.is_empty() || hash == head.last_hash;
        Ok((!is_head).then(|| changed(head, Some(hash))))
    }

    fn walk(&mut self, number: u64, file: &File, from: u64, until: Option<u64>) -> io::Result<Walk> {
        let identity = Identity::of(file)?;
        let known = self.0.get(&number).filter(|known| known.from == from && known.identity == identity);
        if let (Some(known), None) = (known, until) {
            return Ok(known.walk.clone());
        }
        let walk = walk(file, from, until)?;
        if until.is_none() {
            self.0.insert(number, Checked { identity, from, walk: walk.clone() });
        }
        Ok(walk)
    }
}

impl Identity {
    fn of(file: &File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        Ok(Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        })
    }
}

fn walk(mut file: &File, from: u64, until: Option<u64>) -> io::Result<Walk> {
    #[derive(Deserialize)]
    struct Link {
        prev: String,
    }
    file.seek(SeekFrom::Start(from))?;
    let mut reader = BufReader::new(file);
    let (mut walk, mut line) = (Walk { end: from, ..Walk::default() }, Vec::new());
    while until.is_none_or(|until| walk.end < until) {
        line.clear();
        if reader.read_until(b'\n', &mut line)? == 0 {
            break;
        }
        let length = u64::try_from(line.len()).unwrap_or(u64::MAX);
        let is_whole = line.pop_if(|byte| *byte == b'\n').is_some();
        let prev = serde_json::from_slice(&line).ok().filter(|_| is_whole).map(|Link { prev }| prev);
        let follows = prev.as_ref().is_some_and(|prev| walk.last_hash.is_empty() || *prev == walk.last_hash);
        if !follows && walk.broken_at.is_none() {
            walk.broken_at = Some(walk.end);
        }
        if walk.prev.is_empty() {
            walk.prev = prev.unwrap_or_default();
        }
        walk.last_hash = JournalRecord::line_hash(&line);
        walk.end += length;
    }
    Ok(walk)
}

pub(super) fn gone(number: u64) -> Mismatch {
    let what = format!("file {number} of the journal is gone");
    Mismatch { file: number, offset: 0, what, found_hash: None }
}

pub(super) fn broken(number: u64, offset: u64, reason: &str) -> Mismatch {
    let what = format!("the chain of file {number} of the journal is broken at offset {offset}: {reason}");
    Mismatch { file: number, offset, what, found_hash: None }
}

/// The record that was read last is not where it was.
pub(super) fn head_mismatch(file: &File, head: &Position) -> Mismatch {
    let length = file.metadata().map_or(0, |metadata| metadata.len());
    if length >= head.offset {
        return changed(head, None);
    }
    let what = format!(
        "file {} of the journal ends before the record that was read last: records were removed, or the \
         machine lost power within a second after they were written",
        head.file
    );
    Mismatch { file: head.file, offset: length, what, found_hash: None }
}

fn changed(head: &Position, found_hash: Option<String>) -> Mismatch {
    let what = format!(
        "the record that was read last from file {} of the journal is another one now: records were changed, \
         or the machine lost power within a second after they were written",
        head.file
    );
    Mismatch { file: head.file, offset: head.offset, what, found_hash }
}
