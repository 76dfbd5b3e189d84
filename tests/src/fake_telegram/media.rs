//! What Telegram takes as a photo, a video or audio, and of any size of file.

const MAX_PHOTO_BYTES: usize = 10 * 1024 * 1024;
const MAX_BYTES: usize = 50 * 1024 * 1024;

/// Whether a method shows a file as what it is.
pub(super) fn shows(method: &str) -> bool {
    ["sendphoto", "sendvideo", "sendaudio"].contains(&method)
}

/// Refuses a file that the method does not show.
pub(super) fn check(method: &str, bytes: &[u8]) -> Result<(), String> {
    if bytes.len() > MAX_BYTES {
        return Err("Request Entity Too Large".to_owned());
    }
    match method {
        "sendphoto" if bytes.len() > MAX_PHOTO_BYTES => {
            Err("Bad Request: file is too big for a photo".to_owned())
        }
        "sendphoto" => photo(bytes),
        "sendvideo" if bytes.get(4..8) != Some(b"ftyp") => Err("Bad Request: VIDEO_FILE_INVALID".to_owned()),
        _ => Ok(()),
    }
}

/// Tests send PNG alone: its size is at a fixed place.
fn photo(bytes: &[u8]) -> Result<(), String> {
    let edge = |at: usize| Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?));
    let is_png = bytes.starts_with(b"\x89PNG") && bytes.ends_with(b"IEND\xae\x42\x60\x82");
    let (Some(width), Some(height), true) = (edge(16), edge(20), is_png) else {
        return Err("Bad Request: IMAGE_PROCESS_FAILED".to_owned());
    };
    let (short, long) = (width.min(height), width.max(height));
    if short == 0 || width + height > 10_000 || long > 20 * short {
        return Err("Bad Request: PHOTO_INVALID_DIMENSIONS".to_owned());
    }
    Ok(())
}
