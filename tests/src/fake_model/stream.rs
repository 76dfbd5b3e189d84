//! A reply as a stream of events, which may stop in its middle.

use std::io;
use std::sync::Arc;

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use futures_util::stream::{self, StreamExt};
use tokio::sync::Semaphore;

use super::{Said, chat};

/// Bytes to write, and whether the connection stays open afterwards.
pub(super) struct Stream {
    pieces: Vec<Vec<u8>>,
    hangs: bool,
    /// What the second half of the events waits for.
    held: Option<Arc<Semaphore>>,
}

impl Stream {
    /// All events of a reply, and the end mark.
    pub(super) fn of(said: &Said) -> Self {
        let events = chat::events(said).into_iter();
        let mut pieces: Vec<Vec<u8>> = events.map(|data| format!("data: {data}\n\n").into_bytes()).collect();
        pieces.push("data: [DONE]\n\n".into());
        Self { pieces, hangs: false, held: None }
    }

    /// The first half of the events, and the others with a permit.
    pub(super) fn held(mut self, released: &Arc<Semaphore>) -> Self {
        self.held = Some(Arc::clone(released));
        self
    }

    /// The first half of the events, then silence.
    pub(super) fn stalled(mut self) -> Self {
        self.pieces.truncate((self.pieces.len() - 1) / 2);
        self.hangs = true;
        self
    }
}

impl IntoResponse for Stream {
    fn into_response(mut self) -> Response {
        let rest =
            self.pieces.split_off(self.held.as_ref().map_or(self.pieces.len(), |_| self.pieces.len() / 2));
        let held = self.held.take();
        let rest = stream::once(async move {
            if let Some(held) = held {
                held.acquire().await.expect("it is never closed").forget();
            }
            stream::iter(rest).map(io::Result::Ok)
        });
        let pieces = stream::iter(self.pieces).map(io::Result::Ok);
        let body = match self.hangs {
            true => Body::from_stream(pieces.chain(stream::pending())),
            false => Body::from_stream(pieces.chain(rest.flatten())),
        };
        ([(CONTENT_TYPE, "text/event-stream")], body).into_response()
    }
}
