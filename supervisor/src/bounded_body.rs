//! Reads the body of a response within a bound, so that memory stays small whatever the server answers.

use reqwest::Response;

#[derive(Debug, thiserror::Error)]
pub(crate) enum BodyError {
    #[error("the response has more than {} MiB", .0 >> 20)]
    TooLarge(usize),
    #[error(transparent)]
    Broken(#[from] reqwest::Error),
}

/// The whole body, of at most `most` bytes.
pub(crate) async fn read(mut response: Response, most: usize) -> Result<Vec<u8>, BodyError> {
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await? {
        if body.len() + piece.len() > most {
            return Err(BodyError::TooLarge(most));
        }
        body.extend_from_slice(&piece);
    }
    Ok(body)
}
