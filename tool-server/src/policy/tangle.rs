//! A bound on the work that a line can make for the parser.
//!
//! The parser's time is linear for valid code, but where it has to recover from errors it grows with the
//! square of what it has read: 60 kB of `a|` took half a minute, in steps that no callback can stop. So
//! the characters that make it grow are counted first. A line with many of them is usually one that
//! carries a file's text in quotes or in a here-document; there they mean nothing to the shell, and are
//! blotted out for the parser. What still has too many is a script and belongs in a file.

use std::borrow::Cow;

/// How many of these characters a line may have; people's command lines stay below a hundred. At this
/// number the slowest of some ten thousand patterns, each repeated to 64 KiB, takes about a second, and
/// one of 4 KiB a few milliseconds.
const MAX_WEIGHTY: usize = 600;

/// Openers, separators and pattern characters: those that a search over all short patterns showed to be
/// slow in numbers.
const WEIGHTY: [u8; 19] = *b"|(<>`{[$)@?*+!;&%=\r";

/// Stands for a blotted character; it is a letter, and weighs nothing.
const BLOT: u8 = b'x';

/// The text for the parser, every byte in its place; nothing if it is too tangled to be parsed.
pub(super) fn untangled(code: &str) -> Option<Cow<'_, str>> {
    if weight(code.as_bytes()) <= MAX_WEIGHTY {
        return Some(Cow::Borrowed(code));
    }
    let mut text = code.as_bytes().to_vec();
    Blotter { text: &mut text, at: 0, here_documents: Vec::new() }.run();
    let simple = weight(&text) <= MAX_WEIGHTY;
    String::from_utf8(text).ok().filter(|_| simple).map(Cow::Owned)
}

fn weight(text: &[u8]) -> usize {
    text.iter().filter(|byte| WEIGHTY.contains(byte)).count()
}

/// Goes once through the text and blots out what is only quoted.
struct Blotter<'a> {
    text: &'a mut [u8],
    at: usize,
    /// The here-documents that begin at the next line's start: their delimiters, and whether the shell
    /// expands them.
    here_documents: Vec<(Vec<u8>, bool)>,
}

impl Blotter<'_> {
    fn run(mut self) {
        while let Some(&byte) = self.text.get(self.at) {
            let from = self.at;
            self.at += 1;
            match byte {
                b'\\' => self.at += 1,
                b'\'' => self.blot_until(b"'"),
                b'"' => self.double_quoted(),
                b'#' if from == 0 || self.text[from - 1].is_ascii_whitespace() => self.blot_until(b"\n"),
                b'<' if self.text[self.at..].starts_with(b"<") => self.here_document(),
                b'\n' => self.bodies(),
                _ => {}
            }
        }
    }

    /// Blots out up to an end, and stands before it if it is a line's end and else behind it.
    fn blot_until(&mut self, end: &[u8]) {
        let length = find(&self.text[self.at..], end);
        self.blot(length.unwrap_or(self.text.len() - self.at));
        self.at += if end == b"\n" { 0 } else { end.len() };
    }

    fn blot(&mut self, length: usize) {
        for byte in &mut self.text[self.at..self.at + length] {
            if WEIGHTY.contains(byte) {
                *byte = BLOT;
            }
        }
        self.at += length;
    }

    fn double_quoted(&mut self) {
        let rest = &self.text[self.at..];
        let mut length = 0;
        while length < rest.len() && rest[length] != b'"' {
            length += if rest[length] == b'\\' { 2 } else { 1 };
        }
        let length = length.min(rest.len());
        if substitutes(&rest[..length]) {
            self.at += length
        } else {
            self.blot(length)
        }
        self.at += 1;
    }

    /// Notes a here-document's delimiter; `<<<` is none.
    fn here_document(&mut self) {
        self.at += 1;
        if self.text[self.at..].starts_with(b"<") {
            self.at += 1;
            return;
        }
        let rest = &self.text[self.at..];
        let rest = rest.strip_prefix(b"-").unwrap_or(rest).trim_ascii_start();
        let is_end = |byte: &u8| byte.is_ascii_whitespace() || b";|&<>()".contains(byte);
        let word = rest.split(is_end).next().unwrap_or_default();
        let plain: Vec<u8> = word.iter().copied().filter(|byte| !b"'\"\\".contains(byte)).collect();
        if !plain.is_empty() {
            let expanded = plain.len() == word.len();
            self.here_documents.push((plain, expanded));
        }
    }

    /// Blots out the bodies of the here-documents that begin here, unless the shell expands them.
    fn bodies(&mut self) {
        for (delimiter, expanded) in std::mem::take(&mut self.here_documents) {
            let rest = &self.text[self.at..];
            let lines = rest.split_inclusive(|byte| *byte == b'\n');
            let body =
                lines.take_while(|line| line.trim_ascii() != delimiter).map(<[u8]>::len).sum::<usize>();
            if expanded && substitutes(&rest[..body]) { self.at += body } else { self.blot(body) }
        }
    }
}

/// Whether the shell puts anything into a text that it expands.
fn substitutes(text: &[u8]) -> bool {
    text.contains(&b'`') || text.contains(&b'$')
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}
