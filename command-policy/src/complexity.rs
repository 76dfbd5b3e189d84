//! A bound on the work that a line can cause the parser.
//!
//! Parsing valid code takes linear time, but recovery from errors takes time that grows with the square of
//! the text: 60 kB of `a|` took half a minute, in steps that no callback can stop. So the characters that
//! cause it are counted first. A line with many of them usually carries a file's text in quotes or in a
//! here-document; there they mean nothing to the shell, and are masked for the parser. What still has too
//! many is a script and belongs in a file.

use std::borrow::Cow;

/// How many of these characters a line may have; people's command lines stay below a hundred. At this
/// number the slowest of some ten thousand patterns, each repeated to 64 KiB, takes about a second, and
/// one of 4 KiB a few milliseconds.
const MAX_COSTLY: usize = 600;

/// Openers, separators and pattern characters that a search over all short patterns found slow in numbers.
const COSTLY: &[u8] = b"|(<>`{[$)@?*+!;&%=\r";

/// The text for the parser, every byte in its place; nothing if it is too complex to be parsed.
pub(super) fn simplify(code: &str) -> Option<Cow<'_, str>> {
    let is_simple = |text: &[u8]| text.iter().filter(|byte| COSTLY.contains(byte)).count() <= MAX_COSTLY;
    if is_simple(code.as_bytes()) {
        return Some(Cow::Borrowed(code));
    }
    let masked = masked(code.as_bytes().to_vec());
    String::from_utf8(masked).ok().filter(|text| is_simple(text.as_bytes())).map(Cow::Owned)
}

/// Replaces the costly characters in comments, quotes and here-documents that the shell does not expand.
fn masked(mut text: Vec<u8>) -> Vec<u8> {
    let mut at = 0;
    // The here-documents that begin on the next line: their delimiters, and whether they are expanded.
    let mut here_documents: Vec<(Vec<u8>, bool)> = Vec::new();
    while let Some(&byte) = text.get(at) {
        let rest = &text[at..];
        let until = |end: u8| 1 + rest[1..].iter().take_while(|byte| **byte != end).count();
        let has_expansion = |length: usize| rest[..length].iter().any(|byte| b"`$".contains(byte));
        let (length, is_data) = match byte {
            b'\\' => (2, false),
            b'\'' => (until(b'\'') + 1, true),
            b'"' => {
                let length = double_quoted(rest);
                (length, !has_expansion(length))
            }
            b'#' if at == 0 || text[at - 1].is_ascii_whitespace() => (until(b'\n'), true),
            b'<' if rest.starts_with(b"<<<") => (3, false),
            b'<' if rest.starts_with(b"<<") => {
                here_documents.extend(delimiter(&rest[2..]));
                (2, false)
            }
            b'\n' if !here_documents.is_empty() => {
                let (delimiter, expanded) = here_documents.remove(0);
                let lines = rest[1..].split_inclusive(|byte| *byte == b'\n');
                let body = lines.take_while(|line| line.trim_ascii() != delimiter).map(<[u8]>::len);
                let length = 1 + body.sum::<usize>();
                (length, !expanded || !has_expansion(length))
            }
            _ => (1, false),
        };
        let end = text.len().min(at + length);
        if is_data {
            text[at..end].iter_mut().filter(|byte| COSTLY.contains(byte)).for_each(|byte| *byte = b'x');
        }
        at = end;
    }
    text
}

fn double_quoted(text: &[u8]) -> usize {
    let mut length = 1;
    while length < text.len() && text[length] != b'"' {
        length += if text[length] == b'\\' { 2 } else { 1 };
    }
    text.len().min(length + 1)
}

/// The delimiter behind `<<`, and whether it leaves the here-document to be expanded.
fn delimiter(text: &[u8]) -> Option<(Vec<u8>, bool)> {
    let text = text.strip_prefix(b"-").unwrap_or(text).trim_ascii_start();
    let is_end = |byte: &u8| byte.is_ascii_whitespace() || b";|&<>()".contains(byte);
    let word = text.split(is_end).next()?;
    let plain: Vec<u8> = word.iter().copied().filter(|byte| !b"'\"\\".contains(byte)).collect();
    let expanded = plain.len() == word.len();
    (!plain.is_empty()).then_some((plain, expanded))
}
