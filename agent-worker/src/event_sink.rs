//! The events of one task, on their way to the supervisor.
//!
//! An event's id is made here and returned, because what happens next hangs under it. Calls of the tool
//! server are not recorded here: it does that itself, no matter who calls it.

use protocol::{Event, EventBody, EventId, FromWorker, TaskId};
use tokio::sync::mpsc;

#[derive(Debug, Clone)]
pub(crate) struct EventSink {
    outgoing: mpsc::Sender<FromWorker>,
    task_id: TaskId,
}

impl EventSink {
    pub(crate) fn new(outgoing: mpsc::Sender<FromWorker>, task_id: TaskId) -> Self {
        Self { outgoing, task_id }
    }

    /// Records that something happened under `parent`, and returns the event's id.
    pub(crate) async fn record(&self, body: impl Into<EventBody>, parent: &EventId) -> EventId {
        let event = Event::now(body, Some(parent), Some(&self.task_id));
        let id = event.id.clone();
        self.send(event).await;
        id
    }

    /// Records an event that was made elsewhere.
    pub(crate) async fn send(&self, event: Event) {
        // Without a reader, the process is about to end, and the error has no use.
        let _ = self.outgoing.send(FromWorker::Event { event }).await;
    }
}
