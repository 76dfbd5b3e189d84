//! Reads a journal file in pieces, from any offset, without moving a cursor.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use protocol::JournalRecord;

use super::chain::{Batch, Position, parse};

/// How much is read at once; more than the longest record that a tool server writes.
pub(super) const PIECE_BYTES: usize = 1024 * 1024;
/// A longer line is not a record.
pub(super) const MAX_LINE_BYTES: u64 = 32 * 1024 * 1024;

/// Whether the last line before the position is still the one that was read.
pub(super) fn is_unchanged(file: &File, position: &Position) -> io::Result<bool> {
    if position.offset == 0 {
        return Ok(true);
    }
    let mut line = vec![0; usize::try_from(position.last_line_bytes.min(MAX_LINE_BYTES)).unwrap_or(0)];
    let start = position.offset.saturating_sub(position.last_line_bytes + 1);
    match file.read_exact_at(&mut line, start) {
        Ok(()) => Ok(JournalRecord::line_hash(&line) == position.last_hash),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

/// The next complete lines; none at the end.
pub(super) fn next_batch(file: &File, position: &Position) -> io::Result<Option<Batch>> {
    let mut size = PIECE_BYTES;
    loop {
        let piece = read_piece(file, position.offset, size)?;
        let batch = parse(position, &piece);
        if batch.position.offset > position.offset {
            return Ok(Some(batch));
        }
        if piece.len() < size {
            return Ok(None);
        }
        if u64::try_from(size).unwrap_or(u64::MAX) >= MAX_LINE_BYTES {
            return Err(io::Error::other("a line of the journal is longer than any record"));
        }
        size *= 2;
    }
}

/// Up to `size` bytes from there; none at the end.
pub(crate) fn read_piece(file: &File, offset: u64, size: usize) -> io::Result<Vec<u8>> {
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
