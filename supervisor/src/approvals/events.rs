//! What happens to approvals: the events of the tool server, each of them whole.

use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;

/// More of one event is not from the tool server.
const MAX_EVENT_BYTES: usize = 32 * 1024 * 1024;

/// Why there are no more events.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EventsError {
    #[error("the stream of approvals broke")]
    Server(#[from] reqwest::Error),
    #[error("the stream of approvals ended")]
    Ended,
    #[error("an event of the stream of approvals is too long")]
    TooLong,
}

/// A stream that has missed nothing since it was made.
pub(crate) struct Events {
    pub(super) remote: BoxStream<'static, reqwest::Result<Vec<u8>>>,
    /// What came of the tool server's next event.
    pub(super) begun: Vec<u8>,
}

impl Events {
    /// The next event, with the empty line at its end.
    pub(crate) async fn next(&mut self) -> Result<Vec<u8>, EventsError> {
        loop {
            if let Some(at) = self.begun.windows(2).position(|two| two == b"\n\n") {
                return Ok(self.begun.drain(..at + 2).collect());
            }
            if self.begun.len() > MAX_EVENT_BYTES {
                return Err(EventsError::TooLong);
            }
            match self.remote.next().await {
                Some(bytes) => self.begun.extend_from_slice(&bytes?),
                None => return Err(EventsError::Ended),
            }
        }
    }
}
