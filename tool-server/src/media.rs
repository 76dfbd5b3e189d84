//! What a file is shown as in a chat, by its first bytes and its size and never by its name: within what
//! Telegram takes (<https://core.telegram.org/bots/api#sendphoto>, `#sendvideo` and `#sendaudio`).

use protocol::effect::FileForm;

/// So many bytes at the beginning of a file say what it is: a photo may have a preview before its size.
pub(crate) const HEAD_BYTES: usize = 256 * 1024;

const MAX_PHOTO_BYTES: u64 = 10_000_000;
/// Of width and height together.
const MAX_PHOTO_PIXELS: u32 = 10_000;
const MAX_PHOTO_RATIO: u32 = 20;

/// How a chat sees a file of this size that begins so.
pub(crate) fn form_of(head: &[u8], size_bytes: u64) -> FileForm {
    if let Some((width, height)) = png(head).or_else(|| jpeg(head)).or_else(|| webp(head)) {
        let (short, long) = (width.min(height), width.max(height));
        let fits = short > 0
            && width.saturating_add(height) <= MAX_PHOTO_PIXELS
            && long <= short.saturating_mul(MAX_PHOTO_RATIO)
            && size_bytes <= MAX_PHOTO_BYTES;
        return if fits { FileForm::Photo } else { FileForm::Document };
    }
    match head.get(4..8).zip(head.get(8..12)) {
        Some((b"ftyp", b"M4A " | b"M4B ")) => return FileForm::Audio,
        Some((b"ftyp", brand)) if is_video(brand) => return FileForm::Video,
        _ => {}
    }
    if is_mp3(head) { FileForm::Audio } else { FileForm::Document }
}

/// The brands of MPEG-4 videos; other files of this layout are photos of phones and QuickTime.
fn is_video(brand: &[u8]) -> bool {
    brand.starts_with(b"iso") || matches!(brand, b"mp41" | b"mp42" | b"avc1" | b"M4V " | b"MSNV" | b"dash")
}

/// A tag of ID3, or two frames of MPEG audio, layer III, in the same form one behind the other.
fn is_mp3(head: &[u8]) -> bool {
    head.starts_with(b"ID3")
        || frame_bytes(head).is_some_and(|bytes| head.get(bytes..).and_then(frame_bytes).is_some())
}

/// The length of a frame of MPEG audio, version 1 or 2, layer III.
fn frame_bytes(frame: &[u8]) -> Option<usize> {
    const KBITS_1: [usize; 14] = [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320];
    const KBITS_2: [usize; 14] = [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160];
    let [0xff, second, third, ..] = *frame else { return None };
    let is_first = match second & 0b1111_1110 {
        0b1111_1010 => true,
        0b1111_0010 => false,
        _ => return None,
    };
    let at = usize::from(third >> 4).checked_sub(1)?;
    let rate = *[44_100, 48_000, 32_000].get(usize::from((third >> 2) & 3))?;
    let padding = usize::from((third >> 1) & 1);
    Some(match is_first {
        true => 144_000 * KBITS_1.get(at)? / rate + padding,
        false => 72_000 * KBITS_2.get(at)? / (rate / 2) + padding,
    })
}

fn png(head: &[u8]) -> Option<(u32, u32)> {
    let header = head.strip_prefix(b"\x89PNG\r\n\x1a\n")?;
    (header.get(4..8)? == b"IHDR").then_some(())?;
    Some((
        u32::from_be_bytes(*header.get(8..)?.first_chunk()?),
        u32::from_be_bytes(*header.get(12..)?.first_chunk()?),
    ))
}

/// The size stands in the header of the first frame, behind segments of any length.
fn jpeg(head: &[u8]) -> Option<(u32, u32)> {
    let mut rest = head.strip_prefix(b"\xff\xd8")?;
    loop {
        let [0xff, marker, more @ ..] = rest else { return None };
        let length = usize::from(u16::from_be_bytes(*more.first_chunk()?));
        match marker {
            0xff => rest = &rest[1..],
            0xc4 | 0xc8 | 0xcc | 0x01..=0xbf | 0xd0..=0xfe => rest = more.get(length..)?,
            0xc0..=0xcf => {
                let height = u16::from_be_bytes(*more.get(3..)?.first_chunk()?);
                let width = u16::from_be_bytes(*more.get(5..)?.first_chunk()?);
                return Some((width.into(), height.into()));
            }
            0x00 => return None,
        }
    }
}

/// A picture that does not move.
fn webp(head: &[u8]) -> Option<(u32, u32)> {
    (head.get(..4)? == b"RIFF" && head.get(8..12)? == b"WEBP").then_some(())?;
    let at = |from: usize| head.get(from).copied().map(u32::from);
    match head.get(12..16)? {
        b"VP8 " => Some((((at(27)? << 8) | at(26)?) & 0x3fff, ((at(29)? << 8) | at(28)?) & 0x3fff)),
        b"VP8L" => {
            let bits = u32::from_le_bytes(*head.get(21..)?.first_chunk()?);
            Some(((bits & 0x3fff) + 1, ((bits >> 14) & 0x3fff) + 1))
        }
        b"VP8X" if at(20)? & 2 == 0 => {
            let edge = |from: usize| Some(((at(from + 2)? << 16) | (at(from + 1)? << 8) | at(from)?) + 1);
            Some((edge(24)?, edge(27)?))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn png_of(width: u32, height: u32) -> Vec<u8> {
        [b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR".as_slice(), &width.to_be_bytes(), &height.to_be_bytes()].concat()
    }

    #[test]
    fn a_file_is_shown_as_what_its_bytes_are_where_telegram_takes_it() {
        let jpeg = b"\xff\xd8\xff\xe1\x00\x06abcd\xff\xff\xc2\x00\x11\x08\x00\x10\x00\x20\x03".to_vec();
        let frame = |kind: u8| [vec![0xff, kind, 0x90, 0x00], vec![0; 413]].concat();
        let ftyp = |brand: &[u8]| [b"\0\0\0\x18ftyp".as_slice(), brand, b"\0\0\0\0"].concat();
        let webp =
            |kind: &[u8], rest: &[u8]| [b"RIFF\0\0\0\0WEBP".as_slice(), kind, b"\0\0\0\0", rest].concat();
        for (head, expected) in [
            (png_of(100, 50), FileForm::Photo),
            (png_of(9000, 1000), FileForm::Photo),
            (png_of(9000, 1001), FileForm::Document),
            (png_of(2000, 100), FileForm::Photo),
            (png_of(2001, 100), FileForm::Document),
            (png_of(0, 0), FileForm::Document),
            (png_of(u32::MAX, u32::MAX), FileForm::Document),
            (png_of(7, 7)[..20].to_vec(), FileForm::Document),
            (jpeg.clone(), FileForm::Photo),
            (jpeg[..17].to_vec(), FileForm::Document),
            (webp(b"VP8X", &[0, 0, 0, 0, 9, 0, 0, 9, 0, 0]), FileForm::Photo),
            (webp(b"VP8X", &[2, 0, 0, 0, 9, 0, 0, 9, 0, 0]), FileForm::Document),
            (webp(b"VP8L", &[0x2f, 9, 0x40, 2, 0]), FileForm::Photo),
            (webp(b"VP8 ", &[0, 0, 0, 0x9d, 1, 0x2a, 9, 0, 9, 0]), FileForm::Photo),
            (ftyp(b"isom"), FileForm::Video),
            (ftyp(b"mp42"), FileForm::Video),
            (ftyp(b"M4A "), FileForm::Audio),
            (ftyp(b"heic"), FileForm::Document),
            (ftyp(b"qt  "), FileForm::Document),
            (b"ID3\x04\0".to_vec(), FileForm::Audio),
            ([frame(0xfb), frame(0xfb)].concat(), FileForm::Audio),
            (frame(0xfb), FileForm::Document),
            (b"GIF89a\x01\0\x01\0".to_vec(), FileForm::Document),
            (b"OggS".to_vec(), FileForm::Document),
            (b"%PDF-1.7".to_vec(), FileForm::Document),
            (Vec::new(), FileForm::Document),
        ] {
            assert_eq!(form_of(&head, 1000), expected, "{:?}", &head[..head.len().min(40)]);
        }
        assert_eq!(form_of(&png_of(100, 50), 10_000_001), FileForm::Document);
    }
}
