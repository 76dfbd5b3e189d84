//! The charset of a text: by its byte order mark, its header, its own declaration, or what it can be.

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};
use memchr::memmem;

/// Where a page declares its charset.
const DECLARED_WITHIN: usize = 2048;

/// The text. Without a charset it is UTF-8 if it can be, else Windows-1252, which every byte fits.
pub(super) fn decode(bytes: &[u8], named: Option<&str>, is_html: bool) -> String {
    let named = named.and_then(|name| Encoding::for_label(name.as_bytes()));
    let declared = || is_html.then(|| declared(bytes)).flatten();
    let encoding = named.or_else(declared).unwrap_or_else(|| guessed(bytes));
    // A byte order mark goes before what is declared.
    encoding.decode(bytes).0.into_owned()
}

/// Whether the text has two bytes for each character, so that zeros do not make it binary.
pub(super) fn has_wide_mark(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff")
}

fn guessed(bytes: &[u8]) -> &'static Encoding {
    match std::str::from_utf8(bytes) {
        Ok(_) => UTF_8,
        // A cut in the middle of a character is none of another charset.
        Err(error) if error.error_len().is_none() => UTF_8,
        Err(_) => WINDOWS_1252,
    }
}

/// What `<meta charset>` or its older form says.
fn declared(bytes: &[u8]) -> Option<&'static Encoding> {
    let start = bytes.get(..DECLARED_WITHIN).unwrap_or(bytes).to_ascii_lowercase();
    let after = memmem::find(&start, b"charset=")? + b"charset=".len();
    let rest = &start[after..];
    let label: Vec<u8> = rest
        .iter()
        .copied()
        .skip_while(|byte| matches!(byte, b'"' | b'\'' | b' '))
        .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b':'))
        .collect();
    Encoding::for_label(&label)
}
