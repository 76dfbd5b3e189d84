//! The body of an answer: decompressed as it arrives, and bounded after that.

use std::io::{self, Write as _};

use flate2::write::{MultiGzDecoder, ZlibDecoder};
use http::{Response, header};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use protocol::hash::in_hex;
use sha2::{Digest as _, Sha256};

use super::Output;
use crate::messages::{End, FetchError, Message};
use crate::secrets::Secrets;

/// How much more may arrive than is kept: a compressed body that never unfolds has an end, too.
const WIRE_SPARE_BYTES: u64 = 1 << 20;

/// How much is unfolded at once: deflate makes at most a megabyte of it.
const SLICE_BYTES: usize = 1 << 10;

/// How much goes to the tool server at once.
const PART_BYTES: usize = 64 << 10;

pub(super) struct Body {
    incoming: Incoming,
    encoding: Option<String>,
}

/// Takes the bytes of a body.
pub(super) trait Takes {
    /// How many it takes; fewer than all when there is room for no more, and the body is cut there.
    fn take(&mut self, bytes: &[u8]) -> Result<usize, FetchError>;
}

impl Body {
    pub(super) fn new(response: Response<Incoming>) -> Self {
        let encoding = response.headers().get(header::CONTENT_ENCODING);
        let encoding =
            encoding.map(|value| String::from_utf8_lossy(value.as_bytes()).trim().to_ascii_lowercase());
        Self { incoming: response.into_body(), encoding }
    }

    /// Reads to the end, or until there is room for no more.
    pub(super) async fn read_into(
        mut self,
        sink: &mut impl Takes,
        max_bytes: u64,
    ) -> Result<End, FetchError> {
        let mut decoder = Decoder::new(self.encoding.as_deref())?;
        let most = max_bytes.saturating_add(WIRE_SPARE_BYTES);
        let mut counted = Counted { sink, hash: Sha256::new(), bytes: 0 };
        let mut wire: u64 = 0;
        while let Some(frame) = self.incoming.frame().await {
            let frame = frame.map_err(|error| {
                FetchError::Unreachable(format!(
                    "The server broke off in the middle of its answer ({error})."
                ))
            })?;
            let Ok(data) = frame.into_data() else { continue };
            wire += data.len() as u64;
            if wire > most {
                return Err(FetchError::TooLarge(max_bytes));
            }
            for slice in data.chunks(if decoder.is_plain() { PART_BYTES } else { SLICE_BYTES }) {
                if !decoder.unfold(slice, |bytes| counted.take(bytes))? {
                    return Ok(counted.end());
                }
            }
        }
        decoder.finish(|bytes| counted.take(bytes))?;
        Ok(counted.end())
    }
}

/// Counts and hashes the bytes taken.
struct Counted<'a, S> {
    sink: &'a mut S,
    hash: Sha256,
    bytes: u64,
}

impl<S: Takes> Counted<'_, S> {
    fn take(&mut self, bytes: &[u8]) -> Result<bool, FetchError> {
        let taken = &bytes[..self.sink.take(bytes)?];
        self.hash.update(taken);
        self.bytes += taken.len() as u64;
        Ok(taken.len() == bytes.len())
    }

    fn end(self) -> End {
        End { bytes: self.bytes, sha256: Some(in_hex(&self.hash.finalize())) }
    }
}

enum Decoder {
    Plain,
    Gzip(Box<MultiGzDecoder<Vec<u8>>>),
    Deflate(ZlibDecoder<Vec<u8>>),
}

impl Decoder {
    fn new(encoding: Option<&str>) -> Result<Self, FetchError> {
        match encoding {
            None | Some("" | "identity") => Ok(Self::Plain),
            Some("gzip" | "x-gzip") => Ok(Self::Gzip(Box::new(MultiGzDecoder::new(Vec::new())))),
            Some("deflate") => Ok(Self::Deflate(ZlibDecoder::new(Vec::new()))),
            Some(other) => Err(FetchError::BadAnswer(format!(
                "The server compressed its answer in a way that was not asked for ({}).",
                &other[..other.floor_char_boundary(100)]
            ))),
        }
    }

    fn is_plain(&self) -> bool {
        matches!(self, Self::Plain)
    }

    /// Passes on what a slice unfolds to; false when there is room for no more.
    fn unfold(
        &mut self,
        slice: &[u8],
        mut take: impl FnMut(&[u8]) -> Result<bool, FetchError>,
    ) -> Result<bool, FetchError> {
        let unfolded = match self {
            Self::Plain => return take(slice),
            Self::Gzip(decoder) => decoder.write_all(slice).map(|()| std::mem::take(decoder.get_mut())),
            Self::Deflate(decoder) => decoder.write_all(slice).map(|()| std::mem::take(decoder.get_mut())),
        };
        take(&unfolded.map_err(|error| broken(&error))?)
    }

    fn finish(self, mut take: impl FnMut(&[u8]) -> Result<bool, FetchError>) -> Result<(), FetchError> {
        let rest = match self {
            Self::Plain => return Ok(()),
            Self::Gzip(decoder) => decoder.finish(),
            Self::Deflate(decoder) => decoder.finish(),
        };
        take(&rest.map_err(|error| broken(&error))?).map(drop)
    }
}

fn broken(error: &io::Error) -> FetchError {
    FetchError::BadAnswer(format!("The server's answer cannot be decompressed ({error})."))
}

/// Keeps a body to read it, up to a bound.
pub(super) struct Kept {
    pub(super) bytes: Vec<u8>,
    pub(super) is_full: bool,
    most: usize,
}

impl Kept {
    pub(super) fn new(max_bytes: u64) -> Self {
        Self { bytes: Vec::new(), is_full: false, most: usize::try_from(max_bytes).unwrap_or(usize::MAX) }
    }
}

impl Takes for Kept {
    fn take(&mut self, bytes: &[u8]) -> Result<usize, FetchError> {
        let taken = bytes.len().min(self.most - self.bytes.len());
        self.bytes.extend_from_slice(&bytes[..taken]);
        self.is_full |= taken < bytes.len();
        Ok(taken)
    }
}

/// Sends a body to the tool server as it arrives. One that is too long, or that repeats a secret, fails.
pub(super) struct Stored<'a> {
    output: &'a Output<'a>,
    /// The text not sent yet. Its beginning was sent before, where a secret could begin.
    waiting: Vec<u8>,
    left: u64,
    max_bytes: u64,
    secrets: &'a Secrets,
}

impl<'a> Stored<'a> {
    pub(super) fn new(output: &'a Output<'a>, max_bytes: u64, secrets: &'a Secrets) -> Self {
        Self { output, waiting: Vec::new(), left: max_bytes, max_bytes, secrets }
    }

    fn look_for_secrets(&self) -> Result<(), FetchError> {
        // Text with two bytes for each character has zeros between those of a secret.
        let without_zeros = || self.waiting.iter().copied().filter(|byte| *byte != 0).collect::<Vec<u8>>();
        let is_wide = memchr::memchr(0, &self.waiting).is_some();
        if self.secrets.are_in(&self.waiting) || (is_wide && self.secrets.are_in(&without_zeros())) {
            let message = "The answer repeats the secret of an auth_profile, so it is not stored.";
            return Err(FetchError::BadAnswer(message.to_owned()));
        }
        Ok(())
    }

    /// Sends the rest.
    pub(super) fn flush(&mut self) -> Result<(), FetchError> {
        self.look_for_secrets()?;
        self.output.send(Message::Data(std::mem::take(&mut self.waiting)));
        Ok(())
    }
}

impl Takes for Stored<'_> {
    fn take(&mut self, bytes: &[u8]) -> Result<usize, FetchError> {
        self.left = self.left.checked_sub(bytes.len() as u64).ok_or(FetchError::TooLarge(self.max_bytes))?;
        self.waiting.extend_from_slice(bytes);
        if self.waiting.len() >= PART_BYTES {
            self.look_for_secrets()?;
            // The end stays until what follows is known: a secret may begin there.
            let kept = self.waiting.split_off(self.waiting.len().saturating_sub(self.secrets.longest()));
            let part = std::mem::replace(&mut self.waiting, kept);
            self.output.send(Message::Data(part));
        }
        Ok(bytes.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn a_bomb_is_cut_at_the_bound_and_never_unfolded_as_a_whole() {
        let bomb = gzip(&vec![0; 200 << 20]);
        let mut kept = Kept::new(1 << 20);
        let mut decoder = Decoder::new(Some("gzip")).unwrap();
        let mut slices = 0;
        for slice in bomb.chunks(SLICE_BYTES) {
            slices += 1;
            let goes_on = decoder.unfold(slice, |bytes| {
                assert!(bytes.len() <= 2 << 20, "{} bytes at once", bytes.len());
                Ok(kept.take(bytes)? == bytes.len())
            });
            if !goes_on.unwrap() {
                break;
            }
        }
        assert!(kept.is_full && kept.bytes.len() == 1 << 20 && slices < 10, "{slices}");
    }

    #[test]
    fn what_is_no_gzip_is_an_error() {
        let mut decoder = Decoder::new(Some("gzip")).unwrap();
        assert!(decoder.unfold(b"<html>no gzip at all</html>", |_| Ok(true)).is_err());
        assert!(Decoder::new(Some("gzip, gzip")).is_err());
    }
}
