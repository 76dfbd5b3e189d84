//! Events: the record of what was done, one row each, never changed.
//!
//! The tree is process → agent → turn → tool call: `parent_id` is the ID of the event that something
//! happened under; a completion's is the ID of its start.

#[expect(missing_docs, reason = "the names are those on the wire, and say what they mean")]
mod agent;
mod body;
#[expect(missing_docs, reason = "the names are those on the wire, and say what they mean")]
mod supervisor;
#[expect(missing_docs, reason = "the names are those on the wire, and say what they mean")]
mod tool_call;

use serde::{Deserialize, Serialize};

use crate::{EventId, TaskId, now_ms};

pub use crate::approval::{
    ApprovalDenied, ApprovalExpired, ApprovalGranted, ApprovalRequested, ApprovalUsed,
};
// Each of these files has payloads and nothing else.
pub use agent::*;
pub use body::{EventBody, EventPayload, TYPES};
pub use supervisor::*;
pub use tool_call::*;

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Made where the event happens.
    pub id: EventId,
    /// What it happened under; for a completion, its start.
    pub parent_id: Option<EventId>,
    /// The task it belongs to, if any.
    pub task_id: Option<TaskId>,
    /// What happened: the fields `type` and `payload` on the wire.
    #[serde(flatten)]
    pub body: EventBody,
    /// When, in milliseconds since the Unix epoch, by the clock of the process that made it.
    pub time_ms: i64,
}

impl Event {
    /// An event that happens now.
    pub fn now(body: impl Into<EventBody>, parent_id: Option<&EventId>, task_id: Option<&TaskId>) -> Self {
        Self {
            id: EventId::new(),
            parent_id: parent_id.cloned(),
            task_id: task_id.cloned(),
            body: body.into(),
            time_ms: now_ms(),
        }
    }
}
