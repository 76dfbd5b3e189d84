//! A reply as a stream of events, which may stop in its middle.

use std::io;

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use futures_util::stream::{self, StreamExt};

use super::{Said, chat};

/// Bytes to write, and whether the connection stays open afterwards.
pub(super) struct Stream {
    pieces: Vec<Vec<u8>>,
    hangs: bool,
}

impl Stream {
    /// All events of a reply, and the end mark.
    pub(super) fn of(said: &Said) -> Self {
        let events = chat::events(said).into_iter();
        let mut pieces: Vec<Vec<u8>> = events.map(|data| format!("data: {data}\n\n").into_bytes()).collect();
        pieces.push("data: [DONE]\n\n".into());
        Self { pieces, hangs: false }
    }

    /// The first half of the events, then silence.
    pub(super) fn stalled(mut self) -> Self {
        self.pieces.truncate((self.pieces.len() - 1) / 2);
        self.hangs = true;
        self
    }
}

impl IntoResponse for Stream {
    fn into_response(self) -> Response {
        let pieces = stream::iter(self.pieces).map(io::Result::Ok);
        let body = match self.hangs {
            true => Body::from_stream(pieces.chain(stream::pending())),
            false => Body::from_stream(pieces),
        };
        ([(CONTENT_TYPE, "text/event-stream")], body).into_response()
    }
}
