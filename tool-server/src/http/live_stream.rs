//! The output of a call on its way to its callers: the newest megabyte, without secrets, then the envelope.
//!
//! The call never waits for a reader. One that is too slow hears how much it has lost. Each reader begins
//! where it wants, so that one whose connection broke continues where it stood.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use cage::command::Changes;
use protocol::Envelope;
use redaction::Redactor;
use serde_json::json;
use tokio::sync::watch;
use toolkit::{OutputPart, OutputSink, locked};

use super::response::{ALIVE, KEEP_ALIVE};
use crate::output_text::text_of;

/// How much is kept for readers, in bytes on the wire.
const KEPT_BYTES: usize = 1 << 20;

/// What an event takes beside its bytes.
const EVENT_OVERHEAD: usize = 64;

/// About how much is sent at once.
const PART_BYTES: usize = 64 << 10;

/// The output of one call.
#[derive(Debug)]
pub(super) struct LiveStream {
    redactor: Arc<Redactor>,
    state: Mutex<State>,
    /// Counts what happens.
    changed: watch::Sender<u64>,
    readers: watch::Sender<usize>,
}

#[derive(Debug, Default)]
struct State {
    has_begun: bool,
    events: VecDeque<Event>,
    kept_bytes: usize,
    /// How many events are no longer kept, the last part among them, and how long their texts were.
    gone: u64,
    gone_through: u64,
    gone_bytes: u64,
    /// The number of the last part.
    last: u64,
    end: Option<(Instant, Arc<Envelope>)>,
}

#[derive(Debug)]
struct Event {
    /// The number of its part; of what was lost, that of the part that follows.
    seq: u64,
    text_bytes: u64,
    on_wire: Bytes,
}

impl LiveStream {
    pub(super) fn new(redactor: Arc<Redactor>) -> Self {
        let (changed, readers) = (watch::Sender::new(0), watch::Sender::new(0));
        Self { redactor, state: Mutex::default(), changed, readers }
    }

    /// A reader of what follows the part with this number.
    pub(super) fn reader(self: &Arc<Self>, after: u64) -> Reader {
        let state = locked(&self.state);
        let next = if after < state.gone_through {
            state.gone.saturating_sub(1)
        } else {
            state.gone + length(state.events.partition_point(|event| event.seq <= after))
        };
        drop(state);
        self.readers.send_modify(|readers| *readers += 1);
        Reader { stream: Arc::clone(self), changed: self.changed.subscribe(), next, is_over: false }
    }

    /// Resolves once no reader has been there for this long.
    pub(super) async fn abandoned(&self, patience: Duration) {
        let mut readers = self.readers.subscribe();
        loop {
            let _ = readers.wait_for(|readers| *readers == 0).await;
            if tokio::time::timeout(patience, readers.wait_for(|readers| *readers > 0)).await.is_err() {
                return;
            }
        }
    }

    pub(super) fn has_readers(&self) -> bool {
        *self.readers.borrow() > 0
    }

    /// Ends the stream with its envelope, unless it has ended.
    pub(super) fn end(&self, envelope: impl FnOnce() -> Envelope) {
        let mut state = locked(&self.state);
        if state.end.is_none() {
            state.end = Some((Instant::now(), Arc::new(envelope())));
        }
        self.tell(state);
    }

    /// When it ended.
    pub(super) fn ended_at(&self) -> Option<Instant> {
        locked(&self.state).end.as_ref().map(|(at, _)| *at)
    }

    pub(super) fn has_begun(&self) -> bool {
        locked(&self.state).has_begun
    }

    fn tell(&self, state: MutexGuard<'_, State>) {
        drop(state);
        self.changed.send_modify(|changes| *changes += 1);
    }
}

impl OutputSink for LiveStream {
    fn begin(&self) {
        let mut state = locked(&self.state);
        state.has_begun = true;
        self.tell(state);
    }

    fn take(&self, part: OutputPart<'_>) {
        let (mut text, _) = text_of(part.bytes, part.before, &mut Changes::default());
        self.redactor.redact_text(&mut text);
        let data = json!({"stream": part.stream, "text": text});
        let on_wire = format!("id: {}\nevent: output\ndata: {data}\n\n", part.seq).into();
        let mut state = locked(&self.state);
        state.last = part.seq;
        state.add(Event { seq: part.seq, text_bytes: length(part.bytes.len()), on_wire });
        self.tell(state);
    }

    fn lose(&self, bytes: u64) {
        let mut state = locked(&self.state);
        let seq = state.last + 1;
        state.add(Event { seq, text_bytes: 0, on_wire: dropped(bytes) });
        self.tell(state);
    }
}

impl State {
    fn add(&mut self, event: Event) {
        // A tool that was answered for at its deadline may still write.
        if self.end.is_some() {
            return;
        }
        self.kept_bytes += event.on_wire.len() + EVENT_OVERHEAD;
        self.events.push_back(event);
        while self.kept_bytes > KEPT_BYTES
            && let Some(event) = self.events.pop_front()
        {
            self.kept_bytes -= event.on_wire.len() + EVENT_OVERHEAD;
            self.gone += 1;
            self.gone_through = event.seq;
            self.gone_bytes += event.text_bytes;
        }
    }
}

/// What a caller gets of a stream. It goes away with its connection.
#[derive(Debug)]
pub(super) struct Reader {
    stream: Arc<LiveStream>,
    changed: watch::Receiver<u64>,
    /// Which event is next, counted from 0.
    next: u64,
    is_over: bool,
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.stream.readers.send_modify(|readers| *readers -= 1);
    }
}

impl Reader {
    pub(super) fn stream(&self) -> Arc<LiveStream> {
        Arc::clone(&self.stream)
    }

    /// Waits until the command runs: none; the envelope of a call that ended without that.
    pub(super) async fn begin(&mut self) -> Option<Arc<Envelope>> {
        loop {
            self.changed.mark_unchanged();
            let (has_begun, end) = {
                let state = locked(&self.stream.state);
                (state.has_begun, state.end.as_ref().map(|(_, envelope)| Arc::clone(envelope)))
            };
            if has_begun || end.is_some() {
                return end.filter(|_| !has_begun);
            }
            let _ = self.changed.changed().await;
        }
    }

    /// The next bytes; none behind the envelope.
    pub(super) async fn part(&mut self) -> Option<Bytes> {
        loop {
            self.changed.mark_unchanged();
            if self.is_over {
                return None;
            }
            if let Some(part) = self.ready() {
                return Some(part);
            }
            tokio::select! {
                _ = self.changed.changed() => {}
                () = tokio::time::sleep(KEEP_ALIVE) => return Some(ALIVE),
            }
        }
    }

    fn ready(&mut self) -> Option<Bytes> {
        let state = locked(&self.stream.state);
        let mut part = BytesMut::new();
        if self.next < state.gone {
            part.extend_from_slice(&dropped(state.gone_bytes));
            self.next = state.gone;
        }
        let begin = usize::try_from(self.next - state.gone).unwrap_or(usize::MAX);
        for event in state.events.iter().skip(begin) {
            if part.len() >= PART_BYTES {
                return Some(part.freeze());
            }
            part.extend_from_slice(&event.on_wire);
            self.next += 1;
        }
        if let Some((_, envelope)) = &state.end {
            self.is_over = true;
            part.extend_from_slice(&last_event(envelope));
        }
        (!part.is_empty()).then(|| part.freeze())
    }
}

/// So many bytes, in all, came before what follows and are lost.
fn dropped(bytes: u64) -> Bytes {
    format!("event: dropped\ndata: {}\n\n", json!({"bytes": bytes})).into()
}

fn last_event(envelope: &Envelope) -> Vec<u8> {
    let mut event = b"event: envelope\ndata: ".to_vec();
    if serde_json::to_writer(&mut event, envelope).is_err() {
        event = b"event: envelope\ndata: {}".to_vec();
    }
    event.extend_from_slice(b"\n\n");
    event
}

fn length(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use protocol::{ErrorCode, ToolError};

    use super::*;

    fn take(stream: &LiveStream, seq: u64, text: &str) {
        stream.take(OutputPart { seq, stream: "stdout", bytes: text.as_bytes(), before: b"" });
    }

    async fn text(reader: &mut Reader) -> String {
        String::from_utf8(reader.part().await.unwrap().to_vec()).unwrap()
    }

    #[tokio::test]
    async fn a_slow_reader_hears_what_it_lost_and_memory_is_bounded() {
        let stream = Arc::new(LiveStream::new(Arc::new(Redactor::new([]))));
        let (mut slow, line) = (stream.reader(0), "x".repeat(8000));
        for seq in 1..=1000 {
            take(&stream, seq, &line);
        }
        assert!(locked(&stream.state).kept_bytes <= KEPT_BYTES);
        let first = text(&mut slow).await;
        let (told, events) = first.split_once("\n\n").unwrap();
        let kept = length(locked(&stream.state).events.len());
        assert_eq!(told, format!("event: dropped\ndata: {{\"bytes\":{}}}", (1000 - kept) * 8000));
        assert!(events.starts_with(&format!("id: {}\n", 1001 - kept)), "{}", &events[..40]);
        // One that comes back loses only what is gone.
        assert!(text(&mut stream.reader(3)).await.starts_with("event: dropped\n"));
        assert!(text(&mut stream.reader(998)).await.starts_with("id: 999\n"));
        stream.end(|| toolkit::runner::refusal("bash", ToolError::new(ErrorCode::Timeout, "late")));
        take(&stream, 1001, "too late");
        let mut last = stream.reader(1000);
        assert!(text(&mut last).await.starts_with("event: envelope\n"));
        assert!(last.part().await.is_none());
        drop((slow, last));
        assert!(!stream.has_readers());
        stream.abandoned(Duration::ZERO).await;
    }
}
