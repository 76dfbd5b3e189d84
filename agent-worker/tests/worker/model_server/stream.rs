//! Streams of events as a provider writes them, and the ways in which they end.

use std::convert::Infallible;
use std::io;

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use futures_util::stream::{self, StreamExt};
use serde_json::{Value, json};

/// Bytes that are written, and what then becomes of the connection.
#[derive(Debug, Clone)]
pub(crate) struct Stream {
    pieces: Vec<Vec<u8>>,
    end: End,
}

/// The end of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// It ends as it should.
    Close,
    /// The connection breaks.
    Break,
    /// Nothing comes any more.
    Hang,
}

/// These pieces as they are.
pub(crate) fn raw(pieces: &[&[u8]], end: End) -> Stream {
    Stream { pieces: pieces.iter().map(|piece| piece.to_vec()).collect(), end }
}

/// One event for each value.
pub(crate) fn events(values: &[Value], end: End) -> Stream {
    Stream { pieces: values.iter().map(event).collect(), end }
}

/// A completion in pieces: its text and the arguments of its calls come in halves.
pub(crate) fn of_completion(body: &Value) -> Stream {
    let choice = &body["choices"][0];
    let message = &choice["message"];
    let mut deltas = vec![json!({"role": "assistant", "content": ""})];
    deltas.extend(halves(&message["content"]).map(|half| json!({"content": half})));
    for (index, call) in message["tool_calls"].as_array().into_iter().flatten().enumerate() {
        let mut first = json!({"index": index, "id": call["id"], "type": "function"});
        first["function"] = json!({"name": call["function"]["name"], "arguments": ""});
        deltas.push(json!({"tool_calls": [first]}));
        let later = |half| json!({"tool_calls": [{"index": index, "function": {"arguments": half}}]});
        deltas.extend(halves(&call["function"]["arguments"]).map(later));
    }
    let mut values: Vec<Value> = deltas.into_iter().map(|delta| chunk(&delta, &Value::Null)).collect();
    values.push(chunk(&json!({}), &choice["finish_reason"]));
    values.push(json!({"choices": [], "usage": body["usage"]}));
    let mut stream = events(&values, End::Close);
    stream.pieces.push(b"data: [DONE]\n\n".to_vec());
    stream
}

/// A chunk of a chat completion.
pub(crate) fn chunk(delta: &Value, finish_reason: &Value) -> Value {
    json!({"object": "chat.completion.chunk",
           "choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]})
}

fn event(value: &Value) -> Vec<u8> {
    let name = value["type"].as_str().map(|name| format!("event: {name}\n"));
    format!("{}data: {value}\n\n", name.unwrap_or_default()).into_bytes()
}

fn halves(text: &Value) -> impl Iterator<Item = String> {
    let text = text.as_str().unwrap_or_default();
    let (first, second) = text.split_at(text.floor_char_boundary(text.len() / 2));
    [first.to_owned(), second.to_owned()].into_iter().filter(|half| !half.is_empty())
}

impl IntoResponse for Stream {
    fn into_response(self) -> Response {
        let pieces = stream::iter(self.pieces).map(Ok::<_, Infallible>);
        let body = match self.end {
            End::Close => Body::from_stream(pieces),
            End::Break => {
                let broken = stream::once(async {
                    // What waits makes the server write out what it has.
                    tokio::task::yield_now().await;
                    Err(io::Error::other("broken"))
                });
                Body::from_stream(pieces.map(|piece| piece.map_err(io::Error::other)).chain(broken))
            }
            End::Hang => Body::from_stream(pieces.chain(stream::pending())),
        };
        ([(CONTENT_TYPE, "text/event-stream")], body).into_response()
    }
}
