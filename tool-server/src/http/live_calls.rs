//! Calls whose output is sent as it comes (`Accept: text/event-stream`), and callers that come back to them.
//!
//! A call is answered with a stream once its command runs. A refusal before, with a status of its own, is
//! answered as to any other caller. A caller that goes away ends its call; with an `Idempotency-Key` it has a
//! minute to come back, and after the end of the call ten more.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::http::HeaderMap;
use axum::response::Response;
use futures_util::stream;
use protocol::hash::sha256;
use protocol::{ErrorCode, SessionId, ToolError};
use redaction::Redactor;
use serde_json::{Map, Value};
use toolkit::arguments::{elide, invalid};
use toolkit::runner::refusal;
use toolkit::{Request, Runner, locked};

use super::live_stream::{LiveStream, Reader};
use super::response;

/// How long a call with a key runs without a caller.
const AWAITED: Duration = Duration::from_secs(60);

/// How long the output of a call that has ended is kept, and of how many calls, of a session and of all.
const KEEP_ENDED: Duration = Duration::from_secs(600);
const MOST_ENDED: usize = 8;
const MOST_ENDED_OF_ALL: usize = 32;

const RESUME_HINT: &str = "Send the Idempotency-Key of the call that was cut off, with the same body.";

/// The streams of calls with a key.
#[derive(Debug)]
pub struct LiveCalls {
    redactor: Arc<Redactor>,
    /// The oldest first.
    keyed: Mutex<Vec<Keyed>>,
}

#[derive(Debug)]
struct Keyed {
    /// Of the token, session, tool and key.
    name: String,
    session: SessionId,
    body_sha256: String,
    stream: Arc<LiveStream>,
}

impl LiveCalls {
    /// None yet.
    pub fn new(redactor: Arc<Redactor>) -> Self {
        Self { redactor, keyed: Mutex::default() }
    }

    /// The stream of a call: its own, with the request that is to run, or that of an earlier call with its
    /// key.
    fn stream(&self, request: Request, name: Option<&str>, after: u64) -> (Reader, Option<Request>) {
        let mut keyed = locked(&self.keyed);
        let body_sha256 = name.map_or_else(String::new, |_| sha256(&request.body));
        let known = name.and_then(|name| keyed.iter().find(|known| known.name == name));
        if let Some(known) = known
            && known.body_sha256 == body_sha256
        {
            return (known.stream.reader(after), None);
        }
        let stream = Arc::new(LiveStream::new(Arc::clone(&self.redactor)));
        // A key that is in use with another body stays: the runner refuses this call.
        if let Some(name) = name
            && known.is_none()
        {
            let (name, session) = (name.to_owned(), request.session.clone());
            keyed.push(Keyed { name, session, body_sha256, stream: Arc::clone(&stream) });
        }
        (stream.reader(after), Some(Request { sink: Some(stream), ..request }))
    }

    /// A call has ended: one that has shown nothing is forgotten, and others after a while.
    fn forget(&self, ended: &Arc<LiveStream>) {
        let mut keyed = locked(&self.keyed);
        keyed.retain(|one| one.stream.has_begun() || !Arc::ptr_eq(&one.stream, ended));
        let mut kept: Vec<SessionId> = Vec::new();
        let mut is_kept: Vec<bool> = keyed
            .iter()
            .rev()
            .map(|one| {
                let Some(at) = one.stream.ended_at() else { return true };
                let own = kept.iter().filter(|session| **session == one.session).count();
                let keep = at.elapsed() < KEEP_ENDED && own < MOST_ENDED && kept.len() < MOST_ENDED_OF_ALL;
                kept.extend(keep.then(|| one.session.clone()));
                keep
            })
            .collect();
        keyed.retain(|_| is_kept.pop().unwrap_or(false));
    }

    /// Whether a call is to end because its callers have gone; it is not found any more then.
    fn gives_up(&self, stream: &Arc<LiveStream>) -> bool {
        let mut keyed = locked(&self.keyed);
        if stream.has_readers() {
            return false;
        }
        keyed.retain(|one| !Arc::ptr_eq(&one.stream, stream));
        true
    }
}

/// Answers a call with a stream, or with the rest of that of an earlier call.
pub(super) async fn answer(
    runner: &Arc<Runner>,
    calls: &Arc<LiveCalls>,
    mut request: Request,
    headers: &HeaderMap,
) -> Response {
    let reads = runner.registry().specs().any(|spec| spec.name == request.tool && spec.annotations.read_only);
    let after = match last_event_id(headers) {
        Ok(None) => 0,
        Ok(Some(after)) if reads => {
            request.body = reading_on(request.body, after);
            0
        }
        Ok(Some(_)) if request.idempotency_key.is_none() => {
            let message = "Last-Event-ID without an Idempotency-Key would run the call again.";
            return response::error_response(&request.tool, invalid(message).with_hint(RESUME_HINT));
        }
        Ok(Some(after)) => after,
        Err(error) => return response::error_response(&request.tool, error),
    };
    let name = request.idempotency_key.as_deref().filter(|_| !reads).map(|key| name_of(&request, key));
    let (mut reader, to_run) = calls.stream(request, name.as_deref(), after);
    if let Some(request) = to_run {
        let patience = if name.is_some() { AWAITED } else { Duration::ZERO };
        let running =
            Running { stream: reader.stream(), calls: Arc::clone(calls), tool: request.tool.clone() };
        tokio::spawn(running.run(Arc::clone(runner), request, patience));
    }
    match reader.begin().await {
        Some(envelope) if envelope.http_status() != 200 => response::envelope_response((*envelope).clone()),
        Some(_) | None => response::event_stream(stream::unfold(reader, |mut reader| async move {
            Some((reader.part().await?, reader))
        })),
    }
}

/// A call that runs for its stream. However it ends, the stream ends.
struct Running {
    stream: Arc<LiveStream>,
    calls: Arc<LiveCalls>,
    tool: String,
}

impl Drop for Running {
    fn drop(&mut self) {
        let failed = || ToolError::new(ErrorCode::Internal, "The call ended without an answer.");
        self.stream.end(|| refusal(&self.tool, failed()));
        self.calls.forget(&self.stream);
    }
}

impl Running {
    async fn run(self, runner: Arc<Runner>, request: Request, patience: Duration) {
        let mut running = std::pin::pin!(runner.run(request));
        loop {
            tokio::select! {
                envelope = &mut running => return self.stream.end(|| envelope),
                () = self.stream.abandoned(patience) => {
                    if self.calls.gives_up(&self.stream) {
                        return;
                    }
                }
            }
        }
    }
}

pub(super) fn last_event_id(headers: &HeaderMap) -> Result<Option<u64>, ToolError> {
    let Some(value) = headers.get("last-event-id") else { return Ok(None) };
    let number = value.to_str().ok().and_then(|text| text.parse().ok());
    number.map(Some).ok_or_else(|| {
        let shown = elide(&String::from_utf8_lossy(value.as_bytes()), 60);
        invalid(format!("Header Last-Event-ID is no number of an event: {shown:?}."))
            .with_hint("Send the `id` of the last event `output`, or leave it out.")
    })
}

/// The arguments of a tool that reads, from another place on. A body without an object is refused later.
fn reading_on(body: Vec<u8>, after: u64) -> Vec<u8> {
    let Ok(mut arguments) = serde_json::from_slice::<Map<String, Value>>(&body) else { return body };
    arguments.insert("after_seq".to_owned(), after.into());
    arguments.remove("tail_lines");
    Value::Object(arguments).to_string().into_bytes()
}

/// A key belongs to a token, a session and a tool.
fn name_of(request: &Request, key: &str) -> String {
    let token = request.token_sha256.as_deref().unwrap_or_default();
    [token, request.session.as_str(), &request.tool, key].join("\0")
}
