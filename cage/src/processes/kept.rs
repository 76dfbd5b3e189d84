//! The output of a background process in memory: the last of it, in numbered pieces.
//!
//! A piece never changes once it has a number, so a reader that names the last number it saw gets what
//! follows. Pieces end where lines do, so that a secret in a line is whole where it is looked for. A line
//! that grows too long, or whose rest does not come, is cut.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use memchr::{memchr_iter, memmem, memrchr};
use schemars::JsonSchema;
use serde::Serialize;

/// How much is kept.
const KEPT_BYTES: usize = 1 << 20;

/// What is kept beyond that, unseen: a private key that began in it is still recognised.
const LOOK_BACK_BYTES: usize = 64 << 10;

/// The longest piece.
const PIECE_BYTES: usize = 8 << 10;

/// What a piece takes beside its bytes.
const PIECE_OVERHEAD: usize = 64;

/// How long the rest of a line may take before its beginning is a piece.
pub(super) const LINE_PAUSE: Duration = Duration::from_millis(100);

/// Which output of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stream {
    /// Its standard output.
    Stdout,
    /// Its standard error.
    Stderr,
}

impl Stream {
    /// Its name, as answers have it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
        }
    }
}

/// Some output of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Its number, from 1.
    pub seq: u64,
    /// Where it came from.
    pub stream: Stream,
    /// As it came.
    pub bytes: Vec<u8>,
}

/// Where a reader begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum From {
    /// Behind the piece with this number.
    After(u64),
    /// So many lines before the end.
    Tail(usize),
}

/// The last output of a process.
#[derive(Debug, Default)]
pub(super) struct Kept {
    pieces: VecDeque<Piece>,
    /// How many of them are there only to look back.
    unseen: usize,
    seen_bytes: usize,
    all_bytes: usize,
    /// The number of the last piece.
    last: u64,
    total_bytes: u64,
    dropped_bytes: u64,
    unfinished: [Unfinished; 2],
    /// The pieces in which a private key begins.
    key_begins: VecDeque<(Stream, u64)>,
}

/// What was written before some pieces, from the first private key on that begins in it.
#[derive(Debug, Default)]
pub struct LookBack {
    pieces: Vec<Piece>,
    key_begins: VecDeque<(Stream, u64)>,
}

/// A line whose end has not come.
#[derive(Debug, Default)]
struct Unfinished {
    bytes: Vec<u8>,
    since: Option<Instant>,
}

impl Kept {
    /// Adds what came. What follows its last newline waits for the rest of its line.
    pub(super) fn add(&mut self, stream: Stream, block: &[u8], now: Instant) {
        self.total_bytes += u64::try_from(block.len()).unwrap_or(0);
        let mut bytes = std::mem::take(&mut self.unfinished[stream as usize].bytes);
        bytes.extend_from_slice(block);
        let mut rest = &*bytes;
        while let Some(length) = next_piece(rest) {
            self.push(stream, rest[..length].to_vec());
            rest = &rest[length..];
        }
        let since = (!rest.is_empty()).then_some(now);
        self.unfinished[stream as usize] = Unfinished { bytes: rest.to_vec(), since };
    }

    /// Makes pieces of the lines that have waited too long for their end; of all once nothing more comes.
    pub(super) fn finish_lines(&mut self, now: Instant, is_over: bool) {
        for stream in [Stream::Stdout, Stream::Stderr] {
            let unfinished = &mut self.unfinished[stream as usize];
            let is_late = unfinished.since.is_some_and(|since| is_over || now >= since + LINE_PAUSE);
            if is_late {
                let bytes = std::mem::take(unfinished).bytes;
                self.push(stream, bytes);
            }
        }
    }

    fn push(&mut self, stream: Stream, bytes: Vec<u8>) {
        self.last += 1;
        if begins_key(&bytes) {
            self.key_begins.push_back((stream, self.last));
        }
        let size = bytes.len() + PIECE_OVERHEAD;
        self.seen_bytes += size;
        self.all_bytes += size;
        self.pieces.push_back(Piece { seq: self.last, stream, bytes });
        while self.seen_bytes > KEPT_BYTES
            && let Some(piece) = self.pieces.get(self.unseen)
        {
            self.seen_bytes -= piece.bytes.len() + PIECE_OVERHEAD;
            self.dropped_bytes += u64::try_from(piece.bytes.len()).unwrap_or(0);
            self.unseen += 1;
        }
        while self.all_bytes - self.seen_bytes > LOOK_BACK_BYTES
            && let Some(piece) = self.pieces.pop_front()
        {
            self.all_bytes -= piece.bytes.len() + PIECE_OVERHEAD;
            self.unseen -= 1;
            self.key_begins.pop_front_if(|(_, seq)| *seq == piece.seq);
        }
    }

    /// The number of the last piece.
    pub(super) fn last(&self) -> u64 {
        self.last
    }

    /// How much of each stream waits for the end of its line.
    pub(super) fn unfinished(&self) -> [usize; 2] {
        self.unfinished.each_ref().map(|unfinished| unfinished.bytes.len())
    }

    pub(super) fn total_bytes(&self) -> u64 {
        self.total_bytes
    }

    /// The pieces that a reader is shown.
    fn seen(&self) -> impl DoubleEndedIterator<Item = &Piece> {
        self.pieces.iter().skip(self.unseen)
    }

    /// The pieces from there on, and how many bytes before them are lost to this reader.
    pub(super) fn read(&self, from: From) -> (Vec<Piece>, u64) {
        let first = match from {
            From::After(seq) => seq.saturating_add(1),
            From::Tail(lines) => self.first_of_last_lines(lines),
        };
        let begin = self.pieces.partition_point(|piece| piece.seq < first).max(self.unseen);
        let mut pieces: Vec<Piece> = self.pieces.range(begin..).cloned().collect();
        if let (From::Tail(lines), Some(piece)) = (from, pieces.first_mut()) {
            let later: usize = self.seen().filter(|piece| piece.seq > first).map(ends).sum();
            cut_to_last_lines(&mut piece.bytes, lines.saturating_sub(later));
        }
        let first_kept = self.seen().next().map_or(self.last + 1, |piece| piece.seq);
        let is_gap = matches!(from, From::After(seq) if seq.saturating_add(1) < first_kept);
        (pieces, if is_gap { self.dropped_bytes } else { 0 })
    }

    /// The number of the piece in which the last lines begin.
    fn first_of_last_lines(&self, lines: usize) -> u64 {
        let (mut first, mut found) = (self.last + 1, 0);
        for piece in self.seen().rev() {
            if found >= lines {
                break;
            }
            first = piece.seq;
            found += ends(piece);
        }
        first
    }

    /// What was written before the pieces that a reader got.
    pub(super) fn look_back(&self) -> LookBack {
        let Some((_, first)) = self.key_begins.front() else { return LookBack::default() };
        let pieces = self.pieces.iter().filter(|piece| piece.seq >= *first).cloned().collect();
        LookBack { pieces, key_begins: self.key_begins.clone() }
    }
}

impl LookBack {
    /// What the same stream wrote before a piece, as far as it matters: nothing unless a private key began
    /// in it.
    pub fn before(&self, piece: &Piece) -> Vec<u8> {
        let is_before = |begin: &&(Stream, u64)| begin.0 == piece.stream && begin.1 < piece.seq;
        let Some((_, begin)) = self.key_begins.iter().rev().find(is_before) else { return Vec::new() };
        let [from, to] = [*begin, piece.seq].map(|seq| self.pieces.partition_point(|other| other.seq < seq));
        let same = self.pieces[from..to].iter().filter(|other| other.stream == piece.stream);
        let mut before: Vec<u8> = same.flat_map(|other| other.bytes.iter().copied()).collect();
        before.drain(..before.len().saturating_sub(LOOK_BACK_BYTES));
        before
    }
}

fn begins_key(bytes: &[u8]) -> bool {
    [&b"PRIVATE KEY"[..], b"Private-Lines:"].iter().any(|mark| memmem::find(bytes, mark).is_some())
}

/// How many lines end in a piece.
fn ends(piece: &Piece) -> usize {
    memchr_iter(b'\n', &piece.bytes).count()
}

fn cut_to_last_lines(bytes: &mut Vec<u8>, lines: usize) {
    let body = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let begin = memchr_iter(b'\n', body).rev().nth(lines.saturating_sub(1)).map_or(0, |newline| newline + 1);
    bytes.drain(..begin);
}

/// How long the next piece is: as many whole lines as fit, or the beginning of a line that does not; none if
/// the rest of the line must come first.
fn next_piece(bytes: &[u8]) -> Option<usize> {
    let most = bytes.len().min(PIECE_BYTES);
    if let Some(newline) = memrchr(b'\n', &bytes[..most]) {
        return Some(newline + 1);
    }
    (bytes.len() >= PIECE_BYTES).then(|| whole_characters(&bytes[..most]))
}

/// Without an incomplete character at the end.
fn whole_characters(bytes: &[u8]) -> usize {
    let is_begin = |byte: &u8| byte & 0b1100_0000 == 0b1100_0000;
    let last = bytes.iter().rposition(is_begin).filter(|last| bytes.len() - last < 4 && *last > 0);
    let is_whole = |last: &usize| std::str::from_utf8(&bytes[*last..]).is_ok();
    last.filter(|last| !is_whole(last)).unwrap_or(bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(pieces: &[Piece]) -> Vec<(u64, String)> {
        pieces.iter().map(|piece| (piece.seq, String::from_utf8(piece.bytes.clone()).unwrap())).collect()
    }

    fn all(kept: &Kept) -> Vec<(u64, String)> {
        texts(&kept.read(From::After(0)).0)
    }

    fn piece(seq: u64, text: &str) -> (u64, String) {
        (seq, text.to_owned())
    }

    #[test]
    fn a_line_is_a_piece_when_it_is_whole_or_its_rest_does_not_come() {
        let (mut kept, now) = (Kept::default(), Instant::now());
        kept.add(Stream::Stdout, b"one\ntwo\nthr", now);
        kept.add(Stream::Stderr, b"Name: ", now);
        kept.finish_lines(now, false);
        assert_eq!(all(&kept), [piece(1, "one\ntwo\n")]);
        kept.add(Stream::Stdout, b"ee\n", now);
        kept.finish_lines(now + LINE_PAUSE, false);
        assert_eq!(all(&kept), [piece(1, "one\ntwo\n"), piece(2, "three\n"), piece(3, "Name: ")]);
        kept.add(Stream::Stdout, b"end", now);
        kept.finish_lines(now, true);
        assert_eq!(texts(&kept.read(From::After(3)).0), [piece(4, "end")]);
        assert_eq!(kept.total_bytes(), 23);
    }

    #[test]
    fn a_long_line_is_cut_between_characters() {
        let mut kept = Kept::default();
        kept.add(Stream::Stdout, format!("x{}", "é".repeat(PIECE_BYTES)).as_bytes(), Instant::now());
        kept.finish_lines(Instant::now(), true);
        let pieces = all(&kept);
        assert!(pieces.len() >= 3 && pieces.iter().all(|(_, text)| text.len() <= PIECE_BYTES), "{pieces:?}");
    }

    #[test]
    fn the_last_lines_begin_within_a_piece() {
        let (mut kept, now) = (Kept::default(), Instant::now());
        for block in ["1\n2\n3\n", "4\n5\n", "6"] {
            kept.add(Stream::Stdout, block.as_bytes(), now);
        }
        kept.finish_lines(now, true);
        let tail = |lines| texts(&kept.read(From::Tail(lines)).0);
        assert_eq!(tail(2), [piece(2, "4\n5\n"), piece(3, "6")]);
        assert_eq!(tail(3), [piece(1, "3\n"), piece(2, "4\n5\n"), piece(3, "6")]);
        assert_eq!(tail(1000)[0], piece(1, "1\n2\n3\n"));
        assert_eq!(Kept::default().read(From::Tail(5)).0, []);
    }

    #[test]
    fn of_a_flood_the_last_is_kept_and_a_reader_hears_what_it_lost() {
        let mut kept = Kept::default();
        let line = [b"x".repeat(999), b"\n".to_vec()].concat();
        for _ in 0..5000 {
            kept.add(Stream::Stdout, &line, Instant::now());
        }
        let (pieces, dropped) = kept.read(From::After(0));
        let shown: usize = pieces.iter().map(|piece| piece.bytes.len()).sum();
        assert!(shown <= KEPT_BYTES && shown > KEPT_BYTES * 3 / 4, "{shown}");
        assert_eq!(dropped + u64::try_from(shown).unwrap(), 5_000_000);
        assert_eq!(kept.read(From::After(pieces[0].seq - 1)).1, 0, "nothing is lost to a reader in time");
        assert!(kept.all_bytes <= KEPT_BYTES + LOOK_BACK_BYTES);
        assert_eq!(kept.read(From::After(u64::MAX)).0, []);
    }

    #[test]
    fn what_was_written_before_counts_if_a_key_began_in_it() {
        let (mut kept, now) = (Kept::default(), Instant::now());
        kept.add(Stream::Stdout, b"a\n", now);
        kept.add(Stream::Stdout, concat!("-----BEGIN ", "PRIVATE KEY-----\n").as_bytes(), now);
        kept.add(Stream::Stderr, b"b\n", now);
        kept.add(Stream::Stdout, b"FAKEbody\n", now);
        let (pieces, _) = kept.read(From::After(0));
        let back = kept.look_back();
        assert!(back.before(&pieces[1]).is_empty() && back.before(&pieces[2]).is_empty());
        assert!(back.before(&pieces[3]).starts_with(b"-----BEGIN"));
        kept.add(Stream::Stdout, &[b'\n'; KEPT_BYTES + LOOK_BACK_BYTES + PIECE_BYTES], now);
        assert!(kept.look_back().pieces.is_empty(), "what is no longer there is not looked for");
    }
}
