//! A reply as a stream of events, complete or broken.

use std::io;

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use futures_util::stream::{self, StreamExt};
use serde_json::{Value, json};

use super::{Dialect, Said, StreamFault};

/// Bytes to write, and what happens to the connection afterwards.
#[derive(Debug, Clone, PartialEq)]
pub struct Stream {
    pieces: Vec<Vec<u8>>,
    end: End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Close,
    Break,
    Hang,
}

impl Stream {
    pub fn raw(pieces: &[&[u8]], end: End) -> Self {
        Self { pieces: pieces.iter().map(|piece| piece.to_vec()).collect(), end }
    }

    pub fn events(values: &[Value], end: End) -> Self {
        Self { pieces: values.iter().map(event).collect(), end }
    }

    /// All events of a reply, and the end mark.
    pub(super) fn of(dialect: &Dialect, said: &Said) -> Self {
        let mut stream = Self::events(&(dialect.events)(said), End::Close);
        stream.pieces.push(dialect.end.into());
        stream
    }

    /// The first half of the events, then the fault.
    pub(super) fn broken_by(mut self, fault: StreamFault) -> Self {
        self.pieces.truncate((self.pieces.len() - 1) / 2);
        match fault {
            StreamFault::Torn => {}
            StreamFault::Broken => self.end = End::Break,
            StreamFault::Stalled => self.end = End::Hang,
            StreamFault::Malformed => self.pieces.push(b"data: {\"choices\": [{\n\n".to_vec()),
            StreamFault::Overloaded => {
                let error = json!({"type": "overloaded_error", "message": "Overloaded"});
                self.pieces.push(event(&json!({"type": "error", "error": error})));
            }
        }
        self
    }
}

impl IntoResponse for Stream {
    fn into_response(self) -> Response {
        let pieces = stream::iter(self.pieces).map(Ok);
        let body = match self.end {
            End::Close => Body::from_stream(pieces.chain(stream::empty::<io::Result<Vec<u8>>>())),
            End::Hang => Body::from_stream(pieces.chain(stream::pending::<io::Result<Vec<u8>>>())),
            End::Break => Body::from_stream(pieces.chain(stream::once(async {
                // Yielding lets the server flush what it has.
                tokio::task::yield_now().await;
                Err(io::Error::other("broken"))
            }))),
        };
        ([(CONTENT_TYPE, "text/event-stream")], body).into_response()
    }
}

fn event(data: &Value) -> Vec<u8> {
    let name = data["type"].as_str().map(|name| format!("event: {name}\n"));
    format!("{}data: {data}\n\n", name.unwrap_or_default()).into_bytes()
}
