//! The events of one task, on their way to the supervisor.
//!
//! An event's id is made here and handed back, because what happens next hangs under it. Tool calls are
//! not recorded here: the tool server does that itself, for whoever calls.

use protocol::{Event, EventId, EventType, FromWorker, TaskId};
use serde_json::Value;
use tokio::sync::mpsc;

/// Where a task's events go.
#[derive(Debug, Clone)]
pub struct Trail {
    outlet: mpsc::Sender<FromWorker>,
    task_id: TaskId,
}

impl Trail {
    /// The trail of one task.
    pub fn new(outlet: mpsc::Sender<FromWorker>, task_id: TaskId) -> Self {
        Self { outlet, task_id }
    }

    /// Records that something happened under `parent`, and returns its id.
    pub async fn record(&self, event_type: EventType, parent: &EventId, payload: Value) -> EventId {
        let event = Event::now(event_type, Some(parent), Some(&self.task_id), payload);
        let id = event.id.clone();
        // When nobody reads any more, the process is about to end, and there is nobody to tell.
        let _ = self.outlet.send(FromWorker::Event(event)).await;
        id
    }
}
