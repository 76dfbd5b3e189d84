//! A body on its way, piece by piece: no silence lasts for ever, and neither does the body.

use std::time::Duration;

use reqwest::Response;
use tokio::time;

/// A stream wraps every few characters of a reply in a hundred times as many bytes.
const MAX_BYTES: usize = 64 * 1024 * 1024;

/// A body of which a part has been taken.
pub(super) struct BodyReader {
    response: Response,
    bytes: usize,
}

/// Why the next piece does not come.
#[derive(Debug)]
pub(super) enum BodyError {
    /// Nothing came for this long.
    Timeout(Duration),
    /// The connection broke.
    Transport(reqwest::Error),
    /// More came than anybody needs.
    TooLong,
}

impl BodyReader {
    /// The body of a response.
    pub(super) fn of(response: Response) -> Self {
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

    /// The first bytes that are not blank; empty when there are none.
    pub(super) async fn beginning(&mut self, timeout: Duration) -> Result<Vec<u8>, BodyError> {
        while let Some(piece) = self.next(timeout).await? {
            let piece = piece.trim_ascii_start();
            if !piece.is_empty() {
                return Ok(piece.to_vec());
            }
        }
        Ok(Vec::new())
    }

    /// What is left, behind the beginning that was taken before.
    pub(super) async fn rest(&mut self, beginning: Vec<u8>, timeout: Duration) -> Result<Vec<u8>, BodyError> {
        let mut body = beginning;
        while let Some(piece) = self.next(timeout).await? {
            body.extend_from_slice(&piece);
        }
        Ok(body)
    }

    /// As much as comes, up to a bound: what is missing does not matter.
    pub(super) async fn as_it_comes(&mut self, max_bytes: usize, timeout: Duration) -> Vec<u8> {
        let mut body = Vec::new();
        while let Ok(Some(piece)) = self.next(timeout).await {
            body.extend_from_slice(&piece);
            if body.len() > max_bytes {
                break;
            }
        }
        body
    }
}
