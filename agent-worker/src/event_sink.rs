//! The events of one task, on their way to the supervisor.
//!
//! An event's id is made here and returned, because what happens next hangs under it. Calls of the tool
//! server are not recorded here: it does that itself, no matter who calls it.

use protocol::{Event, EventBody, EventId, FromWorker, TaskId};
use tokio::sync::mpsc;

use crate::words::Words;

#[derive(Debug)]
pub(crate) struct EventSink {
    outgoing: mpsc::Sender<FromWorker>,
    task_id: TaskId,
    /// Where a reply is said while it is written.
    pub(crate) words: Words,
}

impl EventSink {
    pub(crate) fn new(outgoing: mpsc::Sender<FromWorker>, task_id: TaskId) -> Self {
        let words = Words::new(task_id.clone(), outgoing.clone());
        Self { outgoing, task_id, words }
    }

    /// Records that something happened under `parent`, and returns the event's id.
    pub(crate) async fn record(&self, body: impl Into<EventBody>, parent: &EventId) -> EventId {
        let event = Event::now(body, Some(parent), Some(&self.task_id));
        let id = event.id.clone();
        // Without a reader, the process is about to end, and the error has no use.
        let _ = self.outgoing.send(FromWorker::Event { event }).await;
        id
    }

    /// Says that an addition is in the conversation.
    pub(crate) async fn added(&self, message: TaskId) {
        let _ = self.outgoing.send(FromWorker::Added { task_id: self.task_id.clone(), message }).await;
    }
}
