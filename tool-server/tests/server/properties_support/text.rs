//! Random texts: line ends of every kind, byte order marks, old encodings, and files without a final newline.

use proptest::collection::vec;
use proptest::prelude::*;

/// How a file is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    Lf,
    CrLf,
    /// Some lines end one way and some the other.
    Mixed,
    /// UTF-8 after a byte order mark, with CRLF.
    Bom,
    /// Bytes that are no UTF-8.
    Latin1,
}

/// A file, an edit of it, and what it must say afterwards.
#[derive(Debug, Clone)]
pub(crate) struct Edited {
    pub original: Vec<u8>,
    /// What to look for, as a caller writes it.
    pub find: String,
    pub replace: String,
    pub all: bool,
    pub expected: Vec<u8>,
}

/// Lines of few different words, so that they repeat.
pub(crate) fn lines() -> impl Strategy<Value = Vec<String>> {
    vec(prop_oneof!["[ab]{1,2}", "[a-c é]{1,6}", Just("same".to_owned())], 1..40)
}

/// A text of such lines, with or without a final newline.
pub(crate) fn plain() -> impl Strategy<Value = String> {
    (lines(), any::<bool>()).prop_map(|(lines, ends)| lines.join("\n") + if ends { "\n" } else { "" })
}

pub(crate) fn edited() -> impl Strategy<Value = Edited> {
    let styles = vec![Style::Lf, Style::CrLf, Style::Mixed, Style::Bom, Style::Latin1];
    let part = || vec("[a-z ]{0,6}|é→😀", 1..5);
    (prop::sample::select(styles), part(), part(), vec(part(), 1..4), any::<bool>()).prop_map(
        |(style, find, replace, between, ends)| put_together(style, &find, &replace, &between, ends),
    )
}

/// The marks make the two texts different from each other and from everything around them.
fn put_together(
    style: Style,
    find: &[String],
    replace: &[String],
    between: &[Vec<String>],
    ends: bool,
) -> Edited {
    let marked =
        |name: &str, lines: &[String]| format!("<{name} {} {name}>", plain_lines(style, lines, "\n"));
    let (find, replace) = (marked("old", find), marked("new", replace));
    let with = |middle: &str| {
        let mut bytes = beginning(style);
        for lines in between {
            bytes.extend(stored(style, middle).into_bytes());
            bytes.extend(
                plain_lines(style, lines, if style == Style::Mixed { "\r\n" } else { end(style) })
                    .into_bytes(),
            );
        }
        bytes.extend(if ends { end(style).as_bytes() } else { b"" });
        bytes
    };
    Edited { original: with(&find), expected: with(&replace), all: between.len() > 1, find, replace }
}

/// The first lines of a file say what it is, so that it stays that whatever is edited after them.
fn beginning(style: Style) -> Vec<u8> {
    match style {
        Style::Lf => b"first\n".to_vec(),
        Style::CrLf => b"first\r\n".to_vec(),
        Style::Mixed => b"first\nsecond\r\n".to_vec(),
        Style::Bom => b"\xef\xbb\xbffirst\r\n".to_vec(),
        Style::Latin1 => b"caf\xe9\n".to_vec(),
    }
}

fn end(style: Style) -> &'static str {
    match style {
        Style::CrLf | Style::Bom => "\r\n",
        Style::Lf | Style::Mixed | Style::Latin1 => "\n",
    }
}

/// A text as it lies in the file: a caller writes line feeds, whatever the file has.
fn stored(style: Style, text: &str) -> String {
    text.replace('\n', end(style))
}

/// Lines joined; without characters that the file's encoding has not.
fn plain_lines(style: Style, lines: &[String], end: &str) -> String {
    let text = lines.join(end);
    if style == Style::Latin1 { text.replace(|c: char| !c.is_ascii(), "?") } else { text }
}
