//! The charset of a text: by its byte order mark, its header, the places of its zeros, its own declaration,
//! or what it can be.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};
use memchr::memmem;

/// Where a page declares its charset.
const DECLARED_WITHIN: usize = 2048;

/// How much of a text says where its zeros are.
const SAMPLE: usize = 512;

/// How bytes become characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Charset {
    /// One that browsers know.
    Known(&'static Encoding),
    /// Four bytes for each character, the lowest first or last.
    Utf32 { is_big_endian: bool },
}

/// What may stand for UTF-32.
const UTF_32: [&str; 8] =
    ["utf-32", "utf32", "utf-32le", "utf32le", "utf-32be", "utf32be", "ucs-4", "iso-10646-ucs-4"];

impl Charset {
    /// The charset of a text whose header names one, or none. `is_marked_up` says that the text may declare
    /// its charset itself. None if neither mark, name nor zeros tell, and it does not either.
    pub(super) fn of(bytes: &[u8], named: Option<&str>, is_marked_up: bool) -> Option<Self> {
        let declared = || is_marked_up.then(|| declared(bytes)).flatten();
        by_mark(bytes).or_else(|| by_name(named?, bytes)).or_else(|| by_zeros(bytes)).or_else(declared)
    }

    /// Whether each character has several bytes, so that zeros do not make a text binary.
    pub(super) fn is_wide(self) -> bool {
        match self {
            Self::Known(encoding) => encoding == UTF_16LE || encoding == UTF_16BE,
            Self::Utf32 { .. } => true,
        }
    }

    /// The text, which may end within a character if it was cut.
    pub(super) fn decode(self, bytes: &[u8], is_cut: bool) -> String {
        let mut text = match self {
            // Its byte order mark is left out.
            Self::Known(encoding) => encoding.decode(bytes).0.into_owned(),
            Self::Utf32 { is_big_endian } => decode_utf32(bytes, is_big_endian),
        };
        if is_cut && text.ends_with(char::REPLACEMENT_CHARACTER) {
            text.pop();
        }
        text
    }

    /// What a text is that says nothing about itself: UTF-8 if it can be, else Windows-1252, which every byte
    /// fits.
    pub(super) fn guessed(bytes: &[u8]) -> Self {
        Self::Known(if is_utf8(bytes) { UTF_8 } else { WINDOWS_1252 })
    }
}

/// Whether it is UTF-8, as far as it goes: it may be cut within a character.
pub(super) fn is_utf8(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).map_or_else(|error| error.error_len().is_none(), |_| true)
}

fn by_mark(bytes: &[u8]) -> Option<Charset> {
    match bytes {
        [0xff, 0xfe, 0, 0, ..] => Some(Charset::Utf32 { is_big_endian: false }),
        [0, 0, 0xfe, 0xff, ..] => Some(Charset::Utf32 { is_big_endian: true }),
        _ => Encoding::for_bom(bytes).map(|(encoding, _)| Charset::Known(encoding)),
    }
}

/// A name without an order of bytes leaves that to the text.
fn by_name(name: &str, bytes: &[u8]) -> Option<Charset> {
    let name = name.trim().to_ascii_lowercase();
    if UTF_32.contains(&name.as_str()) {
        return Some(match by_zeros(bytes) {
            _ if name.ends_with("be") => Charset::Utf32 { is_big_endian: true },
            _ if name.ends_with("le") => Charset::Utf32 { is_big_endian: false },
            Some(found @ Charset::Utf32 { .. }) => found,
            Some(Charset::Known(_)) | None => Charset::Utf32 { is_big_endian: true },
        });
    }
    let known = Encoding::for_label(name.as_bytes()).map(Charset::Known)?;
    let leaves_order = known.is_wide() && !name.ends_with("le") && !name.ends_with("be");
    Some(by_zeros(bytes).filter(|found| leaves_order && found.is_wide()).unwrap_or(known))
}

/// Letters of Latin script have zeros at the same places in each character, and other text has none at all.
fn by_zeros(bytes: &[u8]) -> Option<Charset> {
    let sample = bytes.get(..SAMPLE).unwrap_or(bytes);
    let zeros = |width: usize, at: usize| {
        let characters = sample.chunks_exact(width);
        (characters.len(), characters.filter(|character| character[at] == 0).count())
    };
    let is_always = |(all, zeros): (usize, usize)| all > 0 && zeros == all;
    let is_mostly = |(all, zeros): (usize, usize)| all > 1 && zeros * 2 > all;
    let is_never = |(_, zeros): (usize, usize)| zeros == 0;
    if is_never(zeros(4, 0)) && is_mostly(zeros(4, 1)) && is_always(zeros(4, 2)) && is_always(zeros(4, 3)) {
        Some(Charset::Utf32 { is_big_endian: false })
    } else if is_always(zeros(4, 0))
        && is_always(zeros(4, 1))
        && is_mostly(zeros(4, 2))
        && is_never(zeros(4, 3))
    {
        Some(Charset::Utf32 { is_big_endian: true })
    } else if is_never(zeros(2, 0)) && is_mostly(zeros(2, 1)) {
        Some(Charset::Known(UTF_16LE))
    } else if is_mostly(zeros(2, 0)) && is_never(zeros(2, 1)) {
        Some(Charset::Known(UTF_16BE))
    } else {
        None
    }
}

/// What `<meta charset>`, its older form or the declaration of XML says. It was read with one byte for each
/// letter, so it cannot be true of a charset with more.
fn declared(bytes: &[u8]) -> Option<Charset> {
    let start = bytes.get(..DECLARED_WITHIN).unwrap_or(bytes).to_ascii_lowercase();
    let is_xml = start.starts_with(b"<?xml");
    let after = |name: &[u8]| memmem::find(&start, name).map(|at| at + name.len());
    let at = after(b"charset=").or_else(|| if is_xml { after(b"encoding=") } else { None })?;
    let label: Vec<u8> = start[at..]
        .iter()
        .copied()
        .skip_while(|byte| matches!(byte, b'"' | b'\'' | b' '))
        .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b':'))
        .collect();
    let charset = Charset::Known(Encoding::for_label(&label)?);
    Some(if charset.is_wide() { Charset::Known(UTF_8) } else { charset })
}

fn decode_utf32(bytes: &[u8], is_big_endian: bool) -> String {
    let number = |unit: &[u8]| {
        let unit: [u8; 4] = unit.try_into().unwrap_or_default();
        if is_big_endian { u32::from_be_bytes(unit) } else { u32::from_le_bytes(unit) }
    };
    let units = bytes.chunks_exact(4).map(number);
    let characters = units.map(|unit| char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER));
    let text: String = characters.collect();
    text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text)
}
