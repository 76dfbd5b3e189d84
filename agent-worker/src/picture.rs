//! Makes an image that `read` found into a picture that every provider takes.
//!
//! The image comes from outside, so it is decoded within bounds of pixels and memory, and whether it can be
//! decoded is known before a provider refuses the whole request for it. A picture is as small as the
//! strictest provider would make it, because a larger one costs tokens and shows nothing more.

use std::io::Cursor;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use image::codecs::jpeg::JpegEncoder;
use image::metadata::Orientation;
use image::{DynamicImage, ImageDecoder as _, ImageError, ImageFormat, ImageReader, Limits};
use protocol::Envelope;

use crate::model::{Image, Picture};

/// The longest edge at which Anthropic's models see; OpenAI's and Google's see at least as much.
const MAX_EDGE: u32 = 1568;

/// What a camera takes, and less than two hundred megabytes when it is decoded.
const MAX_PIXELS: u64 = 50_000_000;

/// The most memory for decoding.
const MAX_MEMORY_BYTES: u64 = 256 << 20;

/// The most bytes of a picture: ten of them fit into a request of any provider.
const MAX_PICTURE_BYTES: usize = 1 << 20;

const JPEG_QUALITY: u8 = 85;

/// Why there is no picture of an image, in words for the model.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PictureError {
    #[error(
        "it has {width} × {height} pixels, and at most {} million can be decoded; make a smaller copy",
        MAX_PIXELS / 1_000_000
    )]
    TooManyPixels { width: u32, height: u32 },
    #[error("decoding it takes more than {} MiB; make a smaller copy", MAX_MEMORY_BYTES >> 20)]
    TooMuchMemory,
    #[error("its format, {0}, cannot be decoded; convert it to PNG or JPEG")]
    UnknownFormat(String),
    #[error("it is damaged: {0}")]
    Damaged(String),
}

/// The image that a result has, or why it cannot be shown; none if the result has no image.
pub(crate) async fn find(envelope: Envelope, sees: bool) -> Option<Result<Image, String>> {
    let text = |name: &str| Some(envelope.meta.data.get(name)?.as_str()?.to_owned());
    let media_type = text("media_type").filter(|media_type| media_type.starts_with("image/"))?;
    let base64 = text("base64")?;
    if !sees {
        return Some(Err("the model sees no images".to_owned()));
    }
    let name = envelope.meta.context.path_resolved.unwrap_or_default();
    // Decoding would keep the supervisor's lines and the task's deadline waiting.
    let decoding = tokio::task::spawn_blocking(move || picture(&media_type, &base64));
    Some(match decoding.await {
        Ok(Ok(picture)) => Ok(Image { name, picture: Some(Arc::new(picture)) }),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err("decoding it failed".to_owned()),
    })
}

/// The picture of an image. It takes time and memory: up to a second, and a few times [`MAX_PIXELS`] bytes.
pub(crate) fn picture(media_type: &str, base64: &str) -> Result<Picture, PictureError> {
    let bytes = STANDARD.decode(base64).map_err(|error| PictureError::Damaged(error.to_string()))?;
    let format = match media_type {
        "image/png" => ImageFormat::Png,
        "image/jpeg" => ImageFormat::Jpeg,
        "image/gif" => ImageFormat::Gif,
        "image/webp" => ImageFormat::WebP,
        other => return Err(PictureError::UnknownFormat(other.to_owned())),
    };
    let (image, orientation) = decode(&bytes, format)?;
    let (width, height) = (image.width(), image.height());
    let is_small = width.max(height) <= MAX_EDGE && bytes.len() <= MAX_PICTURE_BYTES;
    // The two formats that every provider takes go as they are.
    let is_common = matches!(format, ImageFormat::Png | ImageFormat::Jpeg);
    if is_small && is_common && orientation == Orientation::NoTransforms {
        let media_type = if format == ImageFormat::Png { "image/png" } else { "image/jpeg" };
        return Ok(Picture { media_type, base64: base64.to_owned(), width, height });
    }
    let mut image = if width.max(height) > MAX_EDGE { image.thumbnail(MAX_EDGE, MAX_EDGE) } else { image };
    image.apply_orientation(orientation);
    encode(&image, format)
}

fn decode(bytes: &[u8], format: ImageFormat) -> Result<(DynamicImage, Orientation), PictureError> {
    let mut limits = Limits::default();
    limits.max_alloc = Some(MAX_MEMORY_BYTES);
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    reader.limits(limits);
    let mut decoder = reader.into_decoder().map_err(failed)?;
    let (width, height) = decoder.dimensions();
    if u64::from(width) * u64::from(height) > MAX_PIXELS {
        return Err(PictureError::TooManyPixels { width, height });
    }
    if decoder.total_bytes() > MAX_MEMORY_BYTES {
        return Err(PictureError::TooMuchMemory);
    }
    // An image without a readable orientation is shown as it is stored.
    let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    Ok((DynamicImage::from_decoder(decoder).map_err(failed)?, orientation))
}

fn failed(error: ImageError) -> PictureError {
    match error {
        ImageError::Limits(_) => PictureError::TooMuchMemory,
        other => PictureError::Damaged(other.to_string()),
    }
}

/// PNG for drawings and transparency; pictures that would be too long that way, and photos, become JPEG.
fn encode(image: &DynamicImage, source: ImageFormat) -> Result<Picture, PictureError> {
    let (width, height) = (image.width(), image.height());
    let picture =
        |media_type, bytes: &[u8]| Picture { media_type, base64: STANDARD.encode(bytes), width, height };
    if source != ImageFormat::Jpeg {
        let image = DynamicImage::from(image.to_rgba8());
        let mut png = Cursor::new(Vec::new());
        image.write_to(&mut png, ImageFormat::Png).map_err(failed)?;
        if png.get_ref().len() <= MAX_PICTURE_BYTES {
            return Ok(picture("image/png", png.get_ref()));
        }
    }
    let mut jpeg = Vec::new();
    JpegEncoder::new_with_quality(&mut jpeg, JPEG_QUALITY).encode_image(&image.to_rgb8()).map_err(failed)?;
    Ok(picture("image/jpeg", &jpeg))
}

#[cfg(test)]
mod tests {
    use image::{Rgb, RgbImage};

    use super::*;

    fn encoded(width: u32, height: u32, format: ImageFormat) -> String {
        let mut bytes = Cursor::new(Vec::new());
        let pixel = |x, y| Rgb([x, y, x ^ y].map(|part| u8::try_from(part % 251).unwrap()));
        let image = RgbImage::from_fn(width, height, pixel);
        DynamicImage::from(image).write_to(&mut bytes, format).unwrap();
        STANDARD.encode(bytes.get_ref())
    }

    #[test]
    fn a_small_image_of_a_common_format_goes_as_it_is() {
        for (format, media_type) in [(ImageFormat::Png, "image/png"), (ImageFormat::Jpeg, "image/jpeg")] {
            let base64 = encoded(40, 30, format);
            let expected = Picture { media_type, base64: base64.clone(), width: 40, height: 30 };
            assert_eq!(picture(media_type, &base64), Ok(expected));
        }
    }

    #[test]
    fn other_formats_and_sizes_are_converted() {
        for (format, media_type, size, expected) in [
            (ImageFormat::Gif, "image/gif", (20, 10), ("image/png", 20, 10)),
            (ImageFormat::WebP, "image/webp", (20, 10), ("image/png", 20, 10)),
            (ImageFormat::Jpeg, "image/jpeg", (3136, 40), ("image/jpeg", 1568, 20)),
            (ImageFormat::Png, "image/png", (100, 3136), ("image/png", 50, 1568)),
        ] {
            let shown = picture(media_type, &encoded(size.0, size.1, format)).unwrap();
            assert_eq!((shown.media_type, shown.width, shown.height), expected);
            let decoded = STANDARD.decode(&shown.base64).unwrap();
            let image = image::load_from_memory(&decoded).unwrap();
            assert_eq!((image.width(), image.height()), (expected.1, expected.2));
        }
    }

    #[test]
    fn what_cannot_be_decoded_is_told_in_words() {
        let whole = encoded(400, 300, ImageFormat::Png);
        for (media_type, base64, expected) in [
            ("image/png", &whole[..whole.len() / 8 * 4], "it is damaged"),
            ("image/jpeg", &whole, "it is damaged"),
            ("image/png", "***REDACTED***", "it is damaged"),
            ("image/avif", &whole, "its format, image/avif, cannot be decoded"),
        ] {
            let refused = picture(media_type, base64).unwrap_err().to_string();
            assert!(refused.starts_with(expected), "{media_type}: {refused}");
        }
    }
}
