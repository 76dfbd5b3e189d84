//! A reply as a stream of events, whole or broken.

use std::convert::Infallible;
use std::io;

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use futures_util::stream::{self, Stream, StreamExt};
use serde_json::Value;

use super::{Dialect, Said, StreamFault};

/// All events, and the end.
pub(super) fn whole(dialect: &Dialect, said: &Said<'_>) -> Response {
    let mut events: Vec<String> = (dialect.events)(said).iter().map(event).collect();
    events.push(dialect.end.to_owned());
    response(Body::from_stream(sent(events)))
}

/// The first half of the events, and then the fault.
pub(super) fn faulty(dialect: &Dialect, said: &Said<'_>, fault: StreamFault) -> Response {
    let mut events: Vec<String> = (dialect.events)(said).iter().map(event).collect();
    events.truncate(events.len() / 2);
    response(match fault {
        StreamFault::Torn => Body::from_stream(sent(events)),
        StreamFault::Stalled => Body::from_stream(sent(events).chain(stream::pending())),
        StreamFault::Malformed => {
            events.push("data: {\"choices\": [{\n\n".to_owned());
            Body::from_stream(sent(events))
        }
        StreamFault::Broken => {
            let broken = stream::once(async {
                // What waits makes the server write out what it has.
                tokio::task::yield_now().await;
                Err(io::Error::other("broken"))
            });
            Body::from_stream(sent(events).map(|event| event.map_err(io::Error::other)).chain(broken))
        }
    })
}

fn sent(events: Vec<String>) -> impl Stream<Item = Result<String, Infallible>> {
    stream::iter(events).map(Ok)
}

fn event(data: &Value) -> String {
    let name = data["type"].as_str().map(|name| format!("event: {name}\n"));
    format!("{}data: {data}\n\n", name.unwrap_or_default())
}

fn response(body: Body) -> Response {
    ([(CONTENT_TYPE, "text/event-stream")], body).into_response()
}
