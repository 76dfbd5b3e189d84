//! `/journal`: the records of all calls, for a reader elsewhere. Only the approver's token opens it.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use protocol::journal::OPENED_AT_HEADER;
use protocol::{ErrorCode, ToolError};
use serde::Deserialize;
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use toolkit::arguments::elide;

use super::live_calls::last_event_id;
use super::response::{self, ALIVE, KEEP_ALIVE, Refusal, query_of};
use super::state::AppState;
use crate::journal::{Line, ReadError, Reader};

/// What may follow `GET /journal?`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StreamQuery {
    /// The number of the last record that the reader has.
    #[serde(default)]
    after: u64,
    /// Whether to wait for more at the end.
    #[serde(default = "yes")]
    follow: bool,
}

fn yes() -> bool {
    true
}

/// The records behind a place, each as an event whose data is its line.
pub(super) async fn stream(
    State(app): State<Arc<AppState>>,
    query: Result<Query<StreamQuery>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let hint = "`after` is the number of the last record that you have, or 0; `follow=false` ends the answer \
                at the end of the journal.";
    let StreamQuery { after, follow } = query_of(query, hint)?;
    // A client that connects again by itself repeats its query.
    let after = last_event_id(&headers)?.unwrap_or(after);
    // What is recorded from here on is noticed.
    let changes = app.journal.watch();
    let journal = Arc::clone(&app.journal);
    let reader = blocking(move || Reader::after(journal, after)).await?;
    let following = Following { reader, changes: follow.then_some(changes) };
    let opened_at = HeaderValue::from(app.journal.opened_at().number());
    let mut answer = response::event_stream(stream::unfold(following, Following::part));
    answer.headers_mut().insert(OPENED_AT_HEADER, opened_at);
    Ok(answer)
}

/// Reads on a thread that may wait for files.
async fn blocking<T, E>(read: impl FnOnce() -> Result<T, E> + Send + 'static) -> Result<T, ToolError>
where
    T: Send + 'static,
    E: Into<ReadError> + Send + 'static,
{
    let read = spawn_blocking(read).await.map_err(|error| ReadError::Io(error.into()));
    read.and_then(|read| read.map_err(Into::into)).map_err(|error| refused(&error))
}

fn refused(error: &ReadError) -> ToolError {
    match error {
        ReadError::NotThere(_) => {
            let hint = "`after=0` begins with the oldest record. A journal that lost records that you have \
                        was tampered with, or pruned.";
            response::not_found(error.to_string(), hint)
        }
        ReadError::Io(cause) => {
            tracing::error!(%cause, "the journal cannot be read");
            ToolError::new(ErrorCode::Internal, "The journal cannot be read.")
        }
    }
}

/// A reader on the way to its client.
struct Following {
    reader: Reader,
    /// None where the answer ends at the end of the journal.
    changes: Option<watch::Receiver<bool>>,
}

impl Following {
    /// The next piece of the answer. After an error there is none: the client asks again, from where it is.
    async fn part(mut self) -> Option<(Bytes, Self)> {
        loop {
            let read = spawn_blocking(move || {
                let lines = self.reader.read();
                (lines, self)
            });
            let (lines, following) = read.await.ok()?;
            self = following;
            match lines {
                Ok(lines) if lines.is_empty() => {}
                Ok(lines) => return Some((events(&lines), self)),
                Err(error) => {
                    tracing::error!(%error, "a reader of the journal was cut off");
                    return None;
                }
            }
            let changes = self.changes.as_mut()?;
            if *changes.borrow() {
                return None;
            }
            match tokio::time::timeout(KEEP_ALIVE, changes.changed()).await {
                Ok(changed) => changed.ok()?,
                Err(_) => return Some((ALIVE, self)),
            }
        }
    }
}

fn events(lines: &[Line]) -> Bytes {
    let mut events = Vec::with_capacity(lines.iter().map(|line| line.text.len() + 48).sum());
    for line in lines {
        events.extend_from_slice(format!("id: {}\nevent: record\ndata: ", line.number).as_bytes());
        // A record has none. In a line of somebody else it would begin a field of the event.
        events.extend(line.text.iter().map(|byte| if *byte == b'\r' { b' ' } else { *byte }));
        events.extend_from_slice(b"\n\n");
    }
    events.into()
}

/// The arguments of a call that are too large for its record, by the hash that the record names.
pub(super) async fn arguments(
    State(app): State<Arc<AppState>>,
    Path(name): Path<String>,
) -> Result<Response, Refusal> {
    let (journal, asked) = (Arc::clone(&app.journal), name.clone());
    let content = blocking(move || journal.arguments(&asked)).await?;
    let missing = format!("The journal has no such arguments: {}.", elide(&name, 70));
    found(content, "application/json", (missing, "Records name them in `arguments_file`."))
}

/// All that a call printed, where its answer had no room for it, by the name that its record has.
pub(super) async fn output(
    State(app): State<Arc<AppState>>,
    Path(name): Path<String>,
) -> Result<Response, Refusal> {
    let (kept, asked) = (Arc::clone(&app.output), name.clone());
    let content = blocking(move || kept.read(&asked)).await?;
    let missing = format!("No such output is kept: {}.", elide(&name, 70));
    let hint = "Records name it in `output_file`. Outputs are kept for a week.";
    found(content, "application/octet-stream", (missing, hint))
}

/// The content, or what is missing and a hint.
fn found(
    content: Option<Vec<u8>>,
    media_type: &'static str,
    (missing, hint): (String, &str),
) -> Result<Response, Refusal> {
    let content = content.ok_or_else(|| response::not_found(missing, hint))?;
    Ok(([(header::CONTENT_TYPE, media_type), (header::CACHE_CONTROL, "no-store")], content).into_response())
}
