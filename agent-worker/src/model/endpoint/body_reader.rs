//! Reads a response body piece by piece, with a timeout for each piece and a bound on the whole.

use std::mem::take;
use std::time::Duration;

use reqwest::Response;
use tokio::time;

/// A stream wraps every few characters of a reply in a hundred times as many bytes.
const MAX_BYTES: usize = 64 * 1024 * 1024;

pub(super) struct BodyReader {
    response: Response,
    bytes: usize,
    /// The first bytes that are not whitespace, once it has begun.
    pub(super) first: Vec<u8>,
}

#[derive(Debug)]
pub(super) enum BodyError {
    Timeout(Duration),
    Transport(reqwest::Error),
    TooLong,
}

impl BodyReader {
    pub(super) fn new(response: Response) -> Self {
        Self { response, bytes: 0, first: Vec::new() }
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

    /// Waits for the first bytes.
    pub(super) async fn begin(&mut self, timeout: Duration) -> Result<(), BodyError> {
        while self.first.is_empty()
            && let Some(piece) = self.next(timeout).await?
        {
            self.first = piece.trim_ascii_start().to_vec();
        }
        Ok(())
    }

    /// The whole body.
    pub(super) async fn whole(&mut self, timeout: Duration) -> Result<Vec<u8>, BodyError> {
        let mut body = take(&mut self.first);
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
