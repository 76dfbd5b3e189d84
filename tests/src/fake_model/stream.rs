//! A reply as a stream of events, which may stop in its middle.

use std::io;

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use futures_util::stream::{self, StreamExt};
use serde_json::Value;

use super::{Dialect, Said};

/// Bytes to write, and whether the connection stays open afterwards.
pub(super) struct Stream {
    pieces: Vec<Vec<u8>>,
    hangs: bool,
}

impl Stream {
    /// All events of a reply, and the end mark.
    pub(super) fn of(dialect: &Dialect, said: &Said) -> Self {
        let mut pieces: Vec<Vec<u8>> = (dialect.events)(said).iter().map(event).collect();
        pieces.push(dialect.end.into());
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

fn event(data: &Value) -> Vec<u8> {
    let name = data["type"].as_str().map(|name| format!("event: {name}\n"));
    format!("{}data: {data}\n\n", name.unwrap_or_default()).into_bytes()
}
