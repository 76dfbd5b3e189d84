//! Reads a response body piece by piece, with a timeout for each piece and a bound on the whole.

use std::time::Duration;

use reqwest::Response;
use tokio::time;

/// A stream wraps every few characters of a reply in a hundred times as many bytes.
const MAX_BYTES: usize = 64 * 1024 * 1024;

pub(super) struct BodyReader {
    response: Response,
    bytes: usize,
}

#[derive(Debug)]
pub(super) enum BodyError {
    Timeout(Duration),
    Transport(reqwest::Error),
    TooLong,
}

impl BodyReader {
    pub(super) fn new(response: Response) -> Self {
        Self { response, bytes: 0 }
    }

    /// The next piece; none at the end.
    pub(super) async fn next(&mut self, timeout: Duration) -> Result<Option<Vec<u8>>, BodyError> {
        let piece = time::timeout(timeout, self.response.chunk()).await;
        let piece = piece.map_err(|_| BodyError::Timeout(timeout))?.map_err(BodyError::Transport)?;
        self.bytes += piece.as_ref().map_or(0, |piece| piece.len());
        if self.bytes > MAX_BYTES {
            return Err(BodyError::TooLong);
        }
        Ok(piece.map(Vec::from))
    }

    /// The first bytes that are not whitespace; empty when there are none.
    pub(super) async fn first(&mut self, timeout: Duration) -> Result<Vec<u8>, BodyError> {
        while let Some(piece) = self.next(timeout).await? {
            let piece = piece.trim_ascii_start();
            if !piece.is_empty() {
                return Ok(piece.to_vec());
            }
        }
        Ok(Vec::new())
    }

    /// The whole body, of which the first bytes were read before.
    pub(super) async fn rest(&mut self, first: Vec<u8>, timeout: Duration) -> Result<Vec<u8>, BodyError> {
        let mut body = first;
        while let Some(piece) = self.next(timeout).await? {
            body.extend_from_slice(&piece);
        }
        Ok(body)
    }

    /// As much as arrives, up to a bound; the rest does not matter.
    pub(super) async fn at_most(&mut self, max_bytes: usize, timeout: Duration) -> Vec<u8> {
        let mut body = Vec::new();
        while body.len() <= max_bytes
            && let Ok(Some(piece)) = self.next(timeout).await
        {
            body.extend_from_slice(&piece);
        }
        body
    }
}
