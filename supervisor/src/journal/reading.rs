//! Reads the journal's file in pieces, from any offset, without moving a cursor.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use protocol::JournalRecord;

use super::chain::{Position, Taken, take_in};

/// How much is read at once; more than the longest record that a tool server writes.
pub(super) const PIECE_BYTES: usize = 1024 * 1024;
/// A line longer than this is no record.
const MAX_LINE_BYTES: usize = 32 * 1024 * 1024;

/// Whether the file still ends its known part with the line that the position remembers.
pub(super) fn ends_as_known(file: &File, known: &Position) -> io::Result<bool> {
    if known.offset == 0 {
        return Ok(true);
    }
    let mut line = vec![0; usize::try_from(known.last_line_bytes).unwrap_or(0).min(MAX_LINE_BYTES)];
    let begin = known.offset.saturating_sub(known.last_line_bytes + 1);
    match file.read_exact_at(&mut line, begin) {
        Ok(()) => Ok(JournalRecord::line_hash(&line) == known.last_hash),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

/// The next complete lines; none at the end.
pub(super) fn read_on(file: &File, position: &Position) -> io::Result<Option<Taken>> {
    let mut size = PIECE_BYTES;
    loop {
        let piece = read_piece(file, position.offset, size)?;
        let taken = take_in(position, &piece);
        if taken.position.offset > position.offset {
            return Ok(Some(taken));
        }
        if piece.len() < size {
            return Ok(None);
        }
        if size >= MAX_LINE_BYTES {
            return Err(io::Error::other("a line of the journal is longer than any record"));
        }
        size *= 2;
    }
}

fn read_piece(file: &File, offset: u64, size: usize) -> io::Result<Vec<u8>> {
    let left = usize::try_from(file.metadata()?.len().saturating_sub(offset)).unwrap_or(size);
    let mut piece = vec![0; left.min(size)];
    let mut filled = 0;
    while filled < piece.len() {
        let at = offset.saturating_add(u64::try_from(filled).unwrap_or(u64::MAX));
        match file.read_at(&mut piece[filled..], at) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    piece.truncate(filled);
    Ok(piece)
}
