//! The bytes of a file that somebody sent, on their way from the channel's service.

use std::io;
use std::pin::Pin;

use bytes::Bytes;
use futures_util::Stream;

/// A file that is being downloaded.
pub struct Download {
    /// The bytes as they arrive.
    pub bytes: Pin<Box<dyn Stream<Item = io::Result<Bytes>> + Send>>,
    /// A longer file is not taken.
    pub most_bytes: u64,
}

/// Why there is no download, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoDownload {
    /// Perhaps another time.
    Later(String),
    /// It will never be given out.
    Never(String),
}
