//! The headers of a download.

use std::fmt::Write as _;

use axum::http::{HeaderMap, HeaderValue, header};

use super::tag_of;
use crate::transfers::OpenFile;

/// What a browser may do with a file that somebody else wrote: nothing but save it.
const NO_SCRIPTS: &str = "default-src 'none'; sandbox";

pub(super) fn of(file: &OpenFile) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let mut insert = |name, value: Result<HeaderValue, _>| {
        if let Ok(value) = value {
            headers.insert(name, value);
        }
    };
    insert(header::ETAG, tag_of(&file.sha256));
    insert(header::CONTENT_TYPE, HeaderValue::try_from(media_type(&file.name)));
    insert(header::CONTENT_DISPOSITION, HeaderValue::try_from(disposition(&file.name)));
    insert(header::ACCEPT_RANGES, Ok(HeaderValue::from_static("bytes")));
    insert(header::CACHE_CONTROL, Ok(HeaderValue::from_static("private, no-cache")));
    insert(header::CONTENT_SECURITY_POLICY, Ok(HeaderValue::from_static(NO_SCRIPTS)));
    headers
}

/// By the name's ending; the bytes decide nothing here, and `nosniff` tells the client the same.
fn media_type(name: &[u8]) -> String {
    let guess = mime_guess::from_path(&*String::from_utf8_lossy(name));
    let media_type = guess.first_raw().unwrap_or("application/octet-stream");
    match media_type.split_once('/') {
        Some(("text", _)) => format!("{media_type}; charset=utf-8"),
        _ => media_type.to_owned(),
    }
}

/// `attachment`, with the name twice: in ASCII, and whole for who knows RFC 8187.
fn disposition(name: &[u8]) -> String {
    let name = String::from_utf8_lossy(name);
    let plain: String = name
        .chars()
        .map(|character| match character {
            '"' | '\\' => '_',
            ' '..='~' => character,
            _ => '_',
        })
        .collect();
    let mut text = format!("attachment; filename=\"{plain}\"");
    if plain != name {
        text.push_str("; filename*=UTF-8''");
        for byte in name.bytes() {
            if byte.is_ascii_alphanumeric() || b"!#$&+-.^_`|~".contains(&byte) {
                text.push(char::from(byte));
            } else {
                let _ = write!(text, "%{byte:02X}");
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_given_in_ascii_and_whole() {
        let check = |name: &str, expected: &str| {
            assert_eq!(disposition(name.as_bytes()), format!("attachment; {expected}"));
        };
        check("a b.txt", "filename=\"a b.txt\"");
        check("é\".txt", "filename=\"__.txt\"; filename*=UTF-8''%C3%A9%22.txt");
        check("a\r\nX: 1", "filename=\"a__X: 1\"; filename*=UTF-8''a%0D%0AX%3A%201");
    }

    #[test]
    fn the_ending_decides_the_type() {
        assert_eq!(media_type(b"a.png"), "image/png");
        assert_eq!(media_type(b"a.txt"), "text/plain; charset=utf-8");
        assert_eq!(media_type(b"a.pdf"), "application/pdf");
        assert_eq!(media_type(b"noending"), "application/octet-stream");
    }
}
