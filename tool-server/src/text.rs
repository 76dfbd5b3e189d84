//! Detects what a file is: text in some encoding, an image, or other binary data.
//!
//! Nothing is decoded lossily in silence: the caller learns the encoding, and binary data is not shown as
//! text.

use std::borrow::Cow;

use encoding_rs::{Encoding as Charset, UTF_16BE, UTF_16LE, WINDOWS_1252};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    Utf8,
    Utf8Bom,
    /// UTF-16, little endian, with a byte order mark.
    Utf16Le,
    /// UTF-16, big endian, with a byte order mark.
    Utf16Be,
    /// Not UTF-8 and without NUL: Latin-1, as Windows and the web define it.
    Latin1,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Text(Encoding),
    /// An image of a media type.
    Image(&'static str),
    /// Something else, described.
    Binary(&'static str),
}

const MAGIC: &[(&[u8], Kind)] = &[
    (b"\x89PNG\r\n\x1a\n", Kind::Image("image/png")),
    (b"\xff\xd8\xff", Kind::Image("image/jpeg")),
    (b"GIF87a", Kind::Image("image/gif")),
    (b"GIF89a", Kind::Image("image/gif")),
    (b"\x7fELF", Kind::Binary("an ELF program or library")),
    (b"%PDF-", Kind::Binary("a PDF document")),
    (b"PK\x03\x04", Kind::Binary("a ZIP archive, or a document stored as one")),
    (b"\x1f\x8b", Kind::Binary("gzip data")),
    (b"BZh", Kind::Binary("bzip2 data")),
    (b"\xfd7zXZ\0", Kind::Binary("xz data")),
    (b"\x28\xb5\x2f\xfd", Kind::Binary("zstd data")),
    (b"SQLite format 3\0", Kind::Binary("an SQLite database")),
    (b"\0asm", Kind::Binary("a WebAssembly module")),
    (b"\xca\xfe\xba\xbe", Kind::Binary("a Java class or a Mach-O program")),
    (b"OggS", Kind::Binary("Ogg audio or video")),
    (b"ID3", Kind::Binary("MP3 audio")),
];

/// Detects what a file is from its first bytes; `is_whole` says whether they are the whole file.
pub(crate) fn kind_of(head: &[u8], is_whole: bool) -> Kind {
    let magic = MAGIC.iter().find(|(magic, _)| head.starts_with(magic)).map(|(_, kind)| *kind);
    match (magic, head) {
        // Some magic numbers could begin a text; only a NUL or invalid UTF-8 makes them binary.
        (Some(Kind::Binary(_)), _) if !head.contains(&0) && is_utf8(head, is_whole) => {
            Kind::Text(Encoding::Utf8)
        }
        (Some(kind), _) => kind,
        (None, [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..]) => Kind::Image("image/webp"),
        (None, [0xef, 0xbb, 0xbf, rest @ ..]) if is_utf8(rest, is_whole) => Kind::Text(Encoding::Utf8Bom),
        (None, [0xff, 0xfe, ..]) => Kind::Text(Encoding::Utf16Le),
        (None, [0xfe, 0xff, ..]) => Kind::Text(Encoding::Utf16Be),
        (None, _) if head.contains(&0) => Kind::Binary("binary data"),
        (None, _) if is_utf8(head, is_whole) => Kind::Text(Encoding::Utf8),
        (None, _) => Kind::Text(Encoding::Latin1),
    }
}

/// Whether bytes are UTF-8; if they are not the whole file, the last character may be incomplete.
fn is_utf8(bytes: &[u8], is_whole: bool) -> bool {
    match std::str::from_utf8(bytes) {
        Ok(_) => true,
        Err(error) => !is_whole && error.error_len().is_none(),
    }
}

impl Encoding {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "utf-8",
            Self::Utf8Bom => "utf-8 with byte order mark",
            Self::Utf16Le => "utf-16le",
            Self::Utf16Be => "utf-16be",
            Self::Latin1 => "latin-1",
        }
    }

    /// Decodes bytes; the flag says whether every byte was valid.
    pub(crate) fn decode(self, bytes: &[u8]) -> (Cow<'_, str>, bool) {
        let charset: &'static Charset = match self {
            Self::Utf8 | Self::Utf8Bom => {
                let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
                return match std::str::from_utf8(text) {
                    Ok(text) => (text.into(), true),
                    Err(_) => (String::from_utf8_lossy(text), false),
                };
            }
            Self::Utf16Le => UTF_16LE,
            Self::Utf16Be => UTF_16BE,
            Self::Latin1 => WINDOWS_1252,
        };
        let (text, had_errors) = charset.decode_with_bom_removal(bytes);
        (text, !had_errors)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_recognised_by_their_bytes() {
        let check = |bytes: &[u8], kind| assert_eq!(kind_of(bytes, true), kind, "{bytes:?}");
        check(b"", Kind::Text(Encoding::Utf8));
        check("é".as_bytes(), Kind::Text(Encoding::Utf8));
        check(b"\xef\xbb\xbfa", Kind::Text(Encoding::Utf8Bom));
        check(b"\xff\xfea\0", Kind::Text(Encoding::Utf16Le));
        check(b"\xfe\xff\0a", Kind::Text(Encoding::Utf16Be));
        check(b"caf\xe9", Kind::Text(Encoding::Latin1));
        check(b"a\0b", Kind::Binary("binary data"));
        check(b"\x89PNG\r\n\x1a\n\0", Kind::Image("image/png"));
        check(b"RIFF\0\0\0\0WEBPVP8", Kind::Image("image/webp"));
        check(b"\x7fELF\x02\x01", Kind::Text(Encoding::Utf8));
        check(b"\x7fELF\x02\x01\0", Kind::Binary("an ELF program or library"));
        check(b"BZh is how this text begins", Kind::Text(Encoding::Utf8));
    }

    #[test]
    fn an_incomplete_character_at_the_end_of_the_head_is_allowed() {
        assert_eq!(kind_of(b"a\xc3", false), Kind::Text(Encoding::Utf8));
        assert_eq!(kind_of(b"a\xc3", true), Kind::Text(Encoding::Latin1));
    }

    #[test]
    fn text_is_decoded_as_it_was_stored() {
        assert_eq!(Encoding::Utf16Le.decode(b"\xff\xfea\0\xe9\0").0, "aé");
        assert_eq!(Encoding::Latin1.decode(b"caf\xe9").0, "café");
        assert_eq!(Encoding::Utf8Bom.decode(b"\xef\xbb\xbfa"), (Cow::Borrowed("a"), true));
        assert!(!Encoding::Utf8.decode(b"a\xff").1);
    }
}
