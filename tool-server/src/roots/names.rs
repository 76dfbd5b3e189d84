//! File names as text, and back.
//!
//! A file name is any bytes; an answer is JSON for people and models. Control characters, characters that
//! hide or reorder text, invalid UTF-8 and the backslash itself are escaped, and path arguments are read with
//! the same escapes, so every shown path can be passed back.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

pub(crate) fn path_to_text(path: &Path) -> String {
    to_text(path.as_os_str().as_bytes())
}

/// A name or path as text.
pub fn to_text(name: &[u8]) -> String {
    let mut text = String::with_capacity(name.len());
    for chunk in name.utf8_chunks() {
        chunk.valid().chars().for_each(|character| push_character(&mut text, character));
        chunk.invalid().iter().for_each(|byte| text.push_str(&format!("\\x{byte:02x}")));
    }
    text
}

fn push_character(text: &mut String, character: char) {
    match character {
        '\\' => text.push_str("\\\\"),
        '\n' => text.push_str("\\n"),
        '\r' => text.push_str("\\r"),
        '\t' => text.push_str("\\t"),
        _ if character.is_control() || is_deceptive(character) => {
            text.push_str(&format!("\\u{{{:x}}}", u32::from(character)));
        }
        _ => text.push(character),
    }
}

/// Invisible and direction-changing characters in file names: Unicode's Default_Ignorable and Bidi_Control.
pub(crate) fn is_deceptive(character: char) -> bool {
    matches!(
        character,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}'
    )
}

/// A backslash in a text begins no escape that [`to_text`] writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InvalidEscape;

pub(crate) fn from_text(text: &str) -> Result<OsString, InvalidEscape> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        bytes.extend_from_slice(&rest.as_bytes()[..at]);
        rest = read_escape(&rest[at + 1..], &mut bytes)?;
    }
    bytes.extend_from_slice(rest.as_bytes());
    Ok(OsString::from_vec(bytes))
}

/// Reads one escape after its backslash and returns what follows it.
fn read_escape<'a>(text: &'a str, bytes: &mut Vec<u8>) -> Result<&'a str, InvalidEscape> {
    let kind = text.chars().next().ok_or(InvalidEscape)?;
    let rest = &text[kind.len_utf8()..];
    match kind {
        '\\' => bytes.push(b'\\'),
        'n' => bytes.push(b'\n'),
        'r' => bytes.push(b'\r'),
        't' => bytes.push(b'\t'),
        'x' => {
            let digits = rest.get(..2).ok_or(InvalidEscape)?;
            bytes.push(u8::from_str_radix(digits, 16).map_err(|_| InvalidEscape)?);
            return Ok(&rest[2..]);
        }
        'u' => {
            let (digits, rest) =
                rest.strip_prefix('{').and_then(|rest| rest.split_once('}')).ok_or(InvalidEscape)?;
            let number = u32::from_str_radix(digits, 16).map_err(|_| InvalidEscape)?;
            let character = char::from_u32(number).ok_or(InvalidEscape)?;
            bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            return Ok(rest);
        }
        _ => return Err(InvalidEscape),
    }
    Ok(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_names_are_shown_escaped_and_read_back() {
        let check = |name: &[u8], text: &str| {
            assert_eq!(to_text(name), text);
            assert_eq!(from_text(text).unwrap().into_vec(), name);
        };
        check("plain é 日本 😀.txt".as_bytes(), "plain é 日本 😀.txt");
        check(b"a\nb\tc", "a\\nb\\tc");
        check(b"\x1b[31mred", "\\u{1b}[31mred");
        check(b"\xff\xfe", "\\xff\\xfe");
        check("\u{202e}gpj.exe".as_bytes(), "\\u{202e}gpj.exe");
        check(b"back\\slash", "back\\\\slash");
    }

    #[test]
    fn a_backslash_that_escapes_nothing_is_refused() {
        for text in ["a\\", "a\\q", "\\x4", "\\xzz", "\\u41", "\\u{110000}", "\\u{41"] {
            assert_eq!(from_text(text), Err(InvalidEscape), "{text}");
        }
    }
}
