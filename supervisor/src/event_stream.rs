//! Server-sent events of the tool server, one after another.

use bytes::{Buf as _, Bytes, BytesMut};
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;

/// More of one event is not from the tool server.
const MAX_EVENT_BYTES: usize = 64 * 1024 * 1024;

/// Why there are no more events.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StreamError {
    #[error("the stream of events broke")]
    Server(#[from] reqwest::Error),
    #[error("the stream of events ended")]
    Ended,
    #[error("an event is too long")]
    TooLong,
}

/// An event with data.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct StreamEvent {
    /// Its number, if it has one.
    pub(crate) id: Option<u64>,
    pub(crate) data: Vec<u8>,
}

/// The body of an answer.
pub(crate) struct EventStream {
    remote: BoxStream<'static, reqwest::Result<Bytes>>,
    /// What came of the events that were not taken yet.
    begun: BytesMut,
    /// How much of it has no end of an event.
    searched: usize,
}

impl EventStream {
    pub(crate) fn of(answer: reqwest::Response) -> Self {
        Self { remote: answer.bytes_stream().boxed(), begun: BytesMut::new(), searched: 0 }
    }

    /// The next event. May be dropped and called again.
    pub(crate) async fn next(&mut self) -> Result<StreamEvent, StreamError> {
        loop {
            if let Some(event) = self.next_or_comment().await? {
                return Ok(event);
            }
        }
    }

    /// The next event, or none after anything else that was heard: a server that lives also sends comments.
    /// May be dropped and called again.
    pub(crate) async fn next_or_comment(&mut self) -> Result<Option<StreamEvent>, StreamError> {
        if let Some(event) = self.ready() {
            return Ok(Some(event));
        }
        if self.begun.len() > MAX_EVENT_BYTES {
            return Err(StreamError::TooLong);
        }
        let bytes = self.remote.next().await.ok_or(StreamError::Ended)??;
        self.begun.extend_from_slice(&bytes);
        Ok(self.ready())
    }

    /// The next event, if it has come already.
    pub(crate) fn ready(&mut self) -> Option<StreamEvent> {
        loop {
            let from = self.searched.saturating_sub(1);
            let Some(at) = self.begun[from..].windows(2).position(|two| two == b"\n\n") else {
                self.searched = self.begun.len();
                return None;
            };
            let text = self.begun.split_to(from + at);
            self.begun.advance(2);
            self.searched = 0;
            if let Some(event) = parsed(&text) {
                return Some(event);
            }
        }
    }
}

/// None for a comment.
fn parsed(text: &[u8]) -> Option<StreamEvent> {
    let (mut event, mut has_data) = (StreamEvent::default(), false);
    for line in text.split(|byte| *byte == b'\n') {
        let value = |field: &[u8]| {
            let value = line.strip_prefix(field)?;
            Some(value.strip_prefix(b" ").unwrap_or(value))
        };
        if let Some(data) = value(b"data:") {
            if has_data {
                event.data.push(b'\n');
            }
            event.data.extend_from_slice(data);
            has_data = true;
        } else if let Some(id) = value(b"id:") {
            event.id = std::str::from_utf8(id).ok().and_then(|id| id.parse().ok());
        }
    }
    has_data.then_some(event)
}

#[cfg(test)]
mod tests {
    use futures_util::stream;

    use super::*;

    #[tokio::test]
    async fn events_are_the_same_however_they_are_cut() {
        let text =
            b": hello\n\nid: 7\nevent: record\ndata: {\"a\":1}\n\ndata:one\ndata: two\n\n:\n\nid: 8\n\n";
        for size in 1..text.len() {
            let pieces = text.chunks(size).map(|piece| Ok(Bytes::copy_from_slice(piece)));
            let remote = stream::iter(pieces.collect::<Vec<_>>()).boxed();
            let mut events = EventStream { remote, begun: BytesMut::new(), searched: 0 };
            let mut next = async || events.next().await;
            let first = StreamEvent { id: Some(7), data: b"{\"a\":1}".to_vec() };
            assert_eq!(next().await.unwrap(), first, "{size}");
            assert_eq!(next().await.unwrap(), StreamEvent { id: None, data: b"one\ntwo".to_vec() });
            assert!(matches!(next().await, Err(StreamError::Ended)));
        }
    }
}
